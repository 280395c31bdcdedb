// What every figure that moves shares: its controls, drawing again, and a few shapes. See interactive.py, which defines
// `controls` before it calls this.
function live(called, draw, data) {
  const told = (value) => (typeof value === "number" ? value.toLocaleString("en-US") : value);
  const make = (name, into, properties = {}) => into.appendChild(Object.assign(document.createElement(name), properties));

  const start = (root) => {
    root.dataset.live = "yes";
    const still = root.querySelector(".still");
    still.hidden = true;

    const panel = make("div", root, { className: "controls" });
    const inputs = controls.map((control) => {
      const label = make("label", panel);
      make("span", label, { textContent: control.label });
      const input = make(control.kind === "range" ? "input" : "select", label);
      if (control.kind === "range") {
        Object.assign(input, { type: "range", min: 0, max: control.values.length - 1, step: 1, value: control.start });
        make("output", label);
      } else {
        control.values.forEach((words, i) => make("option", input, { value: i, textContent: words }));
        input.value = control.start;
      }
      input.name = control.name;
      input.dataset.values = JSON.stringify(control.values);
      input.dataset.lmSuppressShortcuts = "yes"; // in JupyterLab, arrow keys are for the slider, not for the next cell
      return input;
    });
    const svg = root.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
    for (const [key, value] of [["class", "drawing"], ["role", "img"], ["aria-label", still.querySelector("img").alt]])
      svg.setAttribute(key, value);
    const said = make("p", root, { className: "said" });
    said.setAttribute("aria-live", "polite");

    const tell = (name, value) => {
      const input = inputs.find((one) => one.name === name);
      input.setAttribute("aria-valuetext", told(value));
      input.nextElementSibling.value = told(value);
    };
    const choose = (name, value) => {
      const at = controls.findIndex((control) => control.name === name);
      inputs[at].value = controls[at].values.indexOf(value);
      redraw();
    };
    const redraw = () => {
      const values = {};
      controls.forEach((control, i) => {
        values[control.name] = control.values[Number(inputs[i].value)];
        if (control.kind === "range") tell(control.name, values[control.name]);
      });
      svg.replaceChildren();
      said.textContent = draw(kit(svg, tell, choose), values, data) || "";
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
// its value stands for; `kit.choose(name, value)` moves a control, for what can be clicked; `kit.thousandth(text, i)` reads
// what `packed` wrote. Attributes may be classes of interactive.css.
function kit(svg, tell, choose) {
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
    choose,
    thousandth: (text, i) => parseInt(text.slice(2 * i, 2 * i + 2), 36),
    scale: (from, to, left, right) => (value) => left + ((value - from) / (to - from)) * (right - left),
    line: (points, attributes) =>
      add("path", { d: points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""), fill: "none", ...attributes }),
    text: (x, y, words, attributes) => add("text", { x: x.toFixed(1), y: y.toFixed(1), ...attributes }, words),
    rect: (x, y, w, h, attributes) =>
      add("rect", { x: x.toFixed(1), y: y.toFixed(1), width: Math.max(0, w).toFixed(1), height: Math.max(0, h).toFixed(1), ...attributes }),
  };
}
