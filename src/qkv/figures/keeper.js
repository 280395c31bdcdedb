// The capstone's GPT runs in the page on a ledger that the reader writes: where both of its layers look from the word at the
// cursor, and which word it expects next. Its weights were trained in Python and are rounded to 255 steps.
function draw(kit, { word, first, second }, data) {
  const root = kit.add("g").ownerSVGElement.parentElement;
  const line = root.querySelector("input[type=text]") || written(root, data.text);
  const model = data.model || (data.model = unpack(data));
  const typed = line.value.split(/\s+/).filter(Boolean);
  if (typed[0] === "<end>") typed.shift(); // it stands there anyway
  const known = new Map(data.words.map((one, id) => [one.toLowerCase(), id]));
  const strange = typed.slice(0, data.length - 1).find((one) => !known.has(one.toLowerCase()));
  const ids = [data.end];
  for (const one of typed.slice(0, data.length - 1)) {
    if (!known.has(one.toLowerCase())) break;
    ids.push(known.get(one.toLowerCase()));
  }
  const said = `${ids}`;
  if (data.said !== said) [data.said, data.read] = [said, read(model, ids)];
  const at = Math.min(word, ids.length) - 1;
  kit.tell("word", `${at + 1} of ${ids.length}`);

  const chosen = [first, second].map((name) => (name === "all heads" ? -1 : Number(name.replace("head ", "")) - 1));
  const looks = data.read.weights.map((heads, layer) => {
    const head = chosen[layer];
    return ids.map((_, s) => (s > at ? 0 : head >= 0 ? heads[head][at][s] : heads.reduce((sum, one) => sum + one[at][s], 0) / heads.length));
  });

  const beside = kit.width >= 560;
  const [gap, row] = [20, 23];
  const wide = beside ? (kit.width - gap) / 2 : kit.width;
  const rows = 1 + Math.ceil((ids.length - 1) / 4);
  const tall = rows * row + 26;
  looks.forEach((weights, layer) => {
    const [left, top] = beside ? [layer * (wide + gap), 0] : [0, layer * (tall + 8)];
    kit.text(left + 2, top + 14, `layer ${layer + 1}, ${[first, second][layer]}: looks at`, { class: "quiet" });
    ids.forEach((id, s) => {
      const [column, down] = s ? [(s - 1) % 4, 1 + Math.floor((s - 1) / 4)] : [0, 0];
      const [x, y] = [left + (column * wide) / 4, top + 22 + down * row];
      const cell = wide / 4 - 3;
      kit.rect(x, y, cell, row - 3, { rx: 3, fill: layer ? "var(--c1)" : "var(--c0)", opacity: (0.03 + 0.6 * weights[s]).toFixed(3) });
      kit.text(x + 6, y + 15, data.words[id], { class: s === at ? "strong" : s > at ? "quiet" : "" });
      const frame = kit.rect(x, y, cell, row - 3, { rx: 3, fill: "transparent", stroke: s === at ? "var(--ink)" : "none", "stroke-width": 1.6, style: "cursor: pointer" });
      frame.addEventListener("click", () => kit.choose("word", s + 1));
    });
  });

  const p = softmax(data.read.logits[at]);
  const best = p.map((_, id) => id).sort((a, b) => p[b] - p[a] || a - b).slice(0, 6);
  const [label, under] = [76, (beside ? tall : 2 * tall + 8) + 12];
  const scale = kit.scale(0, 1, label, kit.width - 60);
  kit.text(2, under + 6, "expected next", { class: "quiet" });
  best.forEach((id, i) => {
    const y = under + 14 + 20 * i;
    kit.text(label - 8, y + 14, data.words[id], { "text-anchor": "end", class: id === ids[at + 1] ? "strong" : "" });
    kit.rect(label, y + 3, scale(p[id]) - label, 14, { fill: "var(--c2)", opacity: 0.75 });
    kit.text(scale(p[id]) + 6, y + 14, p[id].toFixed(3));
  });
  kit.height = under + 14 + 20 * best.length + 6;

  if (strange !== undefined) return `“${strange}” is no word of this language; the model read up to there. Its words: ${data.words.join(" ")}.`;
  const look = looks[1].indexOf(Math.max(...looks[1]));
  const next = ids[at + 1] === undefined ? "" : ` Written is “${data.words[ids[at + 1]]}”.`;
  return `At “${data.words[ids[at]]}” layer 2 looks most at word ${look + 1}, “${data.words[ids[look]]}” (${looks[1][look].toFixed(2)}), and the model expects “${data.words[best[0]]}” (${p[best[0]].toFixed(2)}).${next}`;
}

