// RASP's two verbs on a short text: which keys each query selects, and the average of what they hold.
// A program sets all other controls; touching one of them makes the program the reader's own.
function draw(kit, values, data) {
  const names = ["text", "queries", "keys", "predicate", "values"];
  const probe = kit.text(0, 0, "");
  const root = probe.ownerSVGElement.parentElement;
  probe.remove();
  const set = (name, value) => {
    const select = root.querySelector(`select[name=${name}]`);
    select.value = JSON.parse(select.dataset.values).indexOf(value);
  };
  const chosen = { ...values };
  const preset = data.programs[chosen.program];
  if (preset && root.dataset.program !== chosen.program) {
    names.forEach((name, i) => {
      chosen[name] = preset[i];
      set(name, preset[i]);
    });
  } else if (preset && names.some((name, i) => chosen[name] !== preset[i])) {
    chosen.program = data.own;
    set("program", data.own);
  }
  root.dataset.program = chosen.program;

  const tokens = chosen.text.split(" ");
  const n = tokens.length;
  const row = (name) =>
    ({ tokens, positions: tokens.map((_, i) => i), "positions from the end": tokens.map((_, i) => n - 1 - i) })[name];
  const held = {
    tokens,
    positions: tokens.map((_, i) => i),
    "1 at the first, else 0": tokens.map((_, i) => (i === 0 ? 1 : 0)),
    "+1 for (, −1 for )": tokens.map((token) => (token === "(" ? 1 : token === ")" ? -1 : 0)),
  }[chosen.values];
  const [queries, keys] = [row(chosen.queries), row(chosen.keys)];
  const mixed = typeof queries[0] !== typeof keys[0]; // a letter is neither equal to a number nor below it
  const asks = {
    "key = query": (q, k) => k === q,
    "key ≤ query": (q, k) => !mixed && k <= q,
    "key = query, or first": (q, k, j) => k === q || j === 0,
    "every key": () => true,
  }[chosen.predicate];
  const pattern = queries.map((q) => keys.map((k, j) => asks(q, k, j)));
  const words = typeof held[0] === "string";
  const averages = pattern.map((selected) => {
    const found = held.filter((_, j) => selected[j]);
    if (!found.length) return null;
    if (words) return found.every((token) => token === found[0]) ? found[0] : "mix";
    return found.reduce((sum, number) => sum + number, 0) / found.length;
  });
  const shown = (value) => {
    if (value === null) return "none";
    return typeof value === "string" ? value : String(Math.round(value * 100) / 100).replace("-", "−");
  };

  const left = 96;
  const after = 64; // the column of averages
  const cell = Math.min(46, (kit.width - left - after - 8) / n);
  const height = Math.min(34, cell);
  const top = 66;
  kit.height = top + height * n + 34;
  kit.text(left, 14, `keys: ${chosen.keys}`, { class: "strong" });
  kit.text(0, 36, "queries", { class: "strong" });
  kit.text(left + cell * n + 10, 36, "average", { class: "strong" });
  kit.text(left - 10, top + height * n + 20, "values", { class: "quiet", "text-anchor": "end" });
  for (let j = 0; j < n; j += 1) {
    const x = left + cell * (j + 0.5) - 1;
    kit.text(x, 34, tokens[j], { class: "quiet", "text-anchor": "middle" });
    kit.text(x, 54, shown(keys[j]), { "text-anchor": "middle" });
    kit.text(x, top + height * n + 20, shown(held[j]), { class: "quiet", "text-anchor": "middle" });
  }
  pattern.forEach((selected, i) => {
    const middle = top + height * (i + 0.5) + 4;
    kit.text(22, middle, tokens[i], { class: "quiet", "text-anchor": "middle" });
    kit.text(left - 16, middle, shown(queries[i]), { "text-anchor": "end" });
    const share = 1 / selected.filter(Boolean).length;
    selected.forEach((yes, j) => {
      const [x, y] = [left + cell * j, top + height * i];
      kit.rect(x, y, cell - 2, height - 2, { fill: "none", stroke: "var(--line)", rx: 2 });
      if (yes) kit.rect(x, y, cell - 2, height - 2, { fill: "var(--c0)", opacity: (0.25 + 0.75 * share).toFixed(2), rx: 2 });
    });
    kit.text(left + cell * n + 10, middle, shown(averages[i]), { class: "strong average" });
  });

  const said = [`The averages are ${averages.map(shown).join(", ")}.`];
  if (averages.includes(null)) said.push("Some queries select nothing: the default stands there, which softmax does not have.");
  if (averages.includes("mix")) said.push("An average of different tokens is no token.");
  if (chosen.values === "1 at the first, else 0" && chosen.predicate === "key = query, or first") {
    const counts = averages.map((value, i) => (i === 0 ? null : Math.round(1 / value - 1)));
    said.push(`One over the average, less one, counts each token: ${counts.slice(1).join(", ")}.`);
  }
  if (chosen.values === "+1 for (, −1 for )" && chosen.predicate === "key ≤ query" && chosen.keys === "positions") {
    const lost = averages.findIndex((value) => value < 0);
    if (chosen.queries === "positions") {
      if (lost >= 0) said.push(`Below 0 at position ${lost}: a bracket was closed that nobody had opened.`);
      else said.push(averages[n - 1] === 0 ? "Never below 0, and 0 at the end: the brackets close." : "Above 0 at the end: something is still open.");
    }
  }
  return said.join(" ");
}
