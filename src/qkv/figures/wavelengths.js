// One row for each pair of columns: its sine over the positions. Below: how well every position matches one of them.
function draw(kit, { d, base, trained, at }) {
  const pairs = d / 2;
  const span = 4 * trained; // trained on the first quarter, tested up to four times as far
  const t = Math.round(at * trained);
  kit.tell("at", t);
  const frequency = [...Array(pairs).keys()].map((i) => Math.pow(base, (-2 * i) / d));
  const [left, right] = [4, kit.width - 92];
  const x = kit.scale(0, span, left, right);
  const row = Math.min(30, Math.max(8, 190 / pairs));
  const top = 44;
  const low = top + row * pairs; // where the waves end
  const [high, floor] = [low + 62, low + 172]; // the curve of matches
  kit.height = floor + 34;

  kit.rect(left, top, x(trained) - left, row * pairs, { fill: "var(--wash)" });
  kit.rect(left, high, x(trained) - left, floor - high, { fill: "var(--wash)" });
  kit.text(left + 2, 14, "sine of each pair", { class: "strong" });
  kit.text(left + 2, top - 8, "trained", { class: "quiet" });
  kit.text(x(trained) + 6, top - 8, "not seen in training", { class: "quiet" });
  kit.text(kit.width, 14, "wavelength", { class: "quiet", "text-anchor": "end" });

  let unfinished = 0;
  frequency.forEach((omega, i) => {
    const wavelength = (2 * Math.PI) / omega;
    const full = wavelength <= trained; // has it turned round at least once in training?
    if (!full) unfinished += 1;
    const middle = top + row * (i + 0.5);
    const colour = full ? "var(--c0)" : "var(--c1)";
    const pixels = (wavelength / span) * (right - left);
    if (pixels < 5) {
      kit.rect(left, middle - row * 0.4, right - left, row * 0.8, { fill: colour, opacity: 0.35 });
    } else {
      const points = [];
      for (let p = left; p <= right; p += Math.max(0.5, Math.min(2, pixels / 16))) {
        points.push([p, middle - 0.4 * row * Math.sin((omega * span * (p - left)) / (right - left))]);
      }
      kit.line(points, { stroke: colour, "stroke-width": 1.6, ...(full ? {} : { "stroke-dasharray": "5 3" }) });
    }
    if (row >= 13 || i % Math.ceil(13 / row) === 0) {
      const words = wavelength < 99.5 ? wavelength.toFixed(1) : Math.round(wavelength).toLocaleString("en-US");
      kit.text(kit.width, middle + 4, words + (full ? "" : " *"), { "text-anchor": "end", class: full ? "" : "strong" });
    }
  });

  const match = (s) => frequency.reduce((sum, omega) => sum + Math.cos(omega * (s - t)), 0) / pairs;
  const curve = [...Array(span + 1).keys()].map((s) => [s, match(s)]);
  const y = kit.scale(Math.min(0, ...curve.map(([, m]) => m)), 1, floor, high);
  // the best match that is not a neighbour: walk down from the peak on both sides first
  let [before, after] = [t, t];
  while (before > 0 && match(before - 1) <= match(before)) before -= 1;
  while (after < span && match(after + 1) <= match(after)) after += 1;
  const others = curve.filter(([s]) => s < before || s > after);
  const rival = others.length ? others.reduce((best, one) => (one[1] > best[1] ? one : best)) : null;

  kit.text(left + 2, high - 26, `match of position ${t.toLocaleString("en-US")} with every position`, { class: "strong" });
  kit.text(left + 2, high - 9, "PE(t)·PE(s), or the RoPE score of two equal vectors", { class: "quiet" });
  kit.line([[left, y(0)], [right, y(0)]], { stroke: "var(--line)" });
  kit.line(curve.map(([s, m]) => [x(s), y(m)]), { stroke: "var(--c2)", "stroke-width": 1.5 });
  kit.line([[x(t), top], [x(t), low]], { stroke: "var(--ink)", opacity: 0.6 });
  kit.add("circle", { cx: x(t), cy: y(1), r: 4.5, fill: "var(--ink)" });
  kit.text(right + 8, y(1) + 4, "1", { class: "quiet" });
  kit.text(right + 8, y(0) + 4, "0", { class: "quiet" });
  if (rival) {
    kit.add("circle", { cx: x(rival[0]), cy: y(rival[1]), r: 5, fill: "none", stroke: "var(--c4)", "stroke-width": 2 });
  }
  for (const share of [0, 1, 2, 3, 4]) {
    const anchor = share === 0 ? "start" : share === 4 ? "end" : "middle";
    kit.text(x(share * trained), floor + 18, (share * trained).toLocaleString("en-US"), { class: "quiet", "text-anchor": anchor });
  }
  kit.text(right + 8, floor + 18, "position", { class: "quiet" });

  const turns = unfinished
    ? `${unfinished} of ${pairs} pairs (dashed, *) make no full turn in ${trained.toLocaleString("en-US")} positions: beyond them they show angles that training never showed.`
    : `All ${pairs} pairs make a full turn within ${trained.toLocaleString("en-US")} positions.`;
  return rival ? `${turns} Best match elsewhere: position ${rival[0].toLocaleString("en-US")}, ${rival[1].toFixed(2)} (ring).` : turns;
}
