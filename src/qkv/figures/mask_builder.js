// A table of weights under the masks that the reader has chosen. The numbers were computed by the reader's functions.
function draw(kit, { causal, hide, pads, side, window }, data) {
  const names = data.names[data.pads.indexOf(pads)][side === "left" ? 1 : 0];
  const states = data.weights[data.pads.indexOf(pads)][side === "left" ? 1 : 0];
  const weights = states[causal === "yes" ? 1 : 0][hide === "yes" ? 1 : 0][window - 1]; // n·n thousandths, -1: hidden
  const n = names.length;
  kit.tell("window", window === n ? "all" : `${window - 1} away`);

  const left = 66;
  const cell = Math.min(52, (kit.width - left - 4) / n);
  const height = Math.min(40, cell);
  const top = 74;
  const sums = left + cell * n + 12; // room for a note on each row, if there is any
  const roomy = kit.width - sums > 96;
  kit.height = top + height * n + 6;

  kit.text(left, 14, "keys: what is looked at", { class: "quiet" });
  names.forEach((name, j) => {
    const x = left + cell * (j + 0.5);
    const label = name === data.pad ? "pad" : name;
    const classes = name === data.pad ? "quiet" : "";
    kit.add("text", { transform: `translate(${(x + 4).toFixed(1)} ${top - 8}) rotate(-40)`, class: classes }, label);
    kit.text(left - 8, top + height * (j + 0.5) + 4, label, { "text-anchor": "end", class: classes });
  });

  const closed = [];
  let taken = 0;
  names.forEach((name, i) => {
    const row = weights.slice(i * n, (i + 1) * n);
    const allowed = row.filter((weight) => weight >= 0).length;
    if (!allowed) closed.push(i);
    const onPads = row.reduce((sum, weight, j) => sum + (names[j] === data.pad ? Math.max(0, weight) : 0), 0);
    if (name !== data.pad) taken += onPads / 1000;
    row.forEach((weight, j) => {
      const [x, y] = [left + cell * j, top + height * i];
      kit.rect(x, y, cell - 2, height - 2, { fill: "none", stroke: "var(--line)", rx: 2 });
      if (weight < 0) {
        const [cx, cy, r] = [x + cell / 2 - 1, y + height / 2 - 1, 4];
        kit.line([[cx - r, cy - r], [cx + r, cy + r]], { stroke: "var(--c5)", "stroke-width": 1.2 });
        kit.line([[cx - r, cy + r], [cx + r, cy - r]], { stroke: "var(--c5)", "stroke-width": 1.2 });
        return;
      }
      const colour = names[j] === data.pad ? "var(--c1)" : "var(--c0)";
      kit.rect(x, y, cell - 2, height - 2, { fill: colour, opacity: (0.06 + 0.5 * (weight / 1000)).toFixed(3), rx: 2 });
      const number = weight >= 995 ? "1" : (weight / 1000).toFixed(2).slice(1);
      kit.text(x + cell / 2 - 1, y + height / 2 + 4, number, { "text-anchor": "middle" });
    });
    if (roomy) {
      const words = allowed ? `sees ${allowed} of ${n}` : "sees nothing";
      kit.text(sums, top + height * (i + 0.5) + 4, words, { class: allowed ? "quiet" : "strong" });
    }
  });

  const seen = weights.filter((weight) => weight >= 0).length;
  const notes = [`${seen} of ${n * n} pairs are allowed.`];
  if (closed.length) {
    const rows = closed.length === 1 ? "One row allows" : `${closed.length} rows allow`;
    notes.push(`${rows} nothing: the weights there are all 0.`);
  }
  if (pads && hide === "no") {
    notes.push(`A real word gives ${Math.round((100 * taken) / (n - pads))} % of its attention to padding, whose vector is 0.`);
  }
  return notes.join(" ");
}
