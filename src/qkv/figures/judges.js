// A training under a reward, as it was recorded: what its judge sees, what is true, and what the model writes at a step.
function draw(kit, { reward, step }, { runs, last }) {
  const seen = runs[reward];
  const at = seen.reduce((best, look) => (look.step <= step ? look : best), seen[0]);
  const [left, right, top, floor] = [34, kit.width - 96, 10, 170];
  const x = kit.scale(0, last, left, right);
  const y = kit.scale(0, 1, floor, top);
  [0, 0.5, 1].forEach((share) => {
    kit.line([[left, y(share)], [right, y(share)]], { stroke: "var(--line)", "stroke-width": 1 });
    kit.text(left - 6, y(share) + 4, share, { "text-anchor": "end", class: "quiet" });
  });
  const ends = [["seen", "the judge", "var(--c1)", "6 4"], ["truth", "truth", "var(--c0)", "none"]].map(([name, words, colour, dashes]) => {
    kit.line(seen.map((look) => [x(look.step), y(look[name])]), { stroke: colour, "stroke-width": 2.2, "stroke-dasharray": dashes });
    kit.add("circle", { cx: x(at.step), cy: y(at[name]), r: 5, fill: colour });
    return [words, colour, y(seen[seen.length - 1][name]) + 4];
  });
  if (Math.abs(ends[0][2] - ends[1][2]) < 15) ends[0][2] = ends[1][2] - 15;
  ends.forEach(([words, colour, height]) =>
    kit.text(x(seen[seen.length - 1].step) + 8, height, words, { style: `fill: ${colour}`, class: "strong" }));
  kit.line([[x(at.step), top], [x(at.step), floor]], { stroke: "var(--ink)", "stroke-width": 1, "stroke-dasharray": "4 3" });
  kit.text((left + right) / 2, floor + 20, "step", { "text-anchor": "middle", class: "quiet" });
  at.wrote.forEach(([text, ok], i) => {
    const [asked, said] = text.split(" = ");
    const height = floor + 44 + 40 * i;
    kit.text(left, height, `${asked} =`, { class: "quiet" });
    kit.text(left, height + 17, `${ok ? "✓" : "✗"} ${said}`, { style: `fill: ${ok ? "var(--c2)" : "var(--c1)"}` });
  });
  kit.height = floor + 44 + 40 * at.wrote.length;
  const held = step > seen[seen.length - 1].step ? ` This training ended at step ${at.step}.` : "";
  return `After step ${at.step} the judge sees ${at.seen.toFixed(2)}, true is ${at.truth.toFixed(2)}; entropy ${at.entropy.toFixed(2)} nats a word, ${at.kl.toFixed(1)} nats an answer from the start.${held}`;
}
