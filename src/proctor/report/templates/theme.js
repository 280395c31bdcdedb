(function () {
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function show(isDark) { document.documentElement.dataset.theme = isDark ? "dark" : "light"; }
  show(dark.matches);
  dark.addEventListener("change", function () { show(dark.matches); });
  window.addEventListener("beforeprint", function () { show(false); });
  window.addEventListener("afterprint", function () { show(dark.matches); });
})();
