"""A result as a card: an HTML fragment that carries its own style, for notebooks, the book and feedback pages.

Everything that comes from student code (messages, source lines) is escaped.
"""

from __future__ import annotations

from html import escape

from proctor.result import Result, State

# Text colours reach a contrast of 4.5 on the card's ground in light and in dark.
STYLE = """
.proctor-card{--state:#57606a;--ground:#f6f8fa;--ink:#1f2328;--quiet:#57606a;--line:#d0d7de;box-sizing:border-box;max-width:44rem;
margin:.5rem 0;padding:.75rem 1rem;border:1px solid var(--line);border-left:5px solid var(--state);border-radius:6px;
background:var(--ground);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
.proctor-card p{margin:.35rem 0;color:inherit}
.proctor-card .headline{margin-top:0;display:flex;flex-wrap:wrap;align-items:baseline;gap:.1rem .6rem}
.proctor-card .headline code{font-weight:600;font-size:1em;background:none;border:0;padding:0;color:inherit;overflow-wrap:anywhere}
.proctor-card .state{font-weight:600;color:var(--state)}
.proctor-card .count,.proctor-card .reason,.proctor-card .next{color:var(--quiet)}
.proctor-card .mistake{font-weight:600}
.proctor-card pre{margin:.35rem 0;padding:.4rem .6rem;border:0;border-radius:4px;background:rgba(127,127,127,.12);color:inherit;
font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.proctor-card.passed{--state:#116329}.proctor-card.not_yet{--state:#7d4e00}
.proctor-card.stopped{--state:#a40e26}.proctor-card.fault{--state:#6639ba}
html[data-theme=dark] .proctor-card,body[data-jp-theme-light=false] .proctor-card{--state:#9198a1;--ground:#161b22;--ink:#e6edf3;--quiet:#9da7b3;--line:#30363d}
html[data-theme=dark] .proctor-card.passed,body[data-jp-theme-light=false] .proctor-card.passed{--state:#4ac26b}
html[data-theme=dark] .proctor-card.not_yet,body[data-jp-theme-light=false] .proctor-card.not_yet{--state:#e3b341}
html[data-theme=dark] .proctor-card.stopped,body[data-jp-theme-light=false] .proctor-card.stopped{--state:#ff8182}
html[data-theme=dark] .proctor-card.fault,body[data-jp-theme-light=false] .proctor-card.fault{--state:#c297ff}
@media print{.proctor-card{break-inside:avoid}}
""".strip().replace("\n", "")

SIGNS: dict[State, str] = {"passed": "✓", "not_yet": "○", "not_started": "–", "stopped": "!", "fault": "?"}  # not by colour alone


def card(result: Result, style: bool = True) -> str:
    """One card. A page of many cards puts STYLE into its head and asks for cards without."""
    name, _, verdict = result.headline.partition(": ")
    state, _, count = verdict.partition(" (")
    parts = [
        f'<p class="headline"><span class="state">{SIGNS[result.state]} {escape(state)}</span> <code>{escape(name)}</code>'
        + (f' <span class="count">({escape(count)}</span>' if count else "")
        + "</p>"
    ]
    parts += [f'<p class="mistake">{prose(e.sentence)}</p>' for e in result.explanations]
    if result.evidence:
        if result.situation:
            parts.append(f'<p class="seen">Seen on {prose(result.situation)}:</p>')
        parts.append(f"<pre>{escape(chr(10).join(result.evidence))}</pre>")
    parts += [f'<p class="reason">{prose(e.reason)}</p>' for e in result.explanations if e.reason]
    if result.next_step:
        parts.append(f'<p class="next">Next: {prose(result.next_step)}</p>')
    body = "".join(parts)
    head = f"<style>{STYLE}</style>" if style else ""
    return f'{head}<div class="proctor-card {result.state}" role="status">{body}</div>'


def prose(text: str) -> str:
    """Escaped text in which `code` is shown as code and a line break starts a new line."""
    pieces = escape(text, quote=False).split("`")
    marked = "".join(f"<code>{p}</code>" if i % 2 and i < len(pieces) - 1 else ("`" if i % 2 else "") + p for i, p in enumerate(pieces))
    return marked.replace("\n", "<br>")
