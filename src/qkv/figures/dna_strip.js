// Two strands of DNA and a motif: its scores on the upper strand above, on the lower strand below. Point at the drawing, or
// use the slider, to move the cursor.
function draw(kit, { motif, at }, data) {
  const bases = "ACGT";
  const strip = data.strip;
  const worth = data.worth[motif];
  const size = worth.length;
  const [left, right] = [4, kit.width - 4];
  const wide = (right - left) / strip.length;
  const [tall, letters] = [92, 58];
  kit.height = 2 * tall + letters + 8;

  const starts = Array.from({ length: strip.length - size + 1 }, (_, t) => t);
  const forward = starts.map((t) => worth.reduce((sum, row, i) => sum + row[strip[t + i]], 0));
  const backward = starts.map((t) => worth.reduce((sum, row, i) => sum + row[3 - strip[t + size - 1 - i]], 0));
  const lowest = Math.min(...forward, ...backward);
  const length = kit.scale(lowest, Math.max(...forward, ...backward), 2, tall - 26);

  const ground = kit.rect(left, 0, right - left, 2 * tall + letters, { fill: "transparent" });
  kit.rect(left + wide * at, tall - 2, wide * size, letters + 4, { fill: "var(--wash)", stroke: "var(--c1)", "stroke-width": 1.6, rx: 3 });
  starts.forEach((t) => {
    const place = left + wide * (t + size / 2 - 0.36);
    const opacity = t === at ? 1 : 0.55;
    const [up, down] = [length(forward[t]), length(backward[t])];
    kit.rect(place, tall - 6 - up, 0.72 * wide, up, { fill: "var(--c0)", opacity });
    kit.rect(place, tall + letters + 6, 0.72 * wide, down, { fill: "var(--c2)", opacity });
  });
  kit.text(left, 12, "upper strand, read from left to right", { class: "quiet" });
  kit.text(left, 2 * tall + letters + 4, "lower strand, read from right to left", { class: "quiet" });
  strip.forEach((base, place) => {
    const inside = place >= at && place < at + size;
    [[base, 22], [3 - base, 44]].forEach(([letter, down]) =>
      kit.text(left + wide * (place + 0.5), tall + down, bases[letter], {
        class: inside ? "strong" : "quiet",
        "text-anchor": "middle",
        style: `font-size: ${Math.min(14, 1.15 * wide).toFixed(1)}px`,
      }));
  });

  const svg = ground.ownerSVGElement;
  svg.style.touchAction = "pan-y"; // a finger moves the cursor sideways, and the page up and down
  svg.onpointermove = (event) => {
    const place = (event.clientX - svg.getBoundingClientRect().left - left) / wide - size / 2;
    const nearest = Math.max(0, Math.min(starts.length - 1, Math.round(place)));
    const input = svg.parentElement.querySelector("input[name=at]");
    if (Number(input.value) === nearest) return;
    input.value = nearest;
    input.dispatchEvent(new Event("input"));
  };

  kit.tell("at", at + 1);
  const here = strip.slice(at, at + size);
  const read = (ids) => ids.map((id) => bases[id]).join("");
  const other = [...here].reverse().map((base) => 3 - base);
  const same = forward.every((score, t) => Math.abs(score - backward[t]) < 1e-6);
  const end = same ? " This motif is its own reverse complement, so both strands score alike everywhere." : "";
  return `Bases ${at + 1} to ${at + size}: the upper strand reads ${read(here)} and scores ${forward[at].toFixed(1)}, the lower one reads ${read(other)} and scores ${backward[at].toFixed(1)}.${end}`;
}
