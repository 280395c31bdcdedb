"""The one result that everything is rendered from: terminal, notebook card, feedback page, CSV."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["passed", "not_yet", "not_started", "stopped", "fault"]
STATES: tuple[State, ...] = ("passed", "not_yet", "not_started", "stopped", "fault")
Help = Literal["named", "resembles", "explained", "located", "shown"]
HELPS: dict[Help, str] = {
    "named": "a mistake that we know does exactly the same, on two sets of inputs",
    "resembles": "a mistake that we know does the same on most of the checks that fail, and the rest is shown",
    "explained": "a property that is missing, a rule, or a fact about the result that says what is wrong",
    "located": "a line, proved by running: it raised there, or another value or text there makes checks pass",
    "shown": "numbers and facts, and no line: nothing more could be proved",
}
IN_WORDS: dict[State, str] = {
    "passed": "passed",
    "not_yet": "not yet",
    "not_started": "not started",
    "stopped": "stopped",
    "fault": "could not be checked",
}


@dataclass(frozen=True)
class Explanation:
    """A mistake by name: the sentence that says it, and why it matters."""

    sentence: str
    reason: str = ""


@dataclass(frozen=True)
class Located:
    """The way in which the line of a mistake without a name was found.

    Args:
        by: "repair" (an edit there makes all checks pass) or "trace" (a value there is in no right solution).
        kind: of the edit, or of the expression; mistakes of a class are grouped by it.
        old: the student's own code there.
        new: what an edit puts there: for authors, never for students; empty where it is not to be known.
    """

    by: str
    kind: str
    old: str
    new: str = ""


@dataclass(frozen=True)
class Result:
    """A verdict on one answer to one exercise."""

    exercise: str
    state: State
    score: float  # 0 … 1
    probes_passed: int
    probes: int
    misconceptions: tuple[str, ...] = ()  # by name: one, or two that were made together
    explanations: tuple[Explanation, ...] = ()
    situation: str = ""  # where the evidence was seen
    evidence: tuple[str, ...] = ()
    next_step: str = ""
    seconds: float = 0.0
    remarks: tuple[str, ...] = ()  # notes shown with a pass; never affect the score
    help: Help | None = None  # how a wrong answer was helped; None where there is nothing to show
    resembles: str = ""  # the name of a mistake that does the same on most of the checks that fail
    right_here: bool = False  # only checks of portability fail: device, half precision, no gradients
    elsewhere: str = ""  # a second, lesser sentence beside another mistake: where the code would not run
    line: int | None = None  # of the student's file or cell, where that is known
    located: Located | None = None  # how that line was found, where no mistake was named
    steps: tuple[str, ...] = ()  # hints about this very mistake, each a step further
    probe: str = ""  # the one that the evidence is from
    case: Any = field(
        default=None, compare=False, repr=False
    )  # the inputs and outputs of that situation, in a notebook
    checks: tuple[tuple[str, bool], ...] = ()  # of a wrong answer: each check's situation, and whether it passes
    why: str = ""  # the benefit of having passed
    next_link: str = ""  # to what `next_step` names
    ours: str = ""  # the text of our solution, for whoever has passed and wants to compare
    printed: str = ""  # what student code printed under the probe that the evidence is from
    unread: bool = False  # not started, as far as anybody knows: an archive of the student's could not be read

    @property
    def headline(self) -> str:
        counted = self.state in ("not_yet", "stopped") and self.probes > 0
        detail = f" ({self.probes_passed} of {self.probes} checks pass)" if counted else ""
        if self.state == "passed":
            detail = f" ({self.probes} of {self.probes} checks pass)"
        return f"{self.exercise}: {self.in_words}{detail}"

    @property
    def in_words(self) -> str:
        """The state as a student reads it."""
        if self.right_here and self.state == "not_yet":
            return "right here, not yet everywhere"
        return "not read" if self.unread else IN_WORDS[self.state]

    @property
    def message(self) -> str:
        """The whole card as plain text: verdict, mistake, evidence, reason, next step, remarks."""
        lines = [self.headline]
        lines += [e.sentence for e in self.explanations]
        if self.evidence:
            lines += [f"Seen on {self.situation}:"] if self.situation else []
            lines += [f"  {line}" for line in self.evidence]
        lines += [e.reason for e in self.explanations if e.reason]
        lines += [f"Besides: {self.elsewhere}"] if self.elsewhere else []
        lines += [self.why] if self.why else []
        lines += [f"Next: {self.next_step}"] if self.next_step else []
        lines += [f"Remark: {remark}" for remark in self.remarks]
        return "\n".join(lines)

    def row(self, student: str) -> dict[str, object]:
        """One line of results.jsonl."""
        return {
            "student": student,
            "exercise": self.exercise,
            "state": self.state,
            "score": round(self.score, 6),
            "probes_passed": self.probes_passed,
            "probes": self.probes,
            "misconception": " + ".join(self.misconceptions) or None,
            "help": self.help,
            "line": self.line,
            "message": self.message,
            "seconds": round(self.seconds, 4),
        }

    def for_tutor(self) -> str:
        """What a tutor needs to coach without solving, and what is not to be said."""
        from proctor.report.tutor import tutor_text

        return tutor_text(self)

    def __str__(self) -> str:
        return self.message

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        printer.text(self.message)  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        from proctor.report.notebook import card

        return card(self)
