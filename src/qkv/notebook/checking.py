"""The calls `check`, `hint` and `status`."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from proctor import Examiner, Exercise, Result, WeightsJudge
from proctor.examining.exercise import Question
from proctor.examining.result import IN_WORDS, STATES, Explanation, Help
from proctor.inside.observe import describe_exception
from proctor.marking.answers import Answers
from proctor.marking.copies import judge_copies
from proctor.marking.extraction import Problem, extract
from proctor.marking.in_process import LOOPS, InProcess
from proctor.marking.live import LiveAnswers
from proctor.marking.submission_marker import Locator, SubmissionMarker
from proctor.marking.submissions import WEIGHTS, read_submitted_file
from proctor.marking.weights_files import answers_exercise, judge_weights, unasked_weights
from proctor.report import terminal
from proctor.sandbox import Limits
from qkv import exercises
from qkv.assignments import assignment
from qkv.exercises.one_sentence import OneSentence
from qkv.notebook import edit_sandbox, kernel, machine, places, progress
from qkv.notebook import hand_in as handing_in
from qkv.notebook.afterwards import beside_ours
from qkv.notebook.cases import case_of
from qkv.notebook.review import is_review
from qkv.notebook.status import Status

SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        "the and are for its not all any one two you was has how why who does what that this with your each which from "
        "have than them then they when into only same should would could there where more",
    )
)
LIMITS = Limits()  # of one answer, as in a graded run
SEARCH = 2.0  # seconds of processor time for the line of a mistake, in a notebook: somebody waits

kernel.install_hook()


class NotAnAnswer(OneSentence, TypeError):
    """Something that no exercise can be answered by."""


def check(answer: Callable[..., Any] | str) -> Result:
    """Check an answer against its exercise, which is found by the answer's name; the name alone will do. Weights are
    found by their file: they are checked by the name of the exercise, as in check("tiny_gpt").

    Parts that earlier exercises of the chapter built are the reference's while the check runs, so an earlier mistake
    does not show here.
    """
    if isinstance(answer, str) and answer in exercises.of_weights():
        return check_weights(answer)
    if isinstance(answer, str):
        exercise = exercises.get_code(answer)
        found = vars(sys.modules["__main__"]).get(answer)
        if found is None:
            run = Explanation(f"There is no `{exercise.name}` here yet: run the cell that defines it.")
            return Result(exercise.name, "not_started", 0.0, 0, len(exercise.counted()), explanations=(run,))
        answer = found
    if not callable(answer) or (name := name_of(answer)) is None:
        raise NotAnAnswer(f"check takes the function or class itself, not {answer!r}. For example: check(softmax)")
    exercise = exercises.get_code(name)
    if answer is exercise.reference:
        ours = Explanation(
            f"This {name} is ours. To write your own, run the cell of the exercise with your code in it."
        )
        return Result(name, "not_started", 0.0, 0, len(exercise.counted()), explanations=(ours,))
    failed = kernel.newer_version_that_failed(name, answer)
    if failed is None and kernel.newer_version_without(name, answer) is not None:
        sentence = f"The cell that defined `{name}` defines it no longer: what you see there now has another name."
        reason = f"The kernel still has the `{name}` of before. Run a cell that defines `{name}`, and check again."
        result = not_examined(exercise, Explanation(sentence, reason))
        progress.record(result)
        return result
    if failed is None:
        with (
            machine.on_the_cpu(),
            kernel.kept_alive(),
        ):  # where the inputs are drawn and the reference answers, as in a graded run
            return check_named(name, answer)
    sentence = f"The last version of `{name}` that you ran did not get through: {failed.why}."
    reason = (
        "The kernel still has the version before, which is not what you see. Mend the cell, run it, and check again."
    )
    result = not_examined(exercise, Explanation(sentence, reason))
    progress.record(result)
    return result


def check_weights(name: str) -> Result:
    """Check the weights that this folder holds for an exercise."""
    exercise = exercises.get_weights(name)
    path = Path(exercise.file)
    started = time.perf_counter()
    with machine.on_the_cpu():
        result = judge_weights(
            _weights_judge(name), [read_submitted_file(path.name, path)] if path.exists() or path.is_symlink() else []
        )
    if result.state == "not_started":
        absent = Explanation(f"There is no {exercise.file} in this folder. `{exercise.cell}` writes it.")
        return replace(result, explanations=(absent,))
    result = replace(result, seconds=time.perf_counter() - started, remarks=(*result.remarks, *age_of(path)))
    progress.record(result)
    return with_what_comes_next(result, exercise)


def age_of(path: Path) -> list[str]:
    """When a file of weights was written, and whether a later attempt to write it failed: it may not be what one
    thinks. Nothing where progress is not stored: a built edition has no time of day."""
    if progress.location() is None:
        return []
    written = datetime.fromtimestamp(path.stat().st_mtime)
    failure = handing_in.failure.rstrip(".")
    later = [f"The last hand_in wrote nothing ({failure}), so this is the file of before."] if failure else []
    return [f"{path} was written on {written.day} {written:%B} at {written:%H:%M}.", *later]


@cache
def _weights_judge(name: str) -> WeightsJudge:
    return WeightsJudge(exercises.get_weights(name))


def name_of(answer: Any) -> str | None:
    """The exercise that an answer goes by: its own name, or the one that the notebook has given to a lambda."""
    own = getattr(answer, "__name__", None)
    if own in exercises.of_code():
        return str(own)
    notebook = vars(sys.modules["__main__"])
    return next((name for name in exercises.of_code() if notebook.get(name) is answer), own)


def not_examined(exercise: Exercise, why: Explanation, line: int | None = None) -> Result:
    """The result of an answer that was stopped before anything could be said about it."""
    helped: Help | None = "located" if line else None
    return Result(
        exercise.name, "stopped", 0.0, 0, len(exercise.counted()), explanations=(why,), help=helped, line=line
    )


def check_named(name: str, answer: Callable[..., Any]) -> Result:
    """Check an answer that may go by another name, such as a lambda."""
    examiner = _examiner(exercises.get_code(name).name)
    started = time.perf_counter()
    shown = edit_sandbox.Progress()
    marker = live_marker(
        name, answer, examiner, edit_sandbox.sandboxed_line_search(shown, candidates=10_000, seconds=SEARCH)
    )
    try:
        marker.mark()
        result = marker.results[name]
    except KeyboardInterrupt as error:
        # before the verdict (an unconfirmed diagnosis does not count) it ends the check, afterwards only the search
        result = marker.results.get(name) or interrupted(examiner.exercise, answer, error)
        if result.misconceptions:
            result = interrupted(examiner.exercise, answer, error)
    except Exception as error:  # ours, not theirs: theirs end up in observations
        sentence = f"The check itself failed ({type(error).__name__}: {error}). That is our fault; please report it."
        count = len(examiner.exercise.counted())
        return Result(name, "fault", 0.0, 0, count, explanations=(Explanation(sentence),))
    finally:
        shown.end()
    result = replace(result, seconds=time.perf_counter() - started)
    if result.state == "fault":
        return result
    progress.record(result)
    if result.state in ("not_yet", "stopped") and result.probe and name in marker.seen:
        result = replace(result, case=case_of(examiner, result.probe, marker.seen[name][1], answer))
    return with_what_comes_next(with_ours(result, answer), examiner.exercise)


def with_ours(result: Result, answer: Callable[..., Any]) -> Result:
    """A passed result with our version, and one sentence on what to look at in one's own: the checker's remark, if it
    has one."""
    if result.state != "passed" or progress.location() is None:
        return result
    sentence, ours = beside_ours(result.exercise, answer)
    return replace(result, ours=ours, remarks=result.remarks or ((sentence,) if sentence else ()))


def live_marker(
    name: str, answer: Callable[..., Any], examiner: Examiner, locator: Locator | None = None
) -> SubmissionMarker:
    """The grader's marker for an answer that is an object of this process, without a sandbox."""
    asked = assignment((name,))
    answers = LiveAnswers(name, answer, asked, kernel.definitions_before(answer))
    return SubmissionMarker(asked, {name: examiner}, in_process({name: examiner}), answers, locator=locator)


