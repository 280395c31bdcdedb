// A small GPT runs in the page, writes a sentence under the settings of the reader, and shows from what it chose each word. Its
// weights were trained in Python and are rounded to 255 steps; the sentence is judged by the grammar that it was trained on.
function draw(kit, { temperature, k, p, dice, word }, data) {
  const model = data.model || (data.model = unpack(data));
  const cut = (logits) => {
    const order = logits.map((_, i) => i).sort((a, b) => logits[b] - logits[a] || a - b);
    const power = logits.map((one) => Math.exp((one - logits[order[0]]) / temperature));
    const total = power.reduce((sum, one) => sum + one, 0);
    const among = k ? order.slice(0, k) : order;
    const rest = among.reduce((sum, i) => sum + power[i], 0);
    const kept = new Map();
    let before = 0;
    for (const i of among) {
      if (kept.size && before >= p) break;
      kept.set(i, power[i]);
      before += power[i] / rest;
    }
    const left = [...kept.values()].reduce((sum, one) => sum + one, 0);
    for (const [i, one] of kept) kept.set(i, one / left);
    return { order, all: power.map((one) => one / total), kept };
  };

  let state = 7919 * dice + 12345; // one throw of the dice is one sequence of numbers
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
  random();
  const ids = [data.stop];
  const steps = [];
  while (ids.length < model.length && (ids.length < 2 || ids[ids.length - 1] !== data.stop)) {
    const step = cut(logitsAfter(model, ids));
    const at = random();
    let sum = 0;
    let chosen = [...step.kept.keys()].pop();
    for (const [i, share] of step.kept) {
      sum += share;
      if (at < sum) {
        chosen = i;
        break;
      }
    }
    steps.push({ ...step, chosen });
    ids.push(chosen);
  }
  const words = ids.slice(1).map((id) => data.words[id]);
  const looked = Math.min(word, steps.length) - 1;
  kit.tell("word", `${looked + 1} of ${steps.length}`);
  kit.tell("k", k || "all");

  let [x, y] = [2, 22]; // the sentence
  words.forEach((one, i) => {
    const shown = kit.text(x, y, one, i === looked ? { class: "strong", fill: "var(--c0)" } : {});
    const wide = shown.getComputedTextLength();
    if (x + wide > kit.width - 2) {
      [x, y] = [2, y + 24];
      shown.setAttribute("x", x);
      shown.setAttribute("y", y);
    }
    if (i === looked) kit.line([[x, y + 5], [x + wide, y + 5]], { stroke: "var(--c0)", "stroke-width": 2 });
    x += wide + 7;
  });

  const { order, all, kept, chosen } = steps[looked];
  const rows = order.slice(0, 12);
  const [left, top, row] = [76, y + 24, 20];
  const scale = kit.scale(0, 1, left, kit.width - 60);
  rows.forEach((id, i) => {
    const at = top + row * i;
    const share = kept.get(id) || 0;
    kit.text(left - 8, at + 14, data.words[id], { "text-anchor": "end", class: id === chosen ? "strong" : share ? "" : "quiet" });
    kit.rect(left, at + 3, scale(share) - left, row - 6, { fill: "var(--c0)", opacity: 0.75 });
    kit.rect(left, at + 3, scale(all[id]) - left, row - 6, { fill: "none", stroke: share ? "var(--ink)" : "var(--c1)", "stroke-width": 1.2 });
    kit.text(Math.max(scale(share), scale(all[id])) + 6, at + 14, share ? share.toFixed(3) : "cut", { class: share ? "" : "quiet" });
  });
  kit.height = top + row * rows.length + 24;
  kit.text(left, top + row * rows.length + 14, "filled: drawn from; outline: before the cut", { class: "quiet" });

  const finished = words[words.length - 1] === ".";
  const judged = grammatical(words, data.grammar) ? "The grammar accepts this sentence." : finished ? "The grammar could not have said this." : "It has not come to an end.";
  return `At word ${looked + 1} the model draws from ${kept.size} of ${data.words.length} words and takes “${data.words[chosen]}”. ${judged}`;
}

