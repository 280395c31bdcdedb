"""Is what a card says true? A second program looks at every sentence of some cards.

Each claim is checked by other means than those by which it was found, or on other inputs: a named mistake is run beside
the answer on inputs that neither has seen, an edit is made in the text and the text judged anew, numbers and facts are
computed again from the tensors by code of this file, what was raised or is lacking has to be so again, at the same
line. A sentence for which there is no program here does not count as proved.
"""

from __future__ import annotations

import re
import symtable
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from proctor import Examiner, Result
from proctor.inside.inputs import Replay, drawing
from proctor.inside.observe import A_RETURN_MISSING, Observation, fresh_state, observe
from proctor.locate import where
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.line_search import LineSearch
from proctor.marking.submission_marker import SubmissionMarker
from proctor.marking.submissions import File, read_submitted_file
from qkv import exercises
from qkv.assignments import assignment
from qkv.notebook.checking import in_process

OTHER_SALT = "a second program"
Fact = Callable[[re.Match[str], Tensor, Tensor], bool]


@dataclass
class Proof:
    """The claims of one card: those that hold, those that do not, and those that no program here looks at."""

    holds: list[str] = field(default_factory=list)
    fails: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    @property
    def proved(self) -> bool:
        return bool(self.holds) and not self.fails and not self.open

    def note(self, claim: str, verdict: bool | None) -> None:
        (self.open if verdict is None else self.holds if verdict else self.fails).append(claim)


def marked(
    file: File, name: str, examiner: Examiner, search: LineSearch | None = None
) -> tuple[Result, Mapping[str, Observation]]:
    """The verdict on one answer of a file, and what the probes saw."""
    examiners = {name: examiner}
    answers = Answers([extract(file)])
    marker = SubmissionMarker(assignment((name,)), examiners, in_process(examiners), answers, locator=search)
    marker.mark()
    return marker.results[name], marker.seen[name][1] if name in marker.seen else {}


def proof(path: Path, name: str, examiner: Examiner, other: Examiner) -> tuple[Result, Proof]:
    """The card of an answer as the course gives it, and what a second program says of it."""
    file, edited = read_submitted_file(path.name, path), dict[str, tuple[str, int | None]]()
    told, text = where.with_repair, path.read_text(encoding="utf-8")

    def noting(result: Result, texts: Any, found: Any, reveal: bool) -> Result:
        sources = {label: one.source for label, one in texts.items()}
        changed = text
        for label, new in found.candidate.cells(sources).items():
            changed = changed.replace(sources[label].strip("\n"), new.strip("\n"))
        edited[result.exercise] = changed, found.agree
        return told(result, texts, found, reveal)

    where.with_repair = noting
    try:
        result, seen = marked(file, name, examiner, LineSearch())
    finally:
        where.with_repair = told
    found = Proof()
    searched = result.located is not None and name not in edited
    again, seen_again = marked(file, name, other, LineSearch() if searched or result.resembles else None)
    found.note("refused", again.state != "passed")
    if result.misconceptions:
        found.note("the name", same_as_mistake(other, result.misconceptions, seen_again))
    elif name in edited:
        changed, agree = edited[name]
        mended, _ = marked(File(path.name, changed.encode()), name, other)
        found.note("the edit", mended.state == "passed" if agree is None else mended.probes_passed == agree)
    elif result.resembles:
        found.note("the likeness", again.resembles == result.resembles)
    elif result.help in ("explained", "located"):
        told_again = {without_numbers(e.sentence) for e in again.explanations}
        for e in result.explanations:
            computed = seen[result.probe].values is not None if result.probe in seen else False
            holds = evidence_holds(e.sentence, examiner, result.probe, seen) if computed else None
            found.note("the reason", without_numbers(e.sentence) in told_again if holds is None else holds)
        found.note("the line", again.line == result.line)
    for claim in (*result.evidence, *(e.sentence for e in result.explanations if result.help == "shown")):
        if claim not in (e.sentence for e in result.explanations) or result.help == "shown":
            found.note(claim, evidence_holds(claim, examiner, result.probe, seen))
    for remark in result.remarks:
        found.note(remark, remark_holds(remark, text))
    return result, found


def without_numbers(sentence: str) -> str:
    """A sentence whose numbers and shapes may be others on other inputs."""
    return re.sub(r"\d+(\.\d+)?(e-?\d+)?", "#", sentence)


def remark_holds(remark: str, text: str) -> bool | None:
    """Is a variable that is remarked on read by nothing, in some function of the text? By Python's own table of
    symbols."""
    found = re.fullmatch(r"Nothing reads `(\w+)`, which line \d+ computes\.", remark)
    return None if found is None else any(is_unread(table, found[1]) for table in tables(text))


