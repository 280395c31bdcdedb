// Two real distributions of the next word: what of a draft is kept, and what is drawn anew in its place. Below, what a
// call of the large model brings, and whether that pays for the drafts.
function draw(kit, { context, alike, drafts, cost }, { contexts }) {
  const { words, p, q: own } = contexts.find(({ name }) => name === context);
  const q = own.map((share, i) => (1 - alike) * share + alike * p[i]);
  const a = p.reduce((sum, share, i) => sum + Math.min(share, q[i]), 0);
  const brought = (n) => [...Array(n + 1).keys()].reduce((sum, k) => sum + Math.pow(a, k), 0);
  const gain = (n) => brought(n) / (1 + n * cost);

  const [left, row, top] = [64, 26, 46];
  const room = kit.width - left - 8;
  kit.text(0, 14, "the next word: large model above, draft below", { class: "strong" });
  const key = [["kept", "var(--c2)"], ["drawn anew", "var(--c3)"], ["refused", "var(--c5)"]];
  key.forEach(([label, fill], i) => {
    kit.rect(left + i * 96, 24, 11, 11, { fill, rx: 2 });
    kit.text(left + 16 + i * 96, 34, label, { class: "quiet" });
  });
  words.forEach((word, i) => {
    const y = top + row * i;
    const both = Math.min(p[i], q[i]);
    kit.text(left - 8, y + 16, word, { "text-anchor": "end" });
    kit.rect(left, y + 2, room * both, 9, { fill: "var(--c2)" });
    kit.rect(left + room * both, y + 2, room * (p[i] - both), 9, { fill: "var(--c3)" });
    kit.rect(left, y + 12, room * both, 9, { fill: "var(--c2)", opacity: 0.55 });
    kit.rect(left + room * both, y + 12, room * (q[i] - both), 9, { fill: "var(--c5)" });
  });

  const [high, floor] = [top + row * words.length + 46, top + row * words.length + 166];
  const most = 8;
  const x = kit.scale(1, most, left, kit.width - 16);
  const values = [...Array(most).keys()].map((n) => gain(n + 1));
  const y = kit.scale(0, Math.max(1.2, ...values) * 1.08, floor, high);
  kit.height = floor + 40;
  kit.text(0, high - 18, "how many times as fast, against the number of drafts", { class: "strong" });
  kit.line([[left, y(1)], [kit.width - 16, y(1)]], { stroke: "var(--ink)", "stroke-dasharray": "4 3", opacity: 0.6 });
  kit.text(left - 8, y(1) + 4, "1", { "text-anchor": "end", class: "quiet" });
  kit.text(left - 8, y(0) + 4, "0", { "text-anchor": "end", class: "quiet" });
  kit.line(values.map((value, n) => [x(n + 1), y(value)]), { stroke: "var(--c0)", "stroke-width": 2 });
  for (let n = 1; n <= most; n += 1) kit.text(x(n), floor + 18, String(n), { "text-anchor": "middle", class: "quiet" });
  kit.add("circle", { cx: x(drafts), cy: y(gain(drafts)), r: 5.5, fill: gain(drafts) >= 1 ? "var(--c2)" : "var(--c1)", stroke: "var(--ink)" });

  const pays = gain(drafts) >= 1 ? "It pays." : "It does not pay.";
  const many = drafts === 1 ? "1 draft" : `${drafts} drafts`;
  return `A draft is kept with probability ${a.toFixed(2)}. With ${many} a call brings ${brought(drafts).toFixed(2)} words and costs ${(1 + drafts * cost).toFixed(2)} calls: ${gain(drafts).toFixed(2)} times as fast. ${pays}`;
}