def in_process(examiners: Mapping[str, Examiner]) -> InProcess:
    """A runner for answers to these exercises, in this process."""
    probes = {name: {p.name: p.function for p in e.exercise.probes.values()} for name, e in examiners.items()}
    return InProcess(probes, lambda name: examiners[name].draws, LIMITS)


def with_what_comes_next(result: Result, exercise: Question) -> Result:
    """A passed result with what was won and the next exercise; without a next one where progress is not stored."""
    if result.state != "passed" or progress.location() is None:
        return result
    following = progress.exercise_after(result.exercise)
    if following is None:
        return replace(result, why=exercise.why, next_step="nothing is left. You have built all of it.")
    step = f"exercise {places.exercise_number(following)}, `{following}` ({exercises.get(following).effort})."
    return replace(result, why=exercise.why, next_step=step, next_link=places.cell_link(following))


def interrupted(exercise: Exercise, answer: Any, error: KeyboardInterrupt) -> Result:
    """The card of an answer that was interrupted by Ctrl-C, with the line that was running."""
    raised = describe_exception(error, implementation=answer)
    where = f", at {raised.where}" if raised.where else ""
    why = Explanation(f"You interrupted the check{where}.", LOOPS if where else "")
    return not_examined(exercise, why, raised.line)


@cache
def _examiner(name: str) -> Examiner:
    return Examiner(exercises.get_code(name))