def tables(text: str) -> list[symtable.SymbolTable]:
    waiting, found = [symtable.symtable(text, "an answer", "exec")], list[symtable.SymbolTable]()
    while waiting:
        found.append(waiting.pop())
        waiting += found[-1].get_children()
    return found


def is_unread(table: symtable.SymbolTable, name: str) -> bool:
    if table.get_type() != "function" or name not in table.get_identifiers():
        return False
    symbol = table.lookup(name)
    return symbol.is_assigned() and not symbol.is_referenced()


def same_as_mistake(examiner: Examiner, names: tuple[str, ...], seen: Mapping[str, Observation]) -> bool:
    """Does the named mistake give what the answer gives, wherever the answer gives something wrong?"""
    exercise = examiner.exercise
    mistakes = [exercise.misconceptions[name] for name in names]
    wrong = mistakes[0].implementation if len(mistakes) == 1 else exercise.both(*mistakes)
    compared = 0
    for name, probe in exercise.counted().items():
        mine, right = seen[name], examiner.expected[name].observation
        if probe.kind != "value" or mine.values is None or alike(mine.values, right.values):
            continue
        with drawing(Replay(examiner.draws)), fresh_state():
            theirs = observe(probe.function, wrong)
        if not alike(mine.values, theirs.values):
            return False
        compared += 1
    if compared:
        return True
    properties = [n for n, p in exercise.counted().items() if p.kind == "property"]  # where all values are right
    with drawing(Replay(examiner.draws)), fresh_state():
        theirs_too = {n: observe(exercise.probes[n].function, wrong) for n in properties}
    return all(
        alike(seen[n].values, theirs_too[n].values) or (seen[n].raised is not None and theirs_too[n].raised is not None)
        for n in properties
    )


def alike(one: Mapping[str, Tensor] | None, other: Mapping[str, Tensor] | None) -> bool:
    """Are these the same tensors but for rounding?"""
    if one is None or other is None or one.keys() != other.keys():
        return one is None and other is None
    return all(close(one[name], other[name]) for name in one)


def close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    one, other = one.double(), other.double()
    finite = other[other.isfinite()].abs()
    scale = float(finite.max()) if finite.numel() else 1.0
    short = 3e-2 if min(one.dtype.itemsize, other.dtype.itemsize) < 4 else 2e-4
    return torch.allclose(one, other, rtol=0, atol=short * (scale or 1.0), equal_nan=True)


# ---- numbers and facts, computed again


def evidence_holds(claim: str, examiner: Examiner, probe: str, seen: Mapping[str, Observation]) -> bool | None:
    """Is a line of evidence true of the tensors? None if no program here understands it."""
    mine, right = seen.get(probe), examiner.expected.get(probe)
    if mine is None or right is None:
        return None
    if mine.raised is not None:
        said = str(mine.raised), mine.raised.message
        return claim in {text.removesuffix(A_RETURN_MISSING) + end for text in said for end in ("", A_RETURN_MISSING)}
    spoken = examiner.spoken(probe)
    yours = {spoken(label): tensor for label, tensor in (mine.values or {}).items()}
    ours = {spoken(label): tensor for label, tensor in (right.observation.values or {}).items()}
    if found := re.fullmatch(r"([\w, ]+) (?:is|are) right; ([\w, ]+) (?:is|are) not\.", claim):
        right_ones, wrong_ones = (re.split(r", | and ", names) for names in found.groups())
        return all(close(yours[n], ours[n]) for n in right_ones) and not any(
            close(yours[n], ours[n]) for n in wrong_ones
        )
    for label in sorted(ours.keys() | yours.keys(), key=len, reverse=True):
        if label in ours and label in yours:
            named = patterns(re.escape(label)), patterns(re.escape(f"“{label}”"))
            for pattern, holds in chain.from_iterable(named):
                if found := re.fullmatch(pattern, claim):
                    return holds(found, yours[label], ours[label])
        elif claim in (f"{label} is missing.", f"{label.removesuffix(' after the call')} is gone after your call."):
            return label not in yours
        elif claim in (
            f"{label} is not asked for.",
            f"{label.removesuffix(' after the call')} was not there before your call.",
        ):
            return label not in ours
    if found := re.fullmatch(
        r"Your (rows|numbers along dimension (\d+)) should sum to 1, and (all|some) of them sum to (.+)\.", claim
    ):
        return any(sums_hold(found, yours[n], ours[n]) for n in ours if n in yours and ours[n].is_floating_point())
    return None


