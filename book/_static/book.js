// What scrolls sideways can be reached by keyboard: equations and outputs that are wider than the page.
(() => {
  const WIDE = "div.math, div.math mjx-container, div.cell_output, div.pst-scrollable-table-container";
  const reach = () => {
    for (const element of document.querySelectorAll(WIDE)) {
      if (element.scrollWidth > element.clientWidth + 1) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    }
  };
  window.addEventListener("load", reach);
  window.addEventListener("resize", reach);
})();

// Paper is white: a page is printed in its light colours.
(() => {
  const page = document.documentElement.dataset;
  let theme;
  window.addEventListener("beforeprint", () => {
    theme = page.theme;
    page.theme = "light";
  });
  window.addEventListener("afterprint", () => (page.theme = theme));
})();
