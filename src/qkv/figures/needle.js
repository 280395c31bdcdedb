// One key scores higher than n - 1 others that are equal: how much weight it keeps, against n, and the gap it would need.
function draw(kit, { n, gap }, data) {
  const share = (keys) => 1 / (1 + (keys - 1) * Math.exp(-gap));
  const needed = (weight) => Math.log(((n - 1) * weight) / (1 - weight));
  const few = data.lengths[0];
  const many = data.lengths[data.lengths.length - 1];

  const [left, right, top, floor] = [40, kit.width - 12, 14, 196];
  const x = kit.scale(Math.log(few), Math.log(many), left, right);
  const y = kit.scale(0, 1, floor, top);
  for (const level of [0, 0.5, 1]) {
    kit.line([[left, y(level)], [right, y(level)]], { stroke: "var(--line)" });
    kit.text(left - 8, y(level) + 4, level, { class: "quiet", "text-anchor": "end" });
  }
  const ticks = kit.width < 480 ? [4, 256, 16384, 1048576] : [4, 32, 256, 2048, 16384, 131072, 1048576];
  ticks.forEach((tick, i) => {
    const anchor = i === ticks.length - 1 ? "end" : "middle";
    kit.text(x(Math.log(tick)), floor + 18, tick.toLocaleString("en-US"), { class: "quiet", "text-anchor": anchor });
  });
  kit.text(right, floor + 36, "keys", { class: "quiet", "text-anchor": "end" });
  const fine = Array.from({ length: 161 }, (_, i) => Math.log(few) + ((Math.log(many) - Math.log(few)) * i) / 160);
  kit.line(fine.map((place) => [x(place), y(share(Math.exp(place)))]), { stroke: "var(--c0)", "stroke-width": 2.4 });
  kit.line([[x(Math.log(n)), top], [x(Math.log(n)), floor]], { stroke: "var(--c5)", "stroke-dasharray": "3 3" });
  kit.add("circle", { cx: x(Math.log(n)), cy: y(share(n)), r: 5, fill: "var(--c1)" });

  let under = floor + 62;
  kit.text(0, under, `gap that ${n.toLocaleString("en-US")} keys ask for`, { class: "strong" });
  const widest = 20;
  const from = 112;
  for (const weight of data.wanted) {
    under += 26;
    const gapNeeded = needed(weight);
    const length = Math.max(0, Math.min(1, gapNeeded / widest)) * (kit.width - from - 52);
    kit.text(0, under + 4, `weight ${weight}`);
    kit.rect(from, under - 8, length, 15, { fill: gap >= gapNeeded ? "var(--c2)" : "var(--c3)", rx: 2 });
    kit.text(from + length + 6, under + 4, gapNeeded.toFixed(1).replace("-", "−"));
  }
  const mark = from + Math.min(1, gap / widest) * (kit.width - from - 52);
  kit.line([[mark, floor + 70], [mark, under + 12]], { stroke: "var(--ink)", "stroke-dasharray": "3 3" });
  kit.height = under + 20;

  const weight = share(n);
  const words = weight < 0.0005 ? "less than 0.0005" : weight.toFixed(3);
  return `The needle's weight is ${words} among ${n.toLocaleString("en-US")} keys at a gap of ${gap}. For a weight of 0.9 it takes a gap of ${needed(0.9).toFixed(2)}.`;
}
