// A sentence that looks itself up. Four numbers say who looks for what; the weights were computed by the reader's lookup.
function draw(kit, { asker, ...matrix }, data) {
  const n = data.words.length;
  const [low, choices] = [data.entries[0], data.entries.length];
  const [a, b, c, d] = data.names.map((name) => matrix[name]);
  const state = [a, b, c, d].reduce((index, entry) => index * choices + (entry - low), 0);
  const weight = (i, j) => kit.thousandth(data.weights, (state * n + i) * n + j) / 1000;
  const i = data.words.indexOf(asker);
  const [thing, deed] = data.x[i];
  const query = [a * thing + b * deed, c * thing + d * deed];

  const step = kit.width / n;
  const x = (j) => step * (j + 0.5);
  const [top, bottom, tall] = [26, 168, 28];
  kit.text(0, 14, "who looks: choose a word", { class: "quiet" });
  const links = data.words.flatMap((_, from) => data.words.map((_, to) => [from, to]));
  links.sort(([from], [other]) => (from === i) - (other === i)); // the asker's lines lie on top
  for (const [from, to] of links) {
    const share = weight(from, to);
    const [y0, y1] = [top + tall, bottom];
    const bend = (y1 - y0) / 2;
    kit.add("path", {
      d: `M${x(from).toFixed(1)} ${y0}C${x(from).toFixed(1)} ${y0 + bend} ${x(to).toFixed(1)} ${y1 - bend} ${x(to).toFixed(1)} ${y1}`,
      fill: "none",
      stroke: from === i ? "var(--c0)" : "var(--c5)",
      "stroke-width": (13 * share).toFixed(2),
      opacity: from === i ? 0.75 : 0.16,
    });
  }
  data.words.forEach((word, j) => {
    const box = { width: step - 6, rx: 6, fill: "var(--wash)" };
    const chosen = { stroke: j === i ? "var(--c0)" : "var(--line)", "stroke-width": j === i ? 2.5 : 1 };
    const head = kit.rect(x(j) - box.width / 2, top, box.width, tall, { rx: box.rx, fill: box.fill, ...chosen, style: "cursor: pointer" });
    const name = kit.text(x(j), top + 19, word, { "text-anchor": "middle", class: j === i ? "strong" : "", style: "cursor: pointer" });
    for (const part of [head, name]) part.addEventListener("click", () => kit.choose("asker", word));
    kit.rect(x(j) - box.width / 2, bottom, box.width, tall, { rx: box.rx, fill: box.fill, stroke: "var(--line)" });
    kit.text(x(j), bottom + 19, word, { "text-anchor": "middle" });
    kit.text(x(j), bottom + 46, weight(i, j).toFixed(2), { "text-anchor": "middle", class: weight(i, j) >= 0.3 ? "strong" : "quiet" });
  });
  kit.text(0, bottom + 68, `what is looked at, with the weight that ${asker} gives it`, { class: "quiet" });

  const found = [0, 1].map((column) => data.words.reduce((sum, _, j) => sum + weight(i, j) * data.x[j][column], 0));
  const start = bottom + 92;
  const room = kit.width - 130;
  ["thing", "deed"].forEach((column, k) => {
    const y = start + 24 * k;
    kit.text(76, y + 13, `gets ${column}`, { "text-anchor": "end" });
    kit.rect(84, y + 1, (room * found[k]) / data.most, 15, { fill: "var(--c2)", rx: 2 });
    kit.text(90 + (room * found[k]) / data.most, y + 13, found[k].toFixed(2), { class: "quiet" });
  });
  kit.height = start + 54;

  const shares = data.words.map((_, j) => weight(i, j));
  const best = Math.max(...shares);
  const heard = data.words.filter((_, j) => shares[j] === best);
  const asks = `“${asker}” is (${thing}, ${deed}) and asks (${query.join(", ")}).`;
  if (heard.length === n) return `${asks} That is no question: it hears every word alike.`;
  return `${asks} Heard most: ${heard.join(", ")}, with a weight of ${best.toFixed(2)}${heard.length > 1 ? " each" : ""}.`;
}
