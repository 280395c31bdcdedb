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
