// Six answers to one errand under DPO. `kernel` has the products of the gradients of their log-probabilities: a step for chosen
// against rejected changes log p(a) by kernel[a][chosen] - kernel[a][rejected]. What the six gain, all others lose.
function draw(kit, { chosen, rejected, beta, step }, { answers, p, kernel }) {
  const [c, r] = [answers.indexOf(chosen), answers.indexOf(rejected)];
  const push = answers.map((_, a) => kernel[a][c] - kernel[a][r]);
  const rest = 1 - p.reduce((sum, one) => sum + one, 0);
  const drain = -p.reduce((sum, one, a) => sum + one * push[a], 0) / rest;
  const stride = 0.1 / Math.max(...push.map(Math.abs), 1e-9); // the quickest answer moves by a tenth of a nat at first
  let moved = 0; // along the direction of this pair
  for (let i = 0; i < step; i += 1) moved += (2 * stride) / (1 + Math.exp(beta * moved * (push[c] - push[r])));
  const powers = [...push, drain].map((one, a) => (a < p.length ? p[a] : rest) * Math.exp(moved * one));
  const total = powers.reduce((sum, one) => sum + one, 0);
  const now = powers.map((one) => one / total);

  const [label, row, left] = [Math.min(190, kit.width * 0.46), 26, 0];
  const bar = kit.scale(0, Math.max(0.3, rest, ...p, ...now), label, kit.width - 66);
  [...answers, "any other answer"].forEach((words, a) => {
    const y = 6 + a * row;
    const before = a < p.length ? p[a] : rest;
    const colour = a === c ? "var(--c0)" : a === r ? "var(--c1)" : "var(--c5)";
    kit.text(left, y + 16, words, { class: a === c || a === r ? "strong" : "", style: `fill: ${a === c || a === r ? colour : "var(--ink)"}` });
    kit.rect(label, y + 4, bar(now[a]) - label, row - 9, { fill: colour, opacity: 0.8 });
    kit.rect(label, y + 4, bar(before) - label, row - 9, { fill: "none", stroke: "var(--ink)", "stroke-width": 1 });
    const change = Math.log(now[a] / before);
    kit.text(kit.width, y + 16, `${now[a].toFixed(3)} ${step ? (change < 0 ? "↓" : "↑") : ""}`, { "text-anchor": "end" });
    if (a < answers.length) {
      const field = kit.rect(0, y, kit.width, row, { fill: "transparent", style: "cursor: pointer" });
      kit.add("title", {}, "click: prefer this one", field);
      field.addEventListener("click", () => kit.choose("chosen", words));
    }
  });
  kit.height = 6 + row * (answers.length + 1) + 4;
  if (c === r) return "An answer cannot be preferred to itself: choose two.";
  const change = now.map((one, a) => Math.log(one / (a < p.length ? p[a] : rest)));
  const gap = change[c] - change[r];
  const most = now.map((one, a) => one - (a < p.length ? p[a] : rest));
  const winner = most.indexOf(Math.max(...most));
  if (!step) return "Outlines: before any step. The sign ✓ stands at right answers. Move the steps.";
  const both = change[c] < 0 && change[r] < 0 ? "Both became less likely." : change[c] < 0 ? "The preferred one became less likely." : "The preferred one became likelier.";
  const taken = winner === c ? "" : ` Most was won by “${winner < answers.length ? answers[winner] : "any other answer"}”.`;
  return `The gap grew by ${gap.toFixed(2)} nats: preferred ${change[c].toFixed(2)}, rejected ${change[r].toFixed(2)}. ${both}${taken}`;
}
