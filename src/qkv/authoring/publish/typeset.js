// MathJax without a browser: its parts were loaded before this, and have put what they export into MathJax._
const { liteAdaptor } = MathJax._.adaptors.liteAdaptor;
const { TeXFont } = MathJax._.output.chtml.fonts.tex_ts;
const adaptor = liteAdaptor();
MathJax._.a11y["assistive-mml"].AssistiveMmlHandler(MathJax._.handlers.html_ts.RegisterHTMLHandler(adaptor));
const output = new MathJax._.output.chtml_ts.CHTML({ adaptiveCSS: false, font: new TeXFont({ fontURL: "math-fonts" }) });
const page = MathJax._.mathjax.mathjax.document("", {
  InputJax: new MathJax._.input.tex_ts.TeX({ packages: ["base", "ams", "newcommand"] }),
  OutputJax: output,
});

function typeset(tex, display) {
  return adaptor.outerHTML(page.convert(tex, { display }));
}

function styles() {
  return adaptor.textContent(output.styleSheet(page));
}