def patterns(label: str) -> Iterator[tuple[str, Fact]]:
    """What is said of one tensor, and whether it is so."""
    stem = label.removesuffix(re.escape(" after the call"))
    number = r"(?P<yours>\S+)"
    yield rf"{label}(?P<at>\[[\d, ]*\])? is {number}, expected (?P<ours>\S+)\.", numbers_hold
    yield rf"{label}: yours is {number}(?: at (?P<at>\[[\d, ]*\]))?, expected (?P<ours>\S+)\.", numbers_hold
    yield rf"{stem}(?P<at>\[[\d, ]*\])? was (?P<ours>\S+) and is {number} after your call\.", numbers_hold
    yield rf"It (?P<so>should|should not) be true that {label}, and it is(?: not)?\.", truth_holds
    yield rf"{label}(?:: yours)? has shape (?P<yours>\(.*?\)), expected (?P<ours>\(.*?\))\.", shapes_hold
    yield rf"{label}(?:: yours)? has length (?P<yours>\d+), expected (?P<ours>\d+)\.", lengths_hold
    yield rf"(?P<n>\d+) of the (?P<of>\d+) entries of {label} (?:is|are) NaN or infinite\.", unfinite_hold
    yield rf"(?P<n>\d+) of the (?P<of>\d+) entries of {label} are wrong; the others are right\.", wrong_hold
    yield rf"Only entries at position (?P<n>\d+) of dimension (?P<dim>\d+) of {label} are wrong\.", only_hold
    yield (
        rf"Only entries at positions (?P<list>[\d, and]+) of dimension (?P<dim>\d+) of {label} are wrong\.",
        lambda f, a, b: (
            set(wrong(a, b).nonzero()[:, int(f["dim"])].tolist()) == {int(n) for n in re.findall(r"\d+", f["list"])}
        ),
    )
    yield rf"Every entry of {label} has the wrong sign\.", lambda f, a, b: close(-a, b)
    yield (
        rf"Every entry of {label} is off by the same factor, (?P<by>.+)\.",
        lambda f, a, b: near(a / float(f["by"]), b),
    )
    yield (
        rf"Every entry of {label} is too (?P<how>large|small) by the same (?P<by>.+)\.",
        lambda f, a, b: near(a - float(f["by"]) * (1 if f["how"] == "large" else -1), b),
    )
    yield rf"{label} is right after a transpose\.", lambda f, a, b: close(a.mT, b)
    yield (
        rf"{label} is right after a transpose of dimensions (?P<a>\d+) and (?P<b>\d+)\.",
        lambda f, a, b: close(a.transpose(int(f["a"]), int(f["b"])), b),
    )
    yield rf"The numbers of {label} are right, in another shape\.", lambda f, a, b: close(a.reshape(b.shape), b)
    yield (
        rf"{label} is right when it is read backwards along dimension (?P<a>\d+)\.",
        lambda f, a, b: close(a.flip(int(f["a"])), b),
    )
    yield (
        rf"{label} is right when it is shifted by one along dimension (?P<a>\d+)\.",
        lambda f, a, b: close(a.roll(1, int(f["a"])), b) or close(a.roll(-1, int(f["a"])), b),
    )
    yield (
        rf"{label} has the right slices along dimension (?P<a>\d+), in another order: "
        r"yours at (?P<i>\d+) is expected at (?P<j>\d+)\.",
        reordered_hold,
    )
    yield (
        rf"{label} has (?P<has>\w+) dimensions?, and (?P<asked>\w+) (?:is|are) asked for\.",
        lambda f, a, b: {"no": "0"}.get(f["has"], f["has"]) == str(a.dim()) and f["asked"] in (str(b.dim()), "none"),
    )
    yield (
        rf"Every entry of {label} is (?P<by>\S+), and they should differ\.",
        lambda f, a, b: bool((a == a.flatten()[0]).all()) and not bool((b == b.flatten()[0]).all()),
    )
    yield (
        rf"Here your {label} and the right one add up to the same number everywhere, (?P<by>.+)\.",
        lambda f, a, b: near(float(f["by"]) - a, b),
    )


def reordered_hold(found: re.Match[str], yours: Tensor, ours: Tensor) -> bool:
    """Do the slices, sorted, agree, and is the one that is named in its place?"""
    dim = int(found["a"])
    mine, right = (sorted(x.movedim(dim, 0).flatten(1).double().tolist()) for x in (yours, ours))
    named = close(yours.select(dim, int(found["i"])), ours.select(dim, int(found["j"])))
    return named and close(torch.tensor(mine), torch.tensor(right)) and found["i"] != found["j"]


