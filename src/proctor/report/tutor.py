"""A result as text for a tutor, human or machine: what is known of an answer, and what is not to be said."""

from __future__ import annotations

from proctor.examining.result import IN_WORDS, Result

RULES = """\
Do not say or write: the corrected code or a line of it, in whatever language or with whatever names; what another
implementation of this exercise looks like."""


def tutor_text(result: Result) -> str:
    """What a tutor needs to coach somebody through this answer without solving it."""
    known = result.explanations[0].sentence if result.explanations else "nothing beyond the evidence below"
    if result.misconceptions:
        known = (
            f"{known} (a mistake by name, {' + '.join(result.misconceptions)}: it was run, and its numbers are equal)"
        )
    parts = [
        f"For a tutor: one answer to the exercise `{result.exercise}`.",
        f"State: {IN_WORDS[result.state]}; {result.probes_passed} of {result.probes} checks pass.",
    ]
    if result.state == "passed":
        return "\n".join([*parts, "Nothing is wrong. Talk about why it works, and what each step is for."])
    parts.append(f"Known: {known}")
    if result.line is not None:
        parts.append(f"Line in the learner's cell or file: {result.line}.")
    if result.evidence:
        parts += [f"Seen on {result.situation}:" if result.situation else "Seen:"]
        parts += [f"  {line}" for line in result.evidence]
    parts += [f"Why it matters: {e.reason}" for e in result.explanations if e.reason]
    parts += [f"The learner was told to go on with: {result.next_step}"] if result.next_step else []
    parts += ["", "Ask one question that leads to the mistake; wait for the answer; then the next.", RULES]
    if result.steps:
        parts.append("Also not to be said, since `hint` gives it step by step on request:")
        parts += [f"  {step}" for step in result.steps]
    return "\n".join(parts)
