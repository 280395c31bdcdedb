// A price, a cut, and every window of it: to learn from, to be tested on, or neither. The linear forecast is fitted here, so
// that its error follows the cut, which can be dragged, and the normalisation.
function draw(kit, { cut, horizon, scaling }, data) {
  const { x: price, context } = data;
  const leak = scaling === data.leaked;
  const size = context + horizon;
  const [left, right, top, floor, pitch] = [8, kit.width - 8, 16, 150, 6];
  const strips = floor + 18;
  kit.height = strips + pitch * size + 30;
  const x = kit.scale(0, price.length, left, right);
  const y = kit.scale(Math.min(...price), Math.max(...price), floor, top + 10);

  const starts = Array.from({ length: price.length - size + 1 }, (_, s) => s);
  const side = (s) => (s + size <= cut ? "learn" : s + context >= cut ? "test" : "neither");
  const colours = { learn: "var(--c0)", test: "var(--c1)", neither: "var(--c5)" };

  kit.rect(x(cut), top, right - x(cut), strips + pitch * size - top, { fill: "var(--wash)" });
  kit.line(price.map((value, t) => [x(t), y(value)]), { stroke: "var(--ink)", "stroke-width": 1.6 });
  starts.forEach((s) => {
    const row = strips + pitch * (s % size) + pitch / 2; // windows of a row touch, and never overlap
    const colour = colours[side(s)];
    kit.line([[x(s), row], [x(s + context), row]], { stroke: colour, "stroke-width": 1, opacity: 0.55 });
    kit.line([[x(s + context), row], [x(s + size) - 0.6, row]], { stroke: colour, "stroke-width": 3.6 });
  });
  const words = [["learn", "learned from"], ["neither", "neither"], ["test", "tested on"]];
  words.forEach(([kind, label], i) =>
    kit.text(kit.scale(0, 2, left, right)(i), strips + pitch * size + 20, label, {
      class: "strong",
      style: `fill: ${colours[kind]}`,
      "text-anchor": ["start", "middle", "end"][i],
    }));
  kit.line([[x(cut), top], [x(cut), strips + pitch * size]], { stroke: "var(--ink)", "stroke-width": 1.4, "stroke-dasharray": "4 3" });
  const handle = kit.add("circle", { cx: x(cut), cy: top, r: 9, fill: "var(--c2)", stroke: "var(--ink)", style: "cursor: ew-resize" });
  kit.add("title", {}, "where the test begins: drag it", handle);
  drag(handle, (place) => {
    const time = ((place - left) / (right - left)) * price.length;
    return (value) => Math.abs(value - time);
  });

  // Each window in units of its own mean and deviation: of what it reads, or, with the leak, of all of it.
  const unit = (s) => {
    const seen = price.slice(s, s + (leak ? size : context));
    const mean = seen.reduce((sum, v) => sum + v, 0) / seen.length;
    const square = seen.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (seen.length - 1);
    return [mean, Math.sqrt(square)];
  };
  const inputs = (s) => {
    const [mean, deviation] = unit(s);
    return [...price.slice(s, s + context).map((v) => (v - mean) / deviation), 1];
  };
  const targets = (s) => {
    const [mean, deviation] = unit(s);
    return price.slice(s + context, s + size).map((v) => (v - mean) / deviation);
  };
  const learn = starts.filter((s) => side(s) === "learn");
  const test = starts.filter((s) => side(s) === "test");
  const weights = ridge(learn.map(inputs), learn.map(targets));
  const forecast = (s) => {
    const [mean, deviation] = unit(s);
    const given = inputs(s);
    return targets(s).map((_, k) => mean + deviation * given.reduce((sum, v, i) => sum + v * weights[i][k], 0));
  };
  const step = (() => {
    let sum = 0;
    for (let t = 1; t < cut; t += 1) sum += Math.abs(price[t] - price[t - 1]);
    return sum / (cut - 1);
  })();
  const scaled = (said) => {
    let sum = 0;
    test.forEach((s) => said(s).forEach((value, k) => { sum += Math.abs(value - price[s + context + k]); }));
    return sum / (test.length * horizon) / step;
  };
  const naive = scaled((s) => Array(horizon).fill(price[s + context - 1]));
  const linear = scaled(forecast);
  const neither = starts.length - learn.length - test.length;
  const end = leak
    ? "The mean and the deviation by which a window is normalised know its future."
    : "Nothing that is used was unknown at the time.";
  return `${learn.length} windows to learn from, ${neither} in neither, ${test.length} to be tested on. Scaled error: last value repeated ${naive.toFixed(2)}, linear forecast ${linear.toFixed(2)}. ${end}`;
}

// Least squares with a price of 1 on squared weights: one row of weights for each input.
function ridge(rows, targets) {
  const [n, m] = [rows[0].length, targets[0].length];
  const table = Array.from({ length: n }, (_, i) => Array.from({ length: n + m }, (_, j) =>
    rows.reduce((sum, row, r) => sum + row[i] * (j < n ? row[j] : targets[r][j - n]), i === j ? 1 : 0)));
  for (let i = 0; i < n; i += 1) { // positive definite, so no row need be exchanged
    for (let k = 0; k < n; k += 1) {
      if (k === i) continue;
      const times = table[k][i] / table[i][i];
      for (let j = i; j < n + m; j += 1) table[k][j] -= times * table[i][j];
    }
  }
  return table.map((row, i) => row.slice(n).map((value) => value / row[i]));
}

// Let the pointer move the cut, by its slider. Everything is drawn anew each time, so the drawing listens.
function drag(handle, distance) {
  const svg = handle.ownerSVGElement;
  handle.style.touchAction = "none";
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    svg.dataset.dragging = "yes";
  });
  svg.onpointerup = svg.onpointercancel = () => delete svg.dataset.dragging;
  svg.onpointermove = (event) => {
    if (!svg.dataset.dragging) return;
    const off = distance(event.clientX - svg.getBoundingClientRect().left);
    const input = svg.parentElement.querySelector("input[name=cut]");
    const values = JSON.parse(input.dataset.values);
    const nearest = values.reduce((best, value, i) => (off(value) < off(values[best]) ? i : best), 0);
    if (Number(input.value) === nearest) return;
    input.value = nearest;
    input.dispatchEvent(new Event("input"));
  };
}
