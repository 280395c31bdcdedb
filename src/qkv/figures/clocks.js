// The pairs of a head as clocks: what of the dial was seen in training, and what a longer text shows, for four ways of
// turning. The small wedge at the first clock is the angle between neighbours, by which "one back" is told.
function draw(kit, { length, factor, how }, { d, base, trained, slow, fast }) {
  const pairs = d / 2;
  const plain = [...Array(pairs).keys()].map((i) => Math.pow(base, (-2 * i) / d));
  const keep = (f) => Math.min(1, Math.max(0, ((trained * f) / (2 * Math.PI) - slow) / (fast - slow)));
  const wider = base * Math.pow(factor, d / (d - 2));
  const speed = {
    nothing: (f) => f,
    "squeeze all": (f) => f / factor,
    "another base": (f, i) => Math.pow(wider, (-2 * i) / d),
    "by parts": (f) => f * (keep(f) + (1 - keep(f)) / factor),
  }[how];

  const columns = kit.width >= 560 ? pairs : Math.ceil(pairs / 2);
  const cell = kit.width / columns;
  const r = Math.min(38, cell * 0.4);
  const high = 2 * r + 62;
  kit.height = high * Math.ceil(pairs / columns) + 26;
  kit.text(0, 14, "a dial for each pair of a head, the fastest first", { class: "strong" });

  let strange = 0;
  plain.forEach((f, i) => {
    const now = speed(f, i);
    const [cx, cy] = [cell * ((i % columns) + 0.5), 26 + high * Math.floor(i / columns) + r + 4];
    const turn = 2 * Math.PI;
    const seen = Math.min(trained * f, turn); // the arc that training showed
    const shown = Math.min(length * now, turn); // the arc that this text shows
    kit.add("circle", { cx, cy, r, fill: "none", stroke: "var(--line)" });
    sector(kit, cx, cy, r, 0, seen, { fill: "var(--c0)", opacity: 0.28 });
    const beyond = shown > seen + 1e-9;
    if (beyond) {
      strange += 1;
      sector(kit, cx, cy, r, seen, shown, { fill: "var(--c1)", opacity: 0.6 });
    }
    const angle = length * now;
    kit.line([[cx, cy], [cx + r * Math.sin(angle), cy - r * Math.cos(angle)]], { stroke: "var(--ink)", "stroke-width": 1.8 });
    if (i === 0) sector(kit, cx, cy, r * 0.55, 0, now, { fill: "var(--c2)" });
    const turns = (length * now) / turn;
    const words = turns >= 9.95 ? Math.round(turns).toString() : turns >= 0.095 ? turns.toFixed(1) : turns >= 0.005 ? turns.toFixed(2) : "< 0.01";
    kit.text(cx, cy + r + 18, `${words} turns`, { "text-anchor": "middle" });
    kit.text(cx, cy + r + 34, beyond ? "new angles" : "known", { "text-anchor": "middle", class: beyond ? "strong" : "quiet" });
  });

  const step = (speed(plain[0], 0) * 180) / Math.PI;
  const before = (plain[0] * 180) / Math.PI;
  const one = step.toFixed(1) === before.toFixed(1) ? `as in training, ${before.toFixed(1)} degrees` : `${step.toFixed(1)} degrees; in training it was ${before.toFixed(1)}`;
  return `${strange} of ${pairs} pairs show angles that training, at ${trained} positions, never showed. From one word to the next the fastest pair turns ${one}.`;
}

// A piece of a disc, from 12 o'clock on, clockwise.
function sector(kit, cx, cy, r, from, to, attributes) {
  if (to - from > 2 * Math.PI - 1e-6) return kit.add("circle", { cx, cy, r, ...attributes });
  const at = (a) => `${(cx + r * Math.sin(a)).toFixed(2)} ${(cy - r * Math.cos(a)).toFixed(2)}`;
  const d = `M${cx} ${cy}L${at(from)}A${r} ${r} 0 ${to - from > Math.PI ? 1 : 0} 1 ${at(to)}Z`;
  return kit.add("path", { d, ...attributes });
}
