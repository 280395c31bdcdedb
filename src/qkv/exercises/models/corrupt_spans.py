"""The exercise `corrupt_spans`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, whole
from proctor.inside.properties import keeps_inputs
from proctor.inside.situations import Seen
from qkv.exercises.models.shared import Pair
from qkv.model.models import (
    corrupt_spans,
)

exercise = Exercise(
    corrupt_spans,
    section="T5: fill the gaps",
    minutes=10,
    difficulty=2,
    why="One format for every task: the question is a text with gaps, and the answer is what belongs into them.",
    hints=[
        "Take [5, 6, 7, 8, 9] and the span (1, 2): write inputs and targets by hand, with sentinel 99.",
        "Walk from span to span and remember where the last one ended: what lies between stays in the inputs.",
        "Each span has a sentinel, which stands in both lists. How is the target of the last span ended?",
    ],
)


def drawn_ids(length: int, seed: str) -> list[int]:
    """Ids of which many occur more than once."""
    return integers(0, 9, length, seed=seed).tolist()


def drawn_cuts(count: int, length: int, seed: str) -> list[int]:
    """Different places strictly inside a text, in order."""
    return sorted(distinct(1, length, count, seed=seed))


def corrupted(result: Any) -> Seen:
    inputs, targets = result
    return {"inputs": inputs, "targets": targets}


@exercise.probe
def spans_apart(corrupt_spans: Any) -> Seen:
    """three spans with ids between them"""
    cuts = drawn_cuts(6, 24, "apart")
    spans = [(a, b - a) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
    return corrupted(corrupt_spans(drawn_ids(24, "ids apart"), spans, whole(100, 200, seed="sentinel")))


@exercise.probe
def spans_that_touch(corrupt_spans: Any) -> Seen:
    """four spans, of which neighbours touch"""
    a, b, c, d, e, f = drawn_cuts(6, 20, "touching")
    spans = [(a, b - a), (b, c - b), (d, e - d), (e, f - e)]
    return corrupted(corrupt_spans(drawn_ids(20, "ids touching"), spans, whole(50, 99, seed="lower sentinel")))


@exercise.probe
def from_end_to_end(corrupt_spans: Any) -> Seen:
    """a span that begins the text and one that ends it"""
    a, b = drawn_cuts(2, 15, "ends")
    return corrupted(corrupt_spans(drawn_ids(15, "ids"), [(0, a), (b, 15 - b)], whole(300, 400, seed="high")))


@exercise.probe
def single_ids(corrupt_spans: Any) -> Seen:
    """spans of one id"""
    places = drawn_cuts(4, 12, "single")
    return corrupted(corrupt_spans(drawn_ids(12, "few"), [(at, 1) for at in places], whole(40, 80, seed="single")))


@exercise.probe
def no_span_and_nothing_else(corrupt_spans: Any) -> Seen:
    """no spans, and one span that is the whole text"""
    length, sentinel = whole(4, 9, seed="length"), whole(60, 90, seed="the sentinel")
    ids = drawn_ids(9, "short")[:length]
    untouched = corrupted(corrupt_spans(list(ids), [], sentinel))
    gone = corrupted(corrupt_spans(list(ids), [(0, length)], sentinel))
    return {f"{n} without spans": v for n, v in untouched.items()} | {f"{n}, all hidden": v for n, v in gone.items()}


exercise.property(keeps_inputs(lambda: (drawn_ids(10, "kept ids"), [(1, 2), (5, 3)], 77)))


def counted_down(i: int, sentinel: int) -> int:
    return sentinel - i


def as_given(start: int, length: int) -> tuple[int, int]:
    return start, start + length


def one_mark(mark: int, hidden_ids: list[int]) -> list[int]:
    return [mark]


def mark_then_ids(mark: int, hidden_ids: list[int]) -> list[int]:
    return [mark, *hidden_ids]


def closed(mark: int) -> list[int]:
    return [mark]


@exercise.assembled
def corrupted_in_steps(
    ids: list[int],
    spans: Sequence[Pair],
    sentinel: int,
    *,
    mark: Any = counted_down,
    bounds: Any = as_given,
    replace: Any = one_mark,
    say: Any = mark_then_ids,
    close: Any = closed,
) -> tuple[list[int], list[int]]:
    inputs: list[int] = []
    targets: list[int] = []
    end = 0
    for i, span in enumerate(spans):
        last, (start, end) = end, bounds(*span)
        inputs += ids[last:start] + replace(mark(i, sentinel), ids[start:end])
        targets += say(mark(i, sentinel), ids[start:end])
    return inputs + ids[end:], targets + close(mark(len(spans), sentinel))


@exercise.instead_of("mark")
def counted_up(i: int, sentinel: int) -> int:
    """Your sentinels count up.

    T5's stand at the end of its vocabulary, the first of them last, so they count down from `sentinel`.
    """
    return sentinel + i


@exercise.instead_of("mark")
def one_for_all(i: int, sentinel: int) -> int:
    """All your spans have the same sentinel.

    Then nobody can tell which of the gaps a piece of the target belongs to.
    """
    return sentinel


@exercise.instead_of("mark")
def one_lower(i: int, sentinel: int) -> int:
    """Your first span has sentinel - 1.

    Spans are counted from 0: the first has `sentinel` itself.
    """
    return sentinel - i - 1


@exercise.instead_of("bounds")
def start_and_end(start: int, length: int) -> tuple[int, int]:
    """You read a span as (start, end).

    Its second number is a length: the span ends before start + length.
    """
    return start, length


@exercise.instead_of("bounds")
def end_included(start: int, length: int) -> tuple[int, int]:
    """Your spans are one id too long.

    A span of length 2 that starts at 5 has the ids at 5 and 6.
    """
    return start, start + length + 1


@exercise.instead_of("bounds")
def counted_from_one(start: int, length: int) -> tuple[int, int]:
    """You count positions from 1: your spans begin one id too early.

    Positions count from 0.
    """
    return max(start - 1, 0), max(start - 1, 0) + length


@exercise.instead_of("replace")
def a_mark_for_every_id(mark: int, hidden_ids: list[int]) -> list[int]:
    """Every hidden id becomes a sentinel, so the inputs tell how long a span is.

    A span becomes *one* sentinel, whatever its length. How much is missing is part of the question.
    """
    return [mark] * len(hidden_ids)


@exercise.instead_of("replace")
def cut_without_a_mark(mark: int, hidden_ids: list[int]) -> list[int]:
    """Your spans vanish from the inputs without a trace.

    In their place stands a sentinel; otherwise nobody knows where something is missing.
    """
    return []


@exercise.instead_of("say")
def said_without_marks(mark: int, hidden_ids: list[int]) -> list[int]:
    """Your targets have no sentinels before the spans.

    They tell which gap the ids that follow belong to.
    """
    return list(hidden_ids)


@exercise.instead_of("say")
def mark_behind_its_ids(mark: int, hidden_ids: list[int]) -> list[int]:
    """In your targets a sentinel stands after its span.

    It announces what follows: first the sentinel, then the ids.
    """
    return [*hidden_ids, mark]


@exercise.instead_of("close")
def not_closed(mark: int) -> list[int]:
    """Your targets have no closing sentinel.

    The last span's end is marked by the next sentinel, as the end of every other span is.
    """
    return []


@exercise.instead_of("close")
def closed_by_an_end(mark: int) -> list[int]:
    """You put an end of sequence after the targets.

    Here they end with the closing sentinel; whoever wants an end adds it.
    """
    return [mark, 1]


@exercise.misconception
def ends_added(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You put an end of sequence after inputs and targets.

    T5's own data have one. Here both lists are as they are; whoever wants an end adds it.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return [*inputs, 1], [*targets, 1]


@exercise.misconception
def exchanged(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You return the targets first and the inputs second.

    The model reads the first of the two, and would read the answers.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return targets, inputs


@exercise.misconception
def counted_from_behind(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You give `sentinel` to the last span, not to the first.

    Replacing the spans from the end keeps their places right, but they are still counted from the front.
    """
    last = len(spans) - 1
    inputs, targets = corrupted_in_steps(ids, spans, sentinel, mark=lambda i, sentinel: sentinel - (last - i))
    return inputs, [*targets[:-1], sentinel - len(spans)]


