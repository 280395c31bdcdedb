// A memory in a plane: patterns and a state that can be dragged, bands of equal energy, and the path of the state under the
// update. Energies and steps are computed here, so that a pattern may lie anywhere.
function draw(kit, { beta, layout, x, y }, data) {
  const cells = 64; // in a row; each has a whole number of pixels, so that no seam shows
  const side = cells * Math.floor(Math.min(448, kit.width) / cells);
  const left = Math.round((kit.width - side) / 2);
  const unit = side / 2 / data.edge;
  const at = ([a, b]) => [left + side / 2 + unit * a, side / 2 - unit * b];
  kit.height = side + 4;

  const frame = kit.rect(left, 0, side, side, { fill: "none", stroke: "var(--line)" });
  const svg = frame.ownerSVGElement;
  if (svg.dataset.layout !== layout) { // what was dragged belongs to one arrangement
    svg.dataset.layout = layout;
    svg.patterns = data.layouts[layout].map((pattern) => [...pattern]);
  }
  const patterns = svg.patterns;

  const scores = ([a, b]) => patterns.map(([p, q]) => beta * (p * a + q * b));
  const energy = (state) => {
    const all = scores(state);
    const most = Math.max(...all);
    const sum = all.reduce((total, score) => total + Math.exp(score - most), 0);
    return (state[0] ** 2 + state[1] ** 2) / 2 - (most + Math.log(sum)) / beta;
  };
  const weights = (state) => {
    const all = scores(state);
    const most = Math.max(...all);
    const raised = all.map((score) => Math.exp(score - most));
    const sum = raised.reduce((total, power) => total + power, 0);
    return raised.map((power) => power / sum);
  };
  const step = (state) => {
    const shares = weights(state);
    return [0, 1].map((k) => patterns.reduce((sum, pattern, i) => sum + shares[i] * pattern[k], 0));
  };

  // bands: cells of a row that are in the same band are one rectangle
  const size = side / cells;
  const place = (k) => (((k + 0.5) / cells) * 2 - 1) * data.edge;
  const found = Array.from({ length: cells }, (_, row) => Array.from({ length: cells }, (_, column) => energy([place(column), -place(row)])));
  const lowest = Math.min(...found.flat());
  const highest = Math.max(...found.flat());
  const bands = 14;
  const band = (value) => Math.min(bands - 1, Math.floor(bands * Math.sqrt((value - lowest) / (highest - lowest)))); // finer where it is deep
  found.forEach((row, i) => {
    let from = 0;
    row.forEach((value, j) => {
      if (j + 1 < cells && band(row[j + 1]) === band(value)) return;
      const opacity = 0.62 * (1 - band(value) / (bands - 1)) ** 1.4;
      kit.rect(left + size * from, size * i, size * (j + 1 - from), size, { fill: "var(--c0)", opacity: opacity.toFixed(3), "shape-rendering": "crispEdges" });
      from = j + 1;
    });
  });

  const path = [[x, y]];
  for (let k = 0; k < 60; k += 1) {
    path.push(step(path[k]));
    if (Math.hypot(path[k + 1][0] - path[k][0], path[k + 1][1] - path[k][1]) < 1e-3) break;
  }
  kit.line(path.map(at), { stroke: "var(--ink)", "stroke-width": 1.8 });
  path.slice(1).forEach((state) => {
    const [cx, cy] = at(state);
    kit.add("circle", { cx, cy, r: 2.6, fill: "var(--ink)" });
  });
  const handles = patterns.map((pattern, i) => {
    const [cx, cy] = at(pattern);
    const handle = kit.add("circle", { cx, cy, r: 8, fill: "var(--c1)", style: "cursor: grab" });
    kit.add("title", {}, `pattern ${i + 1}: drag it`, handle);
    kit.text(cx + 11, cy - 8, `${i + 1}`, { class: "strong" });
    return handle;
  });
  const [cx, cy] = at(path[0]);
  const own = kit.add("circle", { cx, cy, r: 9, fill: "var(--c2)", stroke: "var(--ink)", "stroke-width": 1.5, style: "cursor: grab" });
  kit.add("title", {}, "the state: drag it", own);
  grasp(svg, [...handles, own], { left, side, unit }, patterns);

  const end = path[path.length - 1];
  const shares = weights(end);
  const best = Math.max(...shares);
  const nearest = shares.indexOf(best) + 1;
  const steps = path.length - 1;
  const after = `After ${steps} step${steps > 1 ? "s" : ""} the state rests`;
  if (best > 0.9) return `${after} at pattern ${nearest}, which has ${best.toFixed(2)} of the weight.`;
  if (best < 1.6 / patterns.length) return `${after} near the mean of all patterns: at this beta they share one valley.`;
  return `${after} between patterns: pattern ${nearest} has ${best.toFixed(2)} of the weight, others the rest.`;
}

// Let the pointer move what it has grasped: the state by its two sliders, a pattern by itself. Everything is drawn anew each
// time, so the drawing listens.
function grasp(svg, handles, { left, side, unit }, patterns) {
  handles.forEach((handle, which) => {
    handle.style.touchAction = "none";
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      svg.setPointerCapture(event.pointerId);
      svg.dataset.dragging = which;
    });
  });
  svg.onpointerup = svg.onpointercancel = () => delete svg.dataset.dragging;
  svg.onpointermove = (event) => {
    if (svg.dataset.dragging === undefined) return;
    const box = svg.getBoundingClientRect();
    const bound = (value) => Math.max(-2.4, Math.min(2.4, value));
    const here = [bound((event.clientX - box.left - left - side / 2) / unit), bound((side / 2 - event.clientY + box.top) / unit)];
    const inputs = ["x", "y"].map((name) => svg.parentElement.querySelector(`input[name=${name}]`));
    const which = Number(svg.dataset.dragging);
    if (which < patterns.length) patterns[which] = here;
    else
      inputs.forEach((input, k) => {
        const values = JSON.parse(input.dataset.values);
        input.value = values.reduce((best, one, i) => (Math.abs(one - here[k]) < Math.abs(values[best] - here[k]) ? i : best), 0);
      });
    inputs[1].dispatchEvent(new Event("input"));
  };
}