// A line to write in, above the controls.
function written(root, text) {
  const label = document.createElement("label");
  label.style.gridColumn = "1 / -1";
  label.style.gridTemplateColumns = "8.5em 1fr";
  label.appendChild(Object.assign(document.createElement("span"), { textContent: "ledger" }));
  const line = Object.assign(document.createElement("input"), { type: "text", value: text, spellcheck: false, autocomplete: "off", maxLength: 400 });
  line.name = "text";
  line.dataset.lmSuppressShortcuts = "yes"; // in JupyterLab letters are for the line, not for commands
  line.style.cssText = "font:inherit;color:inherit;background:transparent;border:1px solid var(--line);border-radius:4px;padding:.15rem .4rem;min-width:0;width:100%;box-sizing:border-box";
  label.appendChild(line);
  const panel = root.querySelector(".controls");
  panel.insertBefore(label, panel.firstChild);
  const slider = root.querySelector("input[type=range]");
  line.addEventListener("input", () => {
    slider.value = slider.max; // whoever writes looks at the end
    slider.dispatchEvent(new Event("input"));
  });
  return line;
}

// Every tensor is a scale and a byte for each number.
function unpack({ tensors, heads }) {
  const model = { heads };
  for (const [name, [shape, scale, text]] of Object.entries(tensors)) {
    const bytes = atob(text);
    model[name] = { shape, numbers: Float32Array.from(bytes, (one) => ((one.charCodeAt(0) + 128) % 256 - 128) * scale) };
  }
  model.layers = new Set(Object.keys(model).map((name) => (name.match(/^layers\.(\d+)\./) || [])[1]).filter(Boolean)).size;
  return model;
}

function softmax(scores) {
  const highest = Math.max(...scores);
  const powers = Array.from(scores, (score) => Math.exp(score - highest));
  const total = powers.reduce((sum, one) => sum + one, 0);
  return powers.map((one) => one / total);
}

// What TinyGPT does: weights[layer][head][query][key], and the logits at every position.
function read(model, ids) {
  const d = model["tokens.weight"].shape[1];
  const wide = d / model.heads;
  const linear = (name, x) => {
    const { shape, numbers } = model[`${name}.weight`];
    const bias = model[`${name}.bias`];
    const y = new Float32Array(shape[0]);
    for (let i = 0; i < shape[0]; i += 1) {
      let sum = bias ? bias.numbers[i] : 0;
      for (let j = 0; j < shape[1]; j += 1) sum += numbers[i * shape[1] + j] * x[j];
      y[i] = sum;
    }
    return y;
  };
  const norm = (name, x) => {
    const mean = x.reduce((sum, one) => sum + one, 0) / d;
    const deviation = Math.sqrt(x.reduce((sum, one) => sum + (one - mean) ** 2, 0) / d + 1e-5);
    return x.map((one, i) => ((one - mean) / deviation) * model[`${name}.weight`].numbers[i] + model[`${name}.bias`].numbers[i]);
  };
  const turned = (x, t) => {
    const y = new Float32Array(d);
    for (let i = 0; i < d; i += 2) {
      const angle = t * 10000 ** (-(i % wide) / wide); // in every head the first pair is the fastest
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      y[i] = x[i] * cos - x[i + 1] * sin;
      y[i + 1] = x[i] * sin + x[i + 1] * cos;
    }
    return y;
  };
  const bend = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))); // GELU to 5e-4
  let stream = ids.map((id) => model["tokens.weight"].numbers.slice(id * d, (id + 1) * d));
  const weights = [];
  for (let layer = 0; layer < model.layers; layer += 1) {
    const at = `layers.${layer}`;
    const normed = stream.map((x) => norm(`${at}.norm1`, x));
    const [queries, keys] = ["q", "k"].map((one) => normed.map((x, t) => turned(linear(`${at}.attention.${one}_proj`, x), t)));
    const values = normed.map((x) => linear(`${at}.attention.v_proj`, x));
    const heads = Array.from({ length: model.heads }, (_, head) =>
      queries.map((q, t) =>
        softmax(
          keys.slice(0, t + 1).map((k) => {
            let score = 0;
            for (let i = head * wide; i < (head + 1) * wide; i += 1) score += q[i] * k[i];
            return score / Math.sqrt(wide);
          }),
        ),
      ),
    );
    weights.push(heads);
    stream = stream.map((x, t) => {
      const mixed = new Float32Array(d);
      for (let i = 0; i < d; i += 1) heads[Math.floor(i / wide)][t].forEach((weight, s) => (mixed[i] += weight * values[s][i]));
      const out = linear(`${at}.attention.out_proj`, mixed);
      const y = x.map((one, i) => one + out[i]);
      const more = linear(`${at}.feed_forward.down`, linear(`${at}.feed_forward.up`, norm(`${at}.norm2`, y)).map(bend));
      return y.map((one, i) => one + more[i]);
    });
  }
  return { weights, logits: stream.map((x) => linear("out", norm("norm", x))) };
}