def check_paths(paths: Sequence[Path]) -> int:
    """Check what notebooks and Python files define, as the grader does.

    Returns:
        the exit code: 0 if all that is started passes, and every file could be read.
    """
    results: list[Result] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            found, unread = recorded(path)
        except KeyboardInterrupt as error:
            where = describe_exception(error).where
            print(f"You interrupted the check{f', at {where}' if where else ''}.")
            return 130  # as a shell says it
        results += found
        problems += unread
    for sentence in unreported(problems, results):
        print(sentence)
    for result in results:
        print(in_terminal(result), end="\n\n")
    print(counts_by_state(results) or "No exercise found.")
    fine = {result.state for result in results} <= {"passed", "not_started"}
    return 0 if results and fine and not problems else 1


def recorded(path: Path) -> tuple[list[Result], tuple[Problem, ...]]:
    """`check_file`, whose results are stored, with what comes next below those that pass."""
    results, problems = check_file(path)
    for result in results:
        progress.record(result)
        if result.state == "passed" and is_review(path):
            progress.record_review(result.exercise)
    return [with_what_comes_next(result, exercises.get(result.exercise)) for result in results], problems


def in_terminal(result: Result) -> str:
    """A result as text for a terminal, in which a command takes the place of a call."""
    text = terminal.terminal_text(result, colour=terminal.takes_colour())
    return re.sub(r'\bhint\("(\w+)"\)', r"qkv hint \1", text)


def unreported(problems: Sequence[Problem], results: Sequence[Result]) -> list[str]:
    """The problems that no card mentions."""
    return [p.sentence for p in problems if not any(p.sentence in result.message for result in results)]


def counts_by_state(results: Sequence[Result]) -> str:
    """Results in numbers: `3 passed, 1 not yet`."""
    counts = Counter(result.state for result in results)
    return ", ".join(f"{counts[state]} {IN_WORDS[state]}" for state in STATES if counts[state])


def check_file(path: Path) -> tuple[list[Result], tuple[Problem, ...]]:
    """The results of one file, and what of it cannot be read. A cell with a syntax error spoils only itself: an
    exercise that it was to define is stopped by it."""
    if path.suffix.lower() == WEIGHTS:
        return check_weights_file(path)
    source = extract(read_submitted_file(path.name, path))
    answers = Answers([source])
    names = [
        n
        for n in exercises.of_code()
        if answers.makes(0, n) or n in source.inside or any(p.mentions(n) for p in source.problems)
    ]
    shown = edit_sandbox.Progress()
    try:
        results = judged_in_process(
            answers, names, {name: _examiner(name) for name in names}, edit_sandbox.sandboxed_line_search(shown)
        )
    finally:
        shown.end()
    return results, source.problems