function grammatical(words, { one, many, foods, places, does, do: doing, when }) {
  const plural = many.includes(words[1]);
  const animal = (plural ? many : one).indexOf(words[1]);
  if (words[0] !== "the" || animal < 0 || words[words.length - 1] !== ".") return false;
  let rest = words.slice(2, -1);
  for (let i = 0; i < 3 && rest[0] === "near" && rest[1] === "the" && places.includes(rest[2]); i += 1) rest = rest.slice(3);
  const ends = rest.length === 2 || (rest.length === 3 && when.includes(rest[2]));
  return ends && (plural ? doing : does).includes(rest[0]) && rest[1] === foods[animal];
}

// Every tensor is a scale and a byte for each number.
function unpack({ tensors, heads }) {
  const model = { heads };
  for (const [name, [shape, scale, text]] of Object.entries(tensors)) {
    const bytes = atob(text);
    model[name] = { shape, numbers: Float32Array.from(bytes, (one) => ((one.charCodeAt(0) + 128) % 256 - 128) * scale) };
  }
  model.length = model.places.shape[0];
  model.layers = new Set(Object.keys(model).map((name) => (name.match(/^layers\.(\d+)\./) || [])[1]).filter(Boolean)).size;
  return model;
}

// What the chapter's model does, one position at a time.
function logitsAfter(model, ids) {
  const d = model.words.shape[1];
  const row = (tensor, i) => tensor.numbers.subarray(i * tensor.shape[1], (i + 1) * tensor.shape[1]);
  const linear = (name, x) => {
    const [weight, bias] = [model[`${name}.weight`], model[`${name}.bias`]];
    return Float32Array.from({ length: weight.shape[0] }, (_, i) => row(weight, i).reduce((sum, w, j) => sum + w * x[j], bias.numbers[i]));
  };
  const norm = (name, x) => {
    const mean = x.reduce((sum, one) => sum + one, 0) / d;
    const deviation = Math.sqrt(x.reduce((sum, one) => sum + (one - mean) ** 2, 0) / d + 1e-5);
    return x.map((one, i) => ((one - mean) / deviation) * model[`${name}.weight`].numbers[i] + model[`${name}.bias`].numbers[i]);
  };
  const bend = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))); // GELU to 5e-4
  let stream = ids.map((id, t) => row(model.words, id).map((one, i) => one + row(model.places, t)[i]));
  for (let layer = 0; layer < model.layers; layer += 1) {
    const at = `layers.${layer}`;
    const normed = stream.map((x) => norm(`${at}.norm1`, x));
    const [q, keys, values] = ["q", "k", "v"].map((one) => normed.map((x) => linear(`${at}.attention.${one}_proj`, x)));
    const wide = d / model.heads;
    stream = stream.map((x, t) => {
      const mixed = new Float32Array(d);
      for (let from = 0; from < d; from += wide) {
        const scores = [];
        for (let s = 0; s <= t; s += 1) {
          let score = 0;
          for (let i = from; i < from + wide; i += 1) score += q[t][i] * keys[s][i];
          scores.push(score / Math.sqrt(wide));
        }
        const highest = Math.max(...scores);
        const weights = scores.map((score) => Math.exp(score - highest));
        const total = weights.reduce((sum, one) => sum + one, 0);
        weights.forEach((weight, s) => {
          for (let i = from; i < from + wide; i += 1) mixed[i] += (weight / total) * values[s][i];
        });
      }
      const out = linear(`${at}.attention.out_proj`, mixed);
      const y = x.map((one, i) => one + out[i]);
      const more = linear(`${at}.feed_forward.down`, linear(`${at}.feed_forward.up`, norm(`${at}.norm2`, y)).map(bend));
      return y.map((one, i) => one + more[i]);
    });
  }
  const last = norm("norm", stream[stream.length - 1]);
  return Array.from({ length: model.words.shape[0] }, (_, i) => row(model.words, i).reduce((sum, w, j) => sum + w * last[j], 0));
}
