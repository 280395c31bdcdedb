// Where the bytes of a model go: its weights, the cache of keys and values while it writes, the maps that training stores.
function draw(kit, { layers, heads, groups, width, length, batch, number }, data) {
  const size = data.bytes[number];
  const shared = Math.min(groups, heads); // no more groups than heads
  kit.tell("groups", shared);
  const ours = {
    // queries and output d² each, keys and values d²·groups/heads each, the feed-forward network 8d²
    weights: layers * (10 + (2 * shared) / heads) * width * width * size,
    cache: 2 * layers * batch * length * width * (shared / heads) * size,
    maps: layers * batch * heads * length * length * size,
  };
  const named = (bytes) => {
    const [unit, name] = [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]].find(([one]) => bytes >= one);
    const value = bytes / unit;
    return `${value < 9.95 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US")} ${name}`;
  };
  const bars = [
    ["to write", [["weights", "var(--c0)"], ["cache", "var(--c2)"]]],
    ["to train, every map stored", [["weights", "var(--c0)"], ["maps", "var(--c1)"]]],
  ];
  const most = Math.max(8e9, ours.weights + ours.cache, ours.weights + ours.maps);

  const [left, right, top, row] = [4, kit.width - 12, 40, 78];
  const floor = top + row * bars.length;
  const x = kit.scale(0, 1.04 * most, left, right);
  kit.height = floor + 10;
  bars.forEach(([title, parts], i) => {
    const y = top + row * i;
    const words = parts.map(([name]) => `${name} ${named(ours[name])}`).join(", ");
    kit.text(left, y + 14, `${title}: ${words}`, { class: "strong" });
    let from = 0;
    for (const [name, colour] of parts) {
      kit.rect(x(from), y + 24, x(from + ours[name]) - x(from), 26, { fill: colour, opacity: 0.75 });
      from += ours[name];
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
  const more = ours.maps > ours.weights ? "The maps would take more than the weights." : "The weights take more than the maps would.";
  return `To write, it ${fits(ours.weights + ours.cache)}; to train with every map stored, it ${fits(ours.weights + ours.maps)}. ${more}`;
}