def check_weights_file(path: Path) -> tuple[list[Result], tuple[Problem, ...]]:
    """The results for a file of weights, which answers the exercise that it is named after, and its problems."""
    file = read_submitted_file(path.name, path)
    weights_judges = [_weights_judge(name) for name in exercises.of_weights()]
    results = [
        judge_weights(weights_judge, [file])
        for weights_judge in weights_judges
        if answers_exercise(file.name, weights_judge.exercise)
    ]
    return results, tuple(map(Problem, unasked_weights([file], weights_judges)))


def judged_in_process(
    answers: Answers, names: Sequence[str], examiners: Mapping[str, Examiner], locator: Locator | None = None
) -> list[Result]:
    """The verdicts on some answers of one student by the grader's schedule, without its walls."""
    marker = SubmissionMarker(assignment(tuple(names)), examiners, in_process(examiners), answers, locator=locator)
    marker.mark()
    judge_copies(marker)
    return [marker.results[name] for name in names]


class Hint(str):
    """A hint that a notebook shows as text, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def hint(name: str | Callable[..., Any], more: bool = False) -> Hint:
    """The next hint for an exercise: about the mistake that was made last, as long as there is more to say of it; then
    the one that is nearest to it, if one is near; then the gentlest. The last one says where the solution is.

    The next one is given after another check, or after a minute. How many there are is not said: who sees a count
    clicks to its end.

    Args:
        more: the next one, now.
    """
    exercise = exercises.get(exercises.name_of(name))
    last = progress.hint_to_think_about(exercise.name)
    if last and not more:
        insist = f'hint("{exercise.name}", more=True), or `qkv hint {exercise.name} --more`'
        return Hint(f"{last}\nTry it first: there is more after your next check, or in a minute. At once: {insist}.")
    text = further_hint(exercise)
    progress.note_hint(exercise.name, text)
    return Hint(text)


def further_hint(exercise: Question) -> str:
    """The next hint, whenever the last one was given."""
    step = progress.next_step(exercise.name)
    if step is not None:
        return step
    made = progress.load_progress()["mistakes"].get(exercise.name, [])
    known = [exercise.misconceptions[m].explanation for m in made if m in exercise.misconceptions]
    order = by_nearness(exercise.hints, " ".join(f"{e.sentence} {e.reason}" for e in known))
    index = progress.next_hint(exercise.name, order)
    if index is None:
        return f"Those were all the hints. {solution(exercise.name)}"
    last = f" {solution(exercise.name)}" if index == order[-1] else ""
    return f"{exercise.hints[index]}{last}"


def by_nearness(hints: Sequence[str], mistake: str) -> list[int]:
    """The order in which hints are given: one that shares several words with the mistake comes first."""
    words = content_words(mistake)
    shared = [len(content_words(text) & words) for text in hints]
    order = list(range(len(hints)))
    if shared and max(shared) >= 3 and shared.count(max(shared)) == 1:
        nearest = shared.index(max(shared))
        order.remove(nearest)
        order.insert(0, nearest)
    return order


def content_words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z_]{3,}", text.lower()) if word not in SMALL_WORDS}


def solution(name: str) -> str:
    """A sentence that says where the solution is folded."""
    page = places.page_link(name)
    if name in exercises.of_weights():
        return f"The chapter trains weights that pass{f': {page}' if page else ''}. Compare your training with its own."
    number = places.exercise_number(name)
    where = page or f"the book's page of chapter {number.partition('.')[0]}, exercise {number}"
    return f'The solution is on {where}, under "Show solution": read it, close it, and write it yourself.'


def next_hint(name: str, more: bool = False) -> str:
    return str(hint(name, more))


def status() -> Status:
    """Progress over the course: a bar per chapter, and the next exercise."""
    return Status.now()
