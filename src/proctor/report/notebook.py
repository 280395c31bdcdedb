"""A result as a card: an HTML fragment that carries its own style, for notebooks, the book and feedback pages.

Everything that comes from student code (messages, source lines) is escaped.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from torch import Tensor

from proctor.examining.compare import Compared
from proctor.examining.result import Result, State
from proctor.report.heatmap import heat_maps

STYLE = (Path(__file__).parent / "card.css").read_text(encoding="utf-8")

# A state is never shown by colour alone.
SIGNS: dict[State, str] = {"passed": "✓", "not_yet": "○", "not_started": "–", "stopped": "!", "fault": "?"}


def card(result: Result, style: bool = True) -> str:
    """One card. A page of many cards puts STYLE into its head and renders cards without it."""
    name, _, verdict = result.headline.partition(": ")
    state, _, count = verdict.partition(" (")
    parts = [
        f'<p class="headline"><span class="state">{SIGNS[result.state]} {escape(state)}</span> '
        f"<code>{escape(name)}</code>" + (f' <span class="count">({escape(count)}</span>' if count else "") + "</p>"
    ]
    parts += [f'<p class="mistake">{prose(e.sentence)}</p>' for e in result.explanations]
    if result.evidence:
        if result.situation:
            parts.append(f'<p class="seen">Seen on {prose(result.situation)}:</p>')
        parts.append(f"<pre>{escape(chr(10).join(result.evidence))}</pre>")
    if result.case is not None:
        parts.append(pictures(result))
    parts += [f'<p class="reason">{prose(e.reason)}</p>' for e in result.explanations if e.reason]
    if result.elsewhere:
        parts.append(f'<p class="reason">Besides: {prose(result.elsewhere)}</p>')
    if result.why:
        parts.append(f'<p class="reason">{prose(result.why)}</p>')
    if result.next_step:
        step = prose(result.next_step)
        if result.next_link:
            step = f'<a href="{escape(result.next_link)}">{step}</a>'
        parts.append(f'<p class="next">Next: {step}</p>')
    parts += [f'<p class="remark">Remark: {prose(remark)}</p>' for remark in result.remarks]
    if 0 < result.probes_passed < len(result.checks):
        parts.append(list_of_checks(result))
    if result.ours:
        ours = f'<pre tabindex="0">{escape(result.ours)}</pre>'
        parts.append(f'<details class="ours"><summary>How ours does it</summary>{ours}</details>')
    if result.printed:
        printed = escape(result.printed.rstrip())
        parts.append(
            f"<details><summary>What your code printed, the first time</summary><pre>{printed}</pre></details>"
        )
    body = "".join(parts)
    head = f"<style>{STYLE}</style>" if style else ""
    return f'{head}<div class="proctor-card {result.state}" role="status">{body}</div>'


def list_of_checks(result: Result) -> str:
    """All situations, folded: those in which the answer is right tell as much as the others."""
    signs = {True: f"{SIGNS['passed']} passes", False: f"{SIGNS['not_yet']} does not"}
    items = "".join(f"<li>{signs[passes]}: {prose(situation)}</li>" for situation, passes in result.checks)
    summary = f"The {len(result.checks)} checks, one by one"
    return f'<details class="checks"><summary>{summary}</summary><ul style="list-style:none">{items}</ul></details>'


def pictures(result: Result) -> str:
    """The first tensor that differs, beside the one that was expected."""
    yours, expected = result.case.yours, result.case.expected
    for name, wanted in expected.items():
        if name in yours and not same(yours[name], wanted):
            return heat_maps(name, yours[name], wanted)
    return ""


def same(yours: Tensor, expected: Tensor) -> bool:
    return Compared(expected).excess(Compared(yours)) <= 1.0


def prose(text: str) -> str:
    """Escaped text in which `code` is shown as code and a line break starts a new line."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False)).replace("\n", "<br>")
