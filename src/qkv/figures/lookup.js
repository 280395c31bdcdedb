// A query on a plane of words: turn it and stretch it, or drag its tip. The weights were computed by the reader's lookup.
function draw(kit, { direction, length }, data) {
  const beside = kit.width >= 560; // bars beside the plane, or below it on a phone
  const side = beside ? Math.min(320, kit.width * 0.47) : Math.min(320, kit.width);
  const unit = side / 2 / (data.longest + 0.35);
  const [x0, y0] = [side / 2, side / 2];
  const weights = data.weights[Math.round(length / data.stretch)][Math.round((direction + 180) / data.turn)];
  const angle = (direction * Math.PI) / 180;
  const tip = [x0 + unit * length * Math.cos(angle), y0 - unit * length * Math.sin(angle)];
  kit.tell("direction", `${direction}°`);

  kit.line([[0, y0], [side, y0]], { stroke: "var(--line)" });
  kit.line([[x0, 0], [x0, side]], { stroke: "var(--line)" });
  kit.text(side, y0 + 26, data.axes[0], { class: "quiet", "text-anchor": "end" });
  kit.text(x0 + 7, 11, data.axes[1], { class: "quiet" });
  for (const { x, y, label } of data.keys) {
    const at = [x0 + unit * x, y0 - unit * y];
    const away = x !== 0 || y !== 0;
    kit.line([[x0, y0], at], { stroke: "var(--c1)", "stroke-width": 2 });
    kit.add("circle", { cx: at[0], cy: at[1], r: 4.5, fill: "var(--c1)" });
    if (away && x >= y) kit.text(at[0], at[1] - 12, label, { "text-anchor": "middle" });
    else kit.text(at[0] - 9, at[1] + (away ? 4 : 17), label, { "text-anchor": "end" });
  }
  kit.line([[x0, y0], tip], { stroke: "var(--c0)", "stroke-width": 4 });
  const handle = kit.add("circle", { cx: tip[0], cy: tip[1], r: 10, fill: "var(--c0)", style: "cursor: grab" });
  kit.add("title", {}, "the query: drag it", handle);

  const left = (beside ? side + 30 : 0) + 72;
  const room = kit.width - left - 40;
  const row = 23;
  let y = beside ? 14 : side + 30;
  const bar = (label, share, number, colour) => {
    kit.text(left - 8, y + 13, label, { "text-anchor": "end" });
    kit.rect(left, y + 1, room * share, 15, { fill: colour, rx: 2 });
    kit.text(left + room * share + 6, y + 13, number, { class: "quiet" });
    y += row;
  };
  kit.text(left, y, "weights", { class: "strong" });
  y += 8;
  data.words.forEach((word, i) => bar(word, weights[i] / 1000, (weights[i] / 1000).toFixed(2), "var(--c0)"));
  y += 26;
  kit.text(left, y, "what the query gets", { class: "strong" });
  y += 8;
  data.columns.forEach((column, c) => {
    const found = weights.reduce((sum, weight, i) => sum + (weight / 1000) * data.values[i][c], 0);
    bar(column, Math.max(0, found) / data.most, found.toFixed(1), "var(--c2)");
  });
  kit.height = Math.max(beside ? side : 0, y) + 6;
  follow(handle.ownerSVGElement, handle, x0, y0, unit);

  const best = Math.max(...weights);
  const heard = data.words.filter((_, i) => weights[i] === best);
  if (heard.length === data.words.length) return "This query asks for nothing: every word is heard alike.";
  return `Heard most: ${heard.join(", ")}, with a weight of ${(best / 1000).toFixed(2)}${heard.length > 1 ? " each" : ""}.`;
}

// Let the pointer move the sliders while it drags the tip. The tip is drawn anew each time, so the drawing listens.
function follow(svg, handle, x0, y0, unit) {
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    svg.dataset.dragging = "yes";
  });
  handle.style.touchAction = "none";
  svg.onpointerup = svg.onpointercancel = () => delete svg.dataset.dragging;
  svg.onpointermove = (event) => {
    if (!svg.dataset.dragging) return;
    const box = svg.getBoundingClientRect();
    const [dx, dy] = [(event.clientX - box.left - x0) / unit, (y0 - event.clientY + box.top) / unit];
    const set = (name, value) => {
      const input = svg.parentElement.querySelector(`input[name=${name}]`);
      const values = JSON.parse(input.dataset.values);
      input.value = values.reduce((best, one, i) => (Math.abs(one - value) < Math.abs(values[best] - value) ? i : best), 0);
      return input;
    };
    set("direction", (Math.atan2(dy, dx) * 180) / Math.PI);
    set("length", Math.hypot(dx, dy)).dispatchEvent(new Event("input"));
  };
}
