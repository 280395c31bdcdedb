// Where the bytes of a model go: its weights and the cache of keys and values while it writes; its weights, gradients,
// optimiser and stored maps while it is trained.
function draw(kit, { layers, heads, groups, width, length, batch, number }, data) {
  const size = data.bytes[number];
  const shared = Math.min(groups, heads); // no more groups than heads
  kit.tell("groups", shared);
  // queries and output d² each, keys and values d²·groups/heads each, the feed-forward network 8d²
  const parameters = layers * (10 + (2 * shared) / heads) * width * width;
  const ours = {
    weights: parameters * size,
    cache: 2 * layers * batch * length * width * (shared / heads) * size,
    // a float32 weight, its gradient and Adam's two moments; or 16 bits for the first two, and a float32 copy
    state: parameters * 16,
    maps: layers * batch * heads * length * length * Math.max(size, 2), // nobody trains in fewer bits here
  };
  const named = (bytes) => {
    const [unit, name] = [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]].find(([one]) => bytes >= one);
    const value = bytes / unit;
    return `${value < 9.95 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US")} ${name}`;
  };
  const bars = [
    ["to write", [["weights", "weights", "var(--c0)"], ["cache", "cache", "var(--c2)"]]],
    ["to train", [["state", "weights, gradients, Adam", "var(--c0)"], ["maps", "maps", "var(--c1)"]]],
  ];
  const most = Math.max(8e9, ours.weights + ours.cache, ours.state + ours.maps);

  const [left, right, top, row] = [4, kit.width - 12, 40, 78];
  const floor = top + row * bars.length;
  const x = kit.scale(0, 1.04 * most, left, right);
  kit.height = floor + 10;
  bars.forEach(([title, parts], i) => {
    const y = top + row * i;
    const words = parts.map(([part, name]) => `${name} ${named(ours[part])}`).join(", ");
    kit.text(left, y + 14, `${title}: ${words}`, { class: "strong" });
    let from = 0;
    for (const [part, , colour] of parts) {
      kit.rect(x(from), y + 24, x(from + ours[part]) - x(from), 26, { fill: colour, opacity: 0.75 });
      from += ours[part];
    }
  });
  let beside = -Infinity; // where the last mark was: marks that would touch lose their number
  for (const gigabytes of [8, 24, 80]) {
    const at = x(gigabytes * 1e9);
    if (at > right) continue;
    bars.forEach((_, i) => {
      const y = top + row * i + 18;
      kit.line([[at, y], [at, y + 38]], { stroke: "var(--ink)", "stroke-dasharray": "3 3", opacity: 0.7 });
    });
    if (at - beside > 46) {
      const anchor = at < left + 24 ? "start" : at > right - 24 ? "end" : "middle";
      kit.text(at, top - 12, `${gigabytes} GB`, { class: "quiet", "text-anchor": anchor });
      beside = at;
    }
  }

  const fits = (bytes) => {
    const card = [8, 24, 80].find((gigabytes) => bytes <= gigabytes * 1e9);
    return card ? `fits on a card of ${card} GB` : "fits on no card of 80 GB";
  };
  const writes = fits(ours.weights + ours.cache);
  const stored = fits(ours.state + ours.maps);
  const fused = fits(ours.state);
  const omitted = "Left out: embeddings, biases, whatever else grows with length times width, and working memory.";
  return `To write, it ${writes}. To train with every map stored, it ${stored}; with none stored, it ${fused}. ${omitted}`;
}
