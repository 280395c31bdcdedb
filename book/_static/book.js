// What scrolls sideways can be reached by keyboard, and fades where it goes on: equations, outputs and tables that are
// wider than the page.
(() => {
  const WIDE = "div.math, div.math mjx-container, div.cell_output, div.pst-scrollable-table-container";
  const reach = () => {
    // the theme looks at code as well, but once: before all fonts have come, and while some of it is folded
    for (const element of document.querySelectorAll(`${WIDE}, pre`)) {
      if (element.scrollWidth > element.clientWidth + 1) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    }
  };
  const fade = (element) => {
    const hidden = element.scrollWidth - element.clientWidth - element.scrollLeft;
    element.classList.toggle("goes-on", element.tabIndex === 0 && hidden > 1);
  };
  const look = () => {
    reach();
    document.querySelectorAll(WIDE).forEach(fade);
  };
  window.addEventListener("load", look);
  window.addEventListener("resize", look);
  document.fonts.addEventListener("loadingdone", look);
  window.addEventListener("toggle", look, true); // what was folded had no width
  window.addEventListener("scroll", (event) => event.target.matches?.(WIDE) && fade(event.target), true);
})();

// A link to something that is folded away unfolds it.
(() => {
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target?.closest("details:not([open])");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("load", unfold);
  window.addEventListener("hashchange", unfold);
})();

// Paper is white and cannot be unfolded: a page is printed in its light colours, with its results and verdicts.
(() => {
  const page = document.documentElement.dataset;
  const RESULTS = "details.below-input:not([open]), details.sd-dropdown:not([open])";
  let theme, folded;
  window.addEventListener("beforeprint", () => {
    theme = page.theme;
    page.theme = "light";
    folded = [...document.querySelectorAll(RESULTS)];
    for (const details of folded) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    page.theme = theme;
    for (const details of folded) details.open = false;
  });
})();
