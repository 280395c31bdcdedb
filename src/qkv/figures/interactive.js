// What every figure that moves shares: reading its controls, drawing again, and a few shapes. See interactive.py.
function live(called, draw, data) {
  const told = (value) => (typeof value === "number" ? value.toLocaleString("en-US") : value);

  const start = (root) => {
    root.dataset.live = "yes";
    const svg = root.querySelector("svg.drawing");
    const said = root.querySelector(".said");
    const inputs = [...root.querySelectorAll("input, select")];
    for (const part of root.querySelectorAll(".controls, .drawing, .said")) part.removeAttribute("hidden");
    root.querySelector(".still").setAttribute("hidden", "");

    const tell = (name, value) => {
      const input = inputs.find((one) => one.name === name);
      input.setAttribute("aria-valuetext", told(value));
      input.nextElementSibling.value = told(value);
    };
    const redraw = () => {
      const values = {};
      for (const input of inputs) {
        const value = JSON.parse(input.dataset.values)[Number(input.value)];
        values[input.name] = value;
        if (input.type === "range") tell(input.name, value);
      }
      svg.replaceChildren();
      said.textContent = draw(kit(svg, tell), values, data) || "";
    };
    for (const input of inputs) input.addEventListener("input", redraw);
    let width = 0; // the drawing's height follows its width: look at the width alone, or it would draw for ever
    new ResizeObserver(([entry]) => {
      if (Math.round(entry.contentRect.width) === width) return;
      width = Math.round(entry.contentRect.width);
      redraw();
    }).observe(root);
    redraw();
  };

  // A notebook may show the same output twice, and may run this script before or after its elements are in the page.
  const begin = () => document.querySelectorAll(`[data-figure="${called}"]:not([data-live])`).forEach(start);
  begin();
  requestAnimationFrame(begin);
}

// Drawing: `kit.width` is in CSS pixels; `kit.height = …` makes room; `kit.tell(name, value)` writes beside a slider what
// its value stands for. Attributes may be classes of interactive.css.
function kit(svg, tell) {
  const width = Math.max(280, Math.round(svg.parentElement.clientWidth));
  const add = (name, attributes, text, into = svg) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    into.appendChild(element);
    return element;
  };
  return {
    width,
    set height(height) {
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.setAttribute("height", height);
    },
    add,
    tell,
    scale: (from, to, left, right) => (value) => left + ((value - from) / (to - from)) * (right - left),
    line: (points, attributes) =>
      add("path", { d: points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""), fill: "none", ...attributes }),
    text: (x, y, words, attributes) => add("text", { x: x.toFixed(1), y: y.toFixed(1), ...attributes }, words),
    rect: (x, y, w, h, attributes) =>
      add("rect", { x: x.toFixed(1), y: y.toFixed(1), width: Math.max(0, w).toFixed(1), height: Math.max(0, h).toFixed(1), ...attributes }),
  };
}
