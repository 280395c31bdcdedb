// Where a position has its content from: weights, rollout, and leaving out, as three rows of bars over the same tokens.
// A click on a token asks about it.
function draw(kit, { example, layer, token }, data) {
  const tokens = data.tokens[example];
  const n = tokens.length;
  kit.tell("example", `${example + 1} of ${data.tokens.length}`);
  kit.tell("layer", layer);
  kit.tell("token", tokens[token]);
  const shares = data.shares.map((text) =>
    tokens.map((_, j) => kit.thousandth(text, (((layer - 1) * data.tokens.length + example) * n + token) * n + j) / 1000),
  );

  const [left, tall, gap] = [4, 62, 30];
  const cell = (kit.width - 2 * left) / n;
  tokens.forEach((word, j) => {
    const x = left + cell * j;
    const frame = kit.rect(x + 1, 4, cell - 2, 28, { rx: 4, fill: j === token ? "var(--wash)" : "transparent", stroke: j === token ? "var(--ink)" : "var(--line)", "stroke-width": j === token ? 2.4 : 1, style: "cursor: pointer" });
    frame.addEventListener("click", () => kit.choose("token", j));
    kit.text(x + cell / 2, 23, word, { "text-anchor": "middle", class: j === token ? "strong" : "", style: "pointer-events: none" });
  });
  const most = Math.max(...shares.flat(), 0.001);
  shares.forEach((row, k) => {
    const floor = 44 + gap + tall + k * (tall + gap);
    kit.text(left, floor - tall - 8, data.measures[k], { class: "quiet" });
    kit.line([[left, floor], [left + cell * n, floor]], { stroke: "var(--line)" });
    row.forEach((share, j) => kit.rect(left + cell * j + cell * 0.18, floor - (tall * share) / most, cell * 0.64, (tall * share) / most, { fill: `var(--c${[0, 2, 1][k]})`, opacity: j === token ? 0.35 : 1 }));
  });
  kit.height = 44 + 3 * (tall + gap) + 8;

  // of the others, whose share of itself says little
  const others = tokens.map((_, j) => j).filter((j) => j !== token);
  const leaders = shares.map((row) => [...others].sort((i, j) => row[j] - row[i]).slice(0, 2));
  const named = [0, 1].map((k) => leaders[k].filter((j) => leaders[2].includes(j)).length);
  const [one, two] = leaders[2].map((j) => tokens[j]);
  return `Replacing ${one} or ${two} moves position “${tokens[token]}” most. Of these two, the weights name ${named[0]} first, rollout ${named[1]}.`;
}
