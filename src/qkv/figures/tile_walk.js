// A matrix of scores is read tile by tile, and each query keeps three things: its largest score, a sum, an output. The scores
// and values were drawn in Python; the three recurrences run here, so that a tile may have any width.
function draw(kit, { block, tiles, causal, rescale }, data) {
  const n = data.scores.length;
  const sees = (i, j) => causal === "no" || j <= i;
  const all = Math.ceil(n / block);
  const read = Math.min(tiles, all); // tiles so far
  kit.tell("tiles", `${read} of ${all}`);

  const left = 4;
  const cell = Math.min(24, (kit.width * 0.52 - left) / n);
  const top = 44;
  kit.height = top + cell * n + 26;
  const bars = left + cell * n + 22; // where the bars begin
  const each = (kit.width - bars - 8) / 3;

  kit.text(left, 14, "scores: a row for each query", { class: "strong" });
  kit.text(left, 32, "keys", { class: "quiet" });
  const titles = ["largest so far", "sum", "output"];
  const narrow = each < 88;
  titles.forEach((title, k) => kit.text(bars + each * k, 14, narrow ? title.split(" ")[0] : title, { class: "strong" }));

  const rows = data.scores.map((row, i) => {
    const state = { highest: -Infinity, total: 0, output: 0 };
    for (let tile = 0; tile < read; tile += 1) {
      const keys = row.map((score, j) => [score, j]).filter(([, j]) => Math.floor(j / block) === tile && sees(i, j));
      if (!keys.length) continue;
      const highest = Math.max(state.highest, ...keys.map(([score]) => score));
      const factor = rescale === "yes" ? Math.exp(state.highest - highest) : 1;
      state.total = state.total * factor + keys.reduce((sum, [score]) => sum + Math.exp(score - highest), 0);
      state.output = state.output * factor + keys.reduce((sum, [score, j]) => sum + Math.exp(score - highest) * data.values[j], 0);
      state.highest = highest;
    }
    const seen = row.map((score, j) => [score, j]).filter(([, j]) => j < read * block && sees(i, j));
    const peak = Math.max(...seen.map(([score]) => score));
    const powers = seen.map(([score, j]) => [Math.exp(score - peak), data.values[j]]);
    const total = powers.reduce((sum, [power]) => sum + power, 0);
    return {
      ...state,
      output: state.output / state.total,
      right: { total, output: powers.reduce((sum, [power, value]) => sum + power * value, 0) / total },
      seen: seen.length,
    };
  });

  data.scores.forEach((row, i) =>
    row.forEach((score, j) => {
      const [x, y] = [left + cell * j, top + cell * i];
      const tile = Math.floor(j / block);
      const now = tile === read - 1;
      const hidden = !sees(i, j);
      const strength = hidden || tile >= read ? 0.04 : 0.12 + (0.6 * (score + 4)) / 8;
      kit.rect(x, y, cell - 1, cell - 1, { fill: now ? "var(--c0)" : "var(--c5)", opacity: strength.toFixed(3) });
      if (hidden) {
        const r = Math.min(3, cell / 5);
        const [cx, cy] = [x + cell / 2 - 0.5, y + cell / 2 - 0.5];
        kit.line([[cx - r, cy - r], [cx + r, cy + r]], { stroke: "var(--c5)" });
      }
    }),
  );
  const from = (read - 1) * block;
  kit.rect(left + cell * from - 1, top - 1, cell * Math.min(block, n - from) + 1, cell * n + 1, {
    fill: "none",
    stroke: "var(--c0)",
    "stroke-width": 2,
  });

  const widest = Math.max(...rows.map(({ total, right }) => Math.max(total, right.total)), 1);
  const furthest = Math.max(...rows.map(({ output, right }) => Math.max(Math.abs(output || 0), Math.abs(right.output || 0))), 1);
  let wrong = 0;
  rows.forEach(({ highest, total, output, right, seen }, i) => {
    const y = top + cell * (i + 0.5);
    if (!seen) return kit.text(bars, y + 4, "nothing yet", { class: "quiet" });
    const off = Math.abs(output - right.output) > 0.005 || Math.abs(total - right.total) > 0.005;
    if (off) wrong += 1;
    const colour = off ? "var(--c1)" : "var(--c2)";
    const length = each - 12;
    const bar = (k, share) => kit.rect(bars + each * k, y - cell * 0.3, length * share, cell * 0.6, { fill: k ? colour : "var(--c0)", opacity: 0.75 });
    bar(0, (highest + 4) / 8);
    bar(1, total / widest);
    const middle = bars + each * 2 + length / 2; // outputs may be negative
    const x = middle + (length / 2) * (output / furthest);
    kit.rect(Math.min(middle, x), y - cell * 0.3, Math.abs(x - middle), cell * 0.6, { fill: colour, opacity: 0.75 });
    const mark = (at) => kit.line([[at, y - cell * 0.42], [at, y + cell * 0.42]], { stroke: "var(--ink)", "stroke-width": 1.6 });
    mark(bars + each + length * (right.total / widest));
    mark(middle + (length / 2) * (right.output / furthest));
  });
  kit.text(kit.width - 4, top + cell * n + 18, "a line marks the true value", { class: "quiet", "text-anchor": "end" });

  const made = n * Math.min(block, n);
  const size = `At any moment ${made} of ${n * n} scores exist.`;
  if (wrong) return `${size} ${wrong} of ${n} rows have drifted: what was summed under a smaller maximum counts too much.`;
  return `${size} After ${read} of ${all} tiles every row has what the whole softmax over these keys would give.`;
}
