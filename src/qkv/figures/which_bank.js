// A sentence in which a verb and a noun can be put; left the word's own vector, which stays, right its vector in this
// sentence. Words are dragged into the sentence, or clicked; the two lists above do the same from the keyboard.
function draw(kit, { verb, noun, layer }, data) {
  const svg = kit.rect(0, 0, 0, 0, { fill: "none" }).ownerSVGElement;
  const controls = ["verb", "noun"].map((name) => JSON.parse(svg.parentElement.querySelector(`select[name=${name}]`).dataset.values));
  kit.tell("layer", layer === 0 ? "none yet" : String(layer));
  const colour = (i, n) => (i < n / 2 ? "var(--c0)" : "var(--c1)");

  // the sentence, with its two places
  const small = kit.width < 480;
  const advance = small ? 6.6 : 7.4;
  let x = 4;
  ["she", "verb", "the", "noun", "at", "the", "bank", "today"].forEach((part) => {
    const chosen = { verb, noun }[part];
    const words = chosen || part;
    const wide = words.length * advance + (chosen ? 14 : 5);
    if (chosen) kit.rect(x, 8, wide, 24, { rx: 5, fill: "var(--wash)", stroke: "var(--ink)", "stroke-dasharray": "3 3" });
    kit.text(x + (chosen ? wide / 2 : 0), 25, words, { class: part === "bank" || chosen ? "strong" : "", "text-anchor": chosen ? "middle" : "start" });
    x += wide + (small ? 3 : 6);
  });

  // the words that may stand there
  const chip = { w: Math.min(92, (kit.width - 8) / 4 - 6), h: 26 };
  const chips = [];
  controls.forEach((words, row) => {
    words.forEach((word, i) => {
      const across = 4;
      const [left, top] = [4 + (i % across) * (chip.w + 6), 46 + (2 * row + Math.floor(i / across)) * (chip.h + 5) + 6 * row];
      const group = kit.add("g", { style: "cursor: grab; touch-action: none" });
      const name = row ? "noun" : "verb";
      const chosen = word === (row ? noun : verb);
      kit.add("rect", { x: left, y: top, width: chip.w, height: chip.h, rx: 5, fill: "var(--wash)", stroke: colour(i, words.length), "stroke-width": chosen ? 2.6 : 1 }, undefined, group);
      kit.add("text", { x: left + chip.w / 2, y: top + 17, "text-anchor": "middle", class: chosen ? "strong" : "" }, word, group);
      kit.add("title", {}, `${word}: drag it into the sentence, or click it`, group);
      chips.push({ group, name, word });
    });
  });
  const below = 46 + 4 * (chip.h + 5) + 12;
  place(kit, svg, chips);

  // two planes
  const beside = kit.width >= 560;
  const side = beside ? (kit.width - 24) / 2 : kit.width - 8;
  const tall = beside ? 230 : 200;
  const plane = (left, top, title, points) => {
    kit.text(left, top + 12, title, { class: "quiet" });
    kit.rect(left, top + 20, side, tall, { fill: "none", stroke: "var(--line)", rx: 4 });
    const bounds = [0, 1].map((k) => [Math.min(...points.map((p) => p[k])), Math.max(...points.map((p) => p[k]))]);
    const reach = Math.max(bounds[0][1] - bounds[0][0], bounds[1][1] - bounds[1][0], 0.02); // one point has no extent
    const [u, v] = [0, 1].map((k) => {
      const middle = (bounds[k][0] + bounds[k][1]) / 2;
      const span = Math.max(bounds[k][1] - bounds[k][0], 0.25 * reach);
      return [middle - 0.62 * span, middle + 0.62 * span];
    });
    return [kit.scale(u[0], u[1], left, left + side), kit.scale(v[0], v[1], top + 20 + tall, top + 20)];
  };
  const dot = (cx, cy, i, r, attributes = {}) =>
    i === 0
      ? kit.add("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r, fill: "var(--c0)", ...attributes })
      : kit.rect(cx - r, cy - r, 2 * r, 2 * r, { fill: "var(--c1)", ...attributes });

  let [px, py] = plane(4, below, "one vector for the word: it stays", data.static);
  data.words.forEach((word, i) => {
    const [cx, cy] = [px(data.static[i][0]), py(data.static[i][1])];
    const right = cx > 4 + side - 60;
    const where = { "text-anchor": right ? "end" : "start" };
    if (i === 0) {
      kit.add("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: 6, fill: "var(--ink)" });
      kit.text(cx + (right ? -10 : 10), cy + 4, word, { class: "strong", ...where });
    } else {
      dot(cx, cy, i <= (data.words.length - 1) / 2 ? 0 : 1, 3.5);
      kit.text(cx + (right ? -7 : 7), cy + 4, word, { class: "quiet", ...where });
    }
  });

  const [left, top] = beside ? [20 + side, below] : [4, below + tall + 34];
  const at = data.tries[layer][controls[0].indexOf(verb)][controls[1].indexOf(noun)];
  const cloud = data.planes[layer];
  [px, py] = plane(left, top, layer ? `one for each sentence: after layer ${layer}` : "before the first layer: the same everywhere", [...cloud, at]);
  cloud.forEach(([a, b], i) => dot(px(a), py(b), data.senses[i], 3, { opacity: 0.5 }));
  kit.add("circle", { cx: px(at[0]).toFixed(1), cy: py(at[1]).toFixed(1), r: 9, fill: "none", stroke: "var(--ink)", "stroke-width": 2.6, class: "here" });
  const key = top + 20 + tall + 16;
  dot(left + 5, key - 4, 0, 3.5);
  kit.text(left + 14, key, "bank in sentences of money", {});
  dot(left + 5, key + 13, 1, 3.5);
  kit.text(left + 14, key + 17, "in sentences of the river", {});
  kit.height = key + 24;

  const sentence = `“she ${verb} the ${noun} at the bank today”`;
  if (layer === 0) return `${sentence}: before the first layer, bank is the same vector in every sentence.`;
  const way = data.ways[layer][controls[0].indexOf(verb)][controls[1].indexOf(noun)];
  return `${sentence}: after layer ${layer}, bank has gone ${way.toFixed(2)} of the way from the middle of the money banks to the middle of the river banks. The word's own vector has not moved.`;
}

// A word that is grasped follows the pointer; let go in the sentence, or clicked, it takes its place there.
function place(kit, svg, chips) {
  chips.forEach(({ group, name, word }) => {
    group.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      group.setPointerCapture(event.pointerId);
      const start = [event.clientX, event.clientY];
      group.onpointermove = (move) => group.setAttribute("transform", `translate(${move.clientX - start[0]} ${move.clientY - start[1]})`);
      group.onpointercancel = () => group.removeAttribute("transform");
      group.onpointerup = (end) => {
        const moved = Math.hypot(end.clientX - start[0], end.clientY - start[1]);
        const there = end.clientY - svg.getBoundingClientRect().top < 44;
        group.onpointermove = null;
        group.removeAttribute("transform");
        if (moved < 6 || there) kit.choose(name, word);
      };
    });
  });
}
