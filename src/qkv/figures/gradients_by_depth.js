// Gradient norms by layer, on a logarithmic axis that stays the same while the depth moves.
function draw(kit, { depth, measure, without }, data) {
  const shown = data.looks.filter((name) => name !== "no norm" || without === "shown");
  const sizes = data.sizes[measure];
  const every = shown.flatMap((name) => Object.values(sizes[name]).flat());
  const [low, high] = [Math.floor(Math.log10(Math.min(...every)) * 2) / 2, Math.ceil(Math.log10(Math.max(...every)) * 2) / 2];
  const [left, right, top, bottom] = [52, kit.width - 12, 46, 262];
  kit.height = bottom + 44;
  const most = Math.max(...Object.keys(sizes[shown[0]]).map((n) => sizes[shown[0]][n].length));
  const count = sizes[shown[0]][depth].length;
  const x = kit.scale(1, most, left + 8, right - 8);
  const y = kit.scale(low, high, bottom, top);
  const told = (size) => (size >= 1000 ? size.toExponential(0).replace("e+", "·10^") : String(Number(size.toPrecision(2))));

  const axis = measure === "the stream" ? "gradient of the stream, the top being 1" : "gradient of each layer's weights";
  kit.text(left - 44, 14, axis, { class: "quiet" });
  const decades = Math.max(1, Math.ceil((high - low) / 6));
  for (let power = Math.ceil(low); power <= high; power += decades) {
    kit.line([[left, y(power)], [right, y(power)]], { stroke: "var(--line)" });
    kit.text(left - 8, y(power) + 4, power < 4 ? String(Number(Math.pow(10, power).toPrecision(1))) : `1e${power}`, { "text-anchor": "end" });
  }
  const marks = [...new Set([1, Math.ceil(count / 2), count])];
  marks.forEach((layer) => kit.text(x(layer), bottom + 18, String(layer), { "text-anchor": "middle" }));
  kit.text(left, bottom + 38, "layer, from the input to the output", { class: "quiet" });

  const looks = { "pre-norm": ["var(--c0)", ""], "post-norm": ["var(--c1)", "7 4"], "no norm": ["var(--c5)", "2 4"] };
  shown.forEach((name, i) => {
    const [colour, dash] = looks[name];
    const points = sizes[name][depth].map((size, layer) => [x(layer + 1), y(Math.log10(size))]);
    kit.line(points, { stroke: colour, "stroke-width": 2, ...(dash ? { "stroke-dasharray": dash } : {}) });
    points.forEach(([cx, cy]) => {
      if (name === "pre-norm") kit.add("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: 3, fill: colour });
      else if (name === "post-norm") kit.rect(cx - 3, cy - 3, 6, 6, { fill: colour });
      else {
        kit.line([[cx - 3, cy - 3], [cx + 3, cy + 3]], { stroke: colour });
        kit.line([[cx - 3, cy + 3], [cx + 3, cy - 3]], { stroke: colour });
      }
    });
    const at = left + i * 104;
    kit.line([[at, 32], [at + 22, 32]], { stroke: colour, "stroke-width": 2, ...(dash ? { "stroke-dasharray": dash } : {}) });
    kit.text(at + 28, 36, name);
  });

  const ends = (name) => [sizes[name][depth][0], sizes[name][depth].at(-1)];
  if (measure === "the stream") {
    const ratios = shown.map((name) => `${told(ends(name)[0])} (${name})`);
    return `${depth} layers. What arrives at the first layer, as a multiple of what left the last: ${ratios.join(", ")}.`;
  }
  const [pre, post] = [ends("pre-norm")[1], ends("post-norm")[1]];
  return `${depth} layers. In the last layer: ${told(pre)} (pre-norm), ${told(post)} (post-norm), ${told(post / pre)} times as much.`;
}
