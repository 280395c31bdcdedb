// Chapters are long pages: a result of the search quotes the section that says most of what was sought, and leads to it.
// Pages come in the order of how much they say; what the index names stays on top. A slip of the keys is asked about.
(() => {
  const LEFT_OUT = ".headerlink, script, style, button, .toggle, .page-toc, mjx-container, math, svg, .edition";
  const AROUND = 110; // characters before and after the first word that was found

  // the text of a section without its subsections, which speak for themselves
  const own = (section) => {
    const copy = section.cloneNode(true);
    for (const inner of copy.querySelectorAll("section")) inner.remove();
    return copy.textContent.replace(/\s+/g, " ").trim();
  };

  // Sphinx looks for stems, and "posit" is in "positive" too: words as they were typed count more, and together most.
  const typed = (new URLSearchParams(location.search).get("q") || "").toLowerCase().trim();
  const plain = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const beginning = (word) => new RegExp(`(?<![\\p{L}\\p{N}])${plain(word)}`, "gu"); // "kv" is not in "qkv"
  const times = (text, word) => (word ? (text.match(beginning(word)) || []).length : 0);
  const score = (text, stems) => {
    const said = text.toLowerCase();
    const counts = typed.split(/\s+/).map((word) => times(said, word));
    const all = counts.reduce((sum, n) => sum + n, 0) + 10 * times(said, typed);
    return 1000 * counts.filter(Boolean).length + Math.min(all, 400) + stems.filter((stem) => said.includes(stem)).length;
  };

  const excerpt = (text, words) => {
    const said = text.toLowerCase();
    const places = [typed, ...typed.split(/\s+/), ...words].map((word) => said.search(beginning(word)));
    const at = places.find((place) => place >= 0) ?? 0;
    const from = at > AROUND ? text.indexOf(" ", at - AROUND) + 1 : 0;
    const to = Math.max(text.lastIndexOf(" ", from + 2 * AROUND), from);
    const end = from + 2 * AROUND < text.length ? to : text.length;
    return (from ? "… " : "") + text.slice(from, end) + (end < text.length ? " …" : "");
  };

  const best = (html, words, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const article = page.querySelector("article") || page.body;
    for (const part of article.querySelectorAll(LEFT_OUT)) part.remove();
    for (const part of article.querySelectorAll("dt, dd, p, li, td, th, pre")) part.append(" ");
    const asked = anchor && article.querySelector(anchor);
    if (asked?.tagName === "DT") {
      const text = `${own(asked)}: ${own(asked.nextElementSibling)}`; // of the glossary
      return { top: true, text, score: score(text, words) };
    }
    const sections = asked ? [asked] : [...article.querySelectorAll("section[id]")];
    const found = (sections.length ? sections : [article]).map((section) => {
      const heading = section.querySelector("h1, h2, h3, h4");
      const title = heading ? heading.textContent.trim() : "";
      heading?.remove();
      const text = own(section);
      return { id: section.id, top: heading?.tagName === "H1", title, text, score: score(`${title} ${title} ${text}`, words) };
    });
    return found.reduce((one, other) => (other.score > one.score ? other : one));
  };

  const ENTRY = 100; // Sphinx's score of what the index has under this name
  const inOrder = (list) => {
    const rank = (item) =>
      item.querySelector("a").dataset.score >= ENTRY ? Infinity : Number(item.dataset.said ?? 0);
    const items = [...list.children].map((item) => [rank(item), item]);
    list.append(...items.sort(([a], [b]) => (a === b ? 0 : b - a)).map(([, item]) => item));
  };

  // Nothing found: the word of the index or of a title that needs the fewest letters changed.
  const distance = (a, b) => {
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++)
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
      row = next;
    }
    return row[b.length];
  };
  const nearest = (word, known) => {
    const near = known.map((other) => [distance(word, other), other]).sort(([a], [b]) => a - b)[0];
    return near && near[0] > 0 && near[0] <= Math.max(1, word.length / 4) ? near[1] : "";
  };
  const suggest = () => {
    if (!typed || Search.output.children.length) return;
    const index = Search._index;
    const names = [...Object.keys(index.indexentries || {}), ...Object.keys(index.alltitles || {})];
    const known = [...new Set(names.join(" ").toLowerCase().match(/\p{L}{3,}/gu) || [])];
    const meant = typed.split(/\s+/).map((word) => (known.includes(word) ? word : nearest(word, known) || word)).join(" ");
    if (meant === typed) return;
    const link = document.createElement("a");
    link.href = `?q=${encodeURIComponent(meant)}`;
    link.textContent = meant;
    const line = document.createElement("p");
    line.append("Did you mean ", link, "?");
    Search.status.after(line);
  };

  document.addEventListener("DOMContentLoaded", () => {
    if (typeof Search === "undefined") return;
    const query = Search.query;
    Search.query = (words) => {
      query(words);
      suggest();
    };
    let waiting;
    Search.makeSearchSummary = (html, keywords, anchor) => {
      const words = [...keywords].map((word) => word.toLowerCase());
      const section = best(html, words, anchor);
      const summary = document.createElement("p");
      summary.className = "context";
      summary.textContent = excerpt(section.text, words);
      queueMicrotask(() => {
        const item = summary.closest("li");
        const link = item?.querySelector("a");
        if (!link) return;
        item.dataset.said = section.score + (link.pathname.includes("/chapters/") ? 500 : 0); // lists and ledgers come after
        if (!anchor && !section.top && section.id) {
          const there = document.createElement("a");
          there.href = `${link.href.split("#")[0]}#${section.id}`;
          there.textContent = section.title;
          summary.prepend(there, ": ");
        }
        clearTimeout(waiting);
        waiting = setTimeout(() => inOrder(item.parentElement), 300);
      });
      return summary;
    };
  });
})();