def near(one: Tensor, other: Tensor) -> bool:
    """The same to the three digits that a card shows."""
    return torch.allclose(one.double(), other.double(), rtol=0, atol=6e-3 * float(other.abs().max() or 1.0))


def entry(tensor: Tensor, at: str | None) -> Any:
    return tensor[tuple(int(i) for i in re.findall(r"\d+", at or ""))].item()


def numbers_hold(found: re.Match[str], yours: Tensor, ours: Tensor) -> bool:
    """Is the entry what the card says, as far as it writes digits, and is it another one than the right one?"""
    if found["yours"] in ("float16", "float32", "float64", "bfloat16", "int64", "int32", "bool"):
        return str(yours.dtype).endswith(found["yours"]) and str(ours.dtype).endswith(found["ours"])
    mine, right = entry(yours, found["at"]), entry(ours, found["at"])
    return written(mine, found["yours"]) and written(right, found["ours"]) and found["yours"] != found["ours"]


def written(value: Any, as_text: str) -> bool:
    if isinstance(value, bool | int):
        return str(value) == as_text
    return any(f"{value:.{digits}g}" == as_text for digits in range(3, 18))


def truth_holds(found: re.Match[str], yours: Tensor, ours: Tensor) -> bool:
    return bool(ours) is (found["so"] == "should") and bool(yours) is not bool(ours)


def shapes_hold(found: re.Match[str], yours: Tensor, ours: Tensor) -> bool:
    return str(tuple(yours.shape)) == found["yours"] and str(tuple(ours.shape)) == found["ours"]


def lengths_hold(found: re.Match[str], yours: Tensor, ours: Tensor) -> bool:
    return len(yours) == int(found["yours"]) and len(ours) == int(found["ours"])


def unfinite_hold(found: re.Match[str], yours: Tensor, ours: Tensor) -> bool:
    return int((~yours.isfinite()).sum()) == int(found["n"]) and yours.numel() == int(found["of"])


def wrong(yours: Tensor, ours: Tensor) -> Tensor:
    yours, ours = yours.double(), ours.double()
    return (yours - ours).abs() > 5e-5 * float(ours.abs().max() or 1.0)


def wrong_hold(found: re.Match[str], yours: Tensor, ours: Tensor) -> bool:
    return int(wrong(yours, ours).sum()) == int(found["n"]) and yours.numel() == int(found["of"])


def only_hold(found: re.Match[str], yours: Tensor, ours: Tensor) -> bool:
    return set(wrong(yours, ours).nonzero()[:, int(found["dim"])].tolist()) == {int(found["n"])}


def sums_hold(found: re.Match[str], yours: Tensor, ours: Tensor) -> bool:
    if yours.shape != ours.shape or not ours.dim():
        return False
    dim = -1 if found[2] is None else int(found[2])
    totals, right = yours.double().sum(dim), ours.double().sum(dim)
    here = torch.allclose(right, torch.ones_like(right), atol=1e-3)
    said = float(found[4])
    return here and bool(
        ((totals - said).abs() < 1e-4).any() if found[3] == "some" else ((totals - said).abs() < 1e-3).all()
    )


def section(sample: list[tuple[Path, str]], salt: str) -> list[str]:
    """The lines of the results about some answers."""
    examiners: dict[str, tuple[Examiner, Examiner]] = {}
    proofs: list[tuple[Path, Result, Proof]] = []
    for path, name in sample:
        if name not in examiners:
            exercise = exercises.get_code(name)
            examiners[name] = Examiner(exercise, salt), Examiner(exercise, OTHER_SALT)
        proofs.append((path, *proof(path, name, *examiners[name])))
    proved = sum(p.proved for _, _, p in proofs)
    wrong_ones = [(path, r, p) for path, r, p in proofs if p.fails]
    claims = sum(len(p.holds) + len(p.fails) + len(p.open) for _, _, p in proofs)
    held = sum(len(p.holds) for _, _, p in proofs)
    undecided = sum(len(p.open) for _, _, p in proofs)
    refuted = sum(len(p.fails) for _, _, p in proofs)
    lines = [
        f"- **Proved**: of {len(proofs)} answers of that half, drawn by a hash, {proved} have cards of which a second "
        "program proved every claim: the named mistake gives the answer's numbers on inputs that nobody had looked at, "
        "the edit mends the answer there, every number and fact was computed again, what is lacking is lacking there "
        f"too. {held:,} of {claims:,} claims hold; for {undecided} there is no second program, {refuted} did not hold."
    ]
    lines += [f"  - Not so: `{path.stem}`, {r.exercise}: {'; '.join(p.fails)}" for path, r, p in wrong_ones]
    return lines