@exercise.misconception
def no_target_without_spans(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """Without spans your targets are empty.

    They are always closed by a sentinel; with no span before it, that is `sentinel` itself.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return inputs, targets if spans else []


@exercise.misconception
def places_shift(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You replace one span after the other in the same list, so the places of later spans shift.

    After the first replacement the list is shorter, but the starts still count in the original text.
    """
    inputs, targets = list(ids), []
    for i, (start, length) in enumerate(spans):
        targets += [sentinel - i, *inputs[start : start + length]]
        inputs[start : start + length] = [sentinel - i]
    return inputs, [*targets, sentinel - len(spans)]


@exercise.misconception
def touching_spans_joined(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You make one span of two that touch.

    Each span has a sentinel of its own, also where nothing stands between two of them. (T5's own code joins them: its
    spans are made from a mask, which cannot say where one ends that touches the next.)
    """
    joined: list[Pair] = []
    for start, length in spans:
        if joined and sum(joined[-1]) == start:
            joined[-1] = joined[-1][0], joined[-1][1] + length
        else:
            joined.append((start, length))
    return corrupt_spans(ids, joined, sentinel)


@exercise.misconception
def tail_lost(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """Your inputs end with the last span: what comes after it is lost.

    After the loop the rest of the ids is still to be read.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    rest = len(ids) - max((start + length for start, length in spans), default=0)
    return inputs[: len(inputs) - rest], targets


@exercise.misconception
def inputs_closed_too(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You close the inputs with a sentinel as well.

    Nothing is missing at the end of the inputs; the closing sentinel ends the targets.
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return [*inputs, sentinel - len(spans)], targets


@exercise.misconception
def last_sentinel_again(ids: list[int], spans: Sequence[Pair], sentinel: int) -> tuple[list[int], list[int]]:
    """You close the targets with the sentinel of the last span.

    The closing one is the next, which no span has: sentinel - len(spans).
    """
    inputs, targets = corrupt_spans(ids, spans, sentinel)
    return inputs, [*targets[:-1], sentinel - max(len(spans) - 1, 0)]
