// Six scores of a given width on their way through a softmax: the weights, and what the softmax would pass back.
// Weights, slopes and the number of keys heard were computed by the reader's functions.
function draw(kit, { d, divisor, temperature }, data) {
  const state = data.states[data.widths.indexOf(d)][data.divisors.indexOf(divisor)][data.temperatures.indexOf(temperature)];
  const n = data.scores.length;
  const by = { nothing: 1, "√d": Math.sqrt(d), d: d }[divisor] * temperature;
  const scores = data.scores.map((score) => (Math.sqrt(d) * score) / by);
  const number = (value) => value.toFixed(Math.abs(value) < 10 ? 2 : 1).replace("-", "−");

  const beside = kit.width >= 560; // the slopes beside the weights, or below them on a phone
  const wide = beside ? kit.width * 0.5 : kit.width;
  const [left, row, top] = [112, 31, 44];
  const room = wide - left - 44;
  kit.text(0, 14, "weights", { class: "strong" });
  kit.text(left - 14, top - 10, "score", { class: "quiet", "text-anchor": "end" });
  kit.text(left, top - 10, "weight", { class: "quiet" });
  state.weights.forEach((thousandths, j) => {
    const [y, share] = [top + row * j, thousandths / 1000];
    kit.text(0, y + 20, `key ${j + 1}`);
    kit.text(left - 14, y + 20, number(scores[j]), { "text-anchor": "end", class: "quiet" });
    kit.rect(left, y + 6, room, 19, { fill: "var(--wash)", rx: 2 });
    kit.rect(left, y + 6, room * share, 19, { fill: "var(--c0)", rx: 2 });
    kit.text(left + room * share + 6, y + 20, share.toFixed(2));
  });

  const below = top + row * n;
  const [x0, y0] = beside ? [wide + 44, top] : [44, below + 62];
  const cell = Math.min(beside ? row : 44, (kit.width - x0 - 2) / n);
  kit.text(beside ? wide + 12 : 0, y0 - 30, "what moves weight (row) by score (column)", { class: "strong" });
  for (let i = 0; i < n; i += 1) {
    kit.text(x0 - 8, y0 + cell * (i + 0.5) + 4, String(i + 1), { class: "quiet", "text-anchor": "end" });
    kit.text(x0 + cell * (i + 0.5), y0 - 8, String(i + 1), { class: "quiet", "text-anchor": "middle" });
    for (let j = 0; j < n; j += 1) {
      const slope = state.slopes[i][j] / 1000;
      const [x, y] = [x0 + cell * j, y0 + cell * i];
      kit.rect(x, y, cell - 2, cell - 2, { fill: "none", stroke: "var(--line)", rx: 2 });
      const colour = slope > 0 ? "var(--c0)" : "var(--c1)";
      kit.rect(x, y, cell - 2, cell - 2, { fill: colour, opacity: Math.min(0.6, 2.4 * Math.abs(slope)).toFixed(3), rx: 2 });
      const words = Math.abs(slope) < 0.005 ? "0" : slope.toFixed(2).replace("0.", ".").replace("-", "−");
      if (cell >= 30) kit.text(x + cell / 2 - 1, y + cell / 2 + 3, words, { "text-anchor": "middle" });
    }
  }
  kit.height = (beside ? below : y0 + cell * n) + 8;

  const most = Math.max(...state.slopes.flat()) / 1000;
  const verdict = most < 0.005 ? "The softmax has made up its mind: nothing comes back." : `The largest slope is ${most.toFixed(2)}.`;
  return `The scores are divided by ${number(by)} in all. The row listens to ${state.heard.toFixed(1)} of ${n} keys. ${verdict}`;
}
