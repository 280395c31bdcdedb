// A text cut into byte pairs as they were learned, merge by merge. The merges come from Python; cutting runs here, so that the
// reader may write whatever they like.
function draw(kit, { merges }, data) {
  const drawing = kit.add("g").ownerSVGElement;
  const root = drawing.parentElement;
  let line = root.querySelector("input[type=text]");
  if (!line) {
    const label = document.createElement("label");
    label.style.gridColumn = "1 / -1";
    label.style.gridTemplateColumns = "8.5em 1fr";
    label.appendChild(Object.assign(document.createElement("span"), { textContent: "text" }));
    line = Object.assign(document.createElement("input"), { type: "text", value: data.text, spellcheck: false, autocomplete: "off", maxLength: 200 });
    line.name = "text";
    line.dataset.lmSuppressShortcuts = "yes"; // in JupyterLab letters are for the line, not for commands
    line.style.cssText = "font:inherit;color:inherit;background:transparent;border:1px solid var(--line);border-radius:4px;padding:.15rem .4rem;min-width:0;width:100%;box-sizing:border-box";
    label.appendChild(line);
    const panel = root.querySelector(".controls");
    panel.insertBefore(label, panel.firstChild);
    const slider = root.querySelector("input[type=range]");
    line.addEventListener("input", () => slider.dispatchEvent(new Event("input")));
  }
  const text = line.value;
  const encoder = new TextEncoder();
  const pieces = []; // of each token: its bytes
  const spelled = Array.from({ length: 256 }, (_, byte) => [byte]);
  for (const [a, b] of data.merges) spelled.push([...spelled[a], ...spelled[b]]);
  const rank = new Map(data.merges.slice(0, merges).map(([a, b], i) => [`${a},${b}`, i]));
  for (const word of text.match(/ ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+/gu) || []) {
    let ids = Array.from(encoder.encode(word));
    for (;;) {
      let best = Infinity; // the lowest rank that is there
      for (let i = 0; i + 1 < ids.length; i += 1) best = Math.min(best, rank.get(`${ids[i]},${ids[i + 1]}`) ?? Infinity);
      if (best === Infinity) break;
      const [a, b] = data.merges[best];
      const glued = [];
      for (let i = 0; i < ids.length; i += 1) {
        const pair = ids[i] === a && ids[i + 1] === b;
        glued.push(pair ? 256 + best : ids[i]);
        if (pair) i += 1;
      }
      ids = glued;
    }
    pieces.push(...ids.map((id) => spelled[id]));
  }

  const read = (bytes) => {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes)).replace(/ /g, "␣").replace(/\s/g, "↵");
    } catch {
      return bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" "); // no whole character
    }
  };
  const colours = ["var(--c0)", "var(--c2)", "var(--c3)", "var(--c4)"];
  let [x, y] = [2, 8];
  pieces.forEach((bytes, i) => {
    const words = read(bytes);
    const chip = kit.add("g");
    const ground = kit.add("rect", { rx: 4, fill: colours[i % 4], opacity: 0.22 }, undefined, chip);
    const shown = kit.add("text", { y: 0 }, words, chip);
    const wide = shown.getComputedTextLength() + 12;
    if (x + wide > kit.width - 2 && x > 2) [x, y] = [2, y + 32];
    for (const [key, value] of [["x", x], ["y", y], ["width", wide], ["height", 26]]) ground.setAttribute(key, value);
    shown.setAttribute("x", x + 6);
    shown.setAttribute("y", y + 18);
    x += wide + 4;
  });
  kit.height = y + 40;

  const size = encoder.encode(text).length;
  if (!pieces.length) return "Write something above.";
  const each = (size / pieces.length).toFixed(2);
  const last = merges ? ` The last merge made “${read(spelled[255 + merges])}”.` : "";
  return `${[...text].length} characters are ${size} bytes and ${pieces.length} tokens: ${each} bytes a token.${last}`;
}
