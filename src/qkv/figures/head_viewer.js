// The heads of trained models: all of them small, one of them large, in a room that the reader chooses.
function draw(kit, { model, head, room }, data) {
  const { heads, weights } = data.models[model];
  const n = data.seats[0].length;
  const shown = Math.min(heads - 1, head);
  kit.tell("head", heads === 1 ? "the only" : `${shown} of ${heads}`);
  kit.tell("room", room + 1);
  const weight = (h, i, j) => kit.thousandth(weights, ((room * heads + h) * n + i) * n + j) / 1000;
  const seats = data.seats[room];

  const map = (h, x0, y0, cell, marked) => {
    for (let i = 0; i < n; i += 1) {
      for (let j = 0; j < n; j += 1) {
        const [x, y] = [x0 + cell * j, y0 + cell * i];
        const gap = marked ? 2 : 0.5;
        if (marked) kit.rect(x, y, cell - gap, cell - gap, { fill: "none", stroke: "var(--line)", rx: 2 });
        kit.rect(x, y, cell - gap, cell - gap, { fill: "var(--c0)", opacity: (0.04 + 0.9 * weight(h, i, j)).toFixed(3), rx: marked ? 2 : 0 });
      }
    }
    if (!marked) return;
    seats.forEach(([friend, rival], i) => {
      const [y, r] = [y0 + cell * (i + 0.5) - 1, cell * 0.33];
      kit.add("circle", { cx: (x0 + cell * (friend + 0.5) - 1).toFixed(1), cy: y.toFixed(1), r: r.toFixed(1), fill: "none", stroke: "var(--c1)", "stroke-width": 2.4 });
      kit.rect(x0 + cell * (rival + 0.5) - 1 - r, y - r, 2 * r, 2 * r, { fill: "none", stroke: "var(--c2)", "stroke-width": 2.4 });
      kit.text(x0 - 8, y + 4, String(i), { "text-anchor": "end", class: "quiet" });
      kit.text(x0 + cell * (i + 0.5), y0 - 7, String(i), { "text-anchor": "middle", class: "quiet" });
    });
  };

  const beside = kit.width >= 560;
  const [x0, y0] = [24, 62];
  const side = Math.min(beside ? 340 : 330, kit.width - x0);
  kit.text(x0, 14, "row: the guest who looks; column: the seat looked at", { class: "quiet" });
  kit.add("circle", { cx: x0 + 6, cy: 31, r: 5, fill: "none", stroke: "var(--c1)", "stroke-width": 2.2 });
  kit.text(x0 + 18, 35, "friend");
  kit.rect(x0 + 70, 26, 10, 10, { fill: "none", stroke: "var(--c2)", "stroke-width": 2.2 });
  kit.text(x0 + 87, 35, "rival");
  map(shown, x0, y0, side / n, true);

  const [left, top] = beside ? [x0 + side + 36, 26] : [x0, y0 + side + 36];
  const across = beside ? 2 : 4;
  const thumb = Math.min(76, (kit.width - left) / across - 12);
  kit.text(left, top - 12, heads === 1 ? "its only head" : `its ${heads} heads`, { class: "quiet" });
  for (let h = 0; h < heads; h += 1) {
    const [x, y] = [left + (h % across) * (thumb + 12), top + Math.floor(h / across) * (thumb + 22)];
    map(h, x, y, thumb / n, false);
    const frame = kit.rect(x - 3, y - 3, thumb + 6, thumb + 6, {
      fill: "transparent", stroke: h === shown ? "var(--ink)" : "var(--line)", "stroke-width": h === shown ? 2.5 : 1, rx: 4, style: "cursor: pointer",
    });
    frame.addEventListener("click", () => kit.choose("head", h));
    kit.text(x, y + thumb + 15, `head ${h}`, { class: h === shown ? "strong" : "quiet" });
  }
  const rows = Math.ceil(heads / across);
  kit.height = Math.max(y0 + side, top + rows * (thumb + 22)) + 6;

  const on = (which) => seats.reduce((sum, seat, i) => sum + weight(shown, i, seat[which]), 0) / n;
  const [friend, rival] = [on(0), on(1)];
  const camp = friend > 2 * rival ? "It looks for friends." : rival > 2 * friend ? "It looks for rivals." : "It looks at both.";
  return `In this room the head gives ${friend.toFixed(2)} of its weight to friends and ${rival.toFixed(2)} to rivals. ${camp}`;
}
