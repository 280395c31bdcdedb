"""The exercise `majority_vote`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from proctor import Exercise
from proctor.examining.usual_mistakes import ignores
from proctor.inside.inputs import distinct, integers, permutation, whole
from proctor.inside.properties import keeps_inputs
from proctor.inside.situations import Seen, if_it_runs
from qkv.model.aligned import (
    majority_vote,
)

exercise = Exercise(
    majority_vote,
    section="A vote",
    minutes=10,
    difficulty=2,
    why="It needs no judge and no training: where wrong answers disagree, the right one has the most votes.",
    hints=[
        "Keep a total for each answer, and remember in which order they came.",
        "None does not vote, but an empty string, 0 and False are answers like any other.",
        "Sorting needs answers that can be compared by size. Here they can only be compared for being equal.",
        "What does your code do with an empty list? And if every weight is 0?",
    ],
    equivalents={
        "totals: dict[Answer, float] = {}  ->  totals: dict[float, Answer] = {}": "an annotation",
        "weights = [1] * len(answers)  ->  weights = [2] * len(answers)": "every total is doubled",
        "totals[answer] = totals.get(answer, 0) + weight  ->  "
        "totals[answer] = totals.get(answer, 1) + weight": "every total is 1 more",
        "for answer, weight in zip(answers, weights, strict=True):  ->  "
        "for answer, weight in zip(answers, weights):": "there are as many weights as answers",
        "for answer, weight in zip(answers, weights, strict=True):  ->  "
        "for answer, weight in zip(answers, weights, strict=False):": "there are as many weights as answers",
    },
)

Votes = list[Any]


def answers_of(seed: str, count: int) -> list[Hashable]:
    """Different answers, of kinds that can't be sorted together, in random order."""
    letters = [chr(c) for c in distinct(ord("a"), ord("z") + 1, 3, seed=f"{seed}: letters")]
    numbers = distinct(50, 90, 3, seed=f"{seed}: numbers")
    pairs = [tuple(distinct(0, 9, 2, seed=f"{seed}: pair {i}")) for i in range(2)]
    known: list[Hashable] = [*letters, *numbers, *dict.fromkeys(pairs), frozenset(numbers)]
    return [known[i] for i in permutation(len(known), seed=f"{seed}: which")[:count].tolist()]


def shuffled(votes: Iterable[Any], seed: str) -> Votes:
    given = list(votes)
    return [given[i] for i in permutation(len(given), seed=seed).tolist()]


def told(case: str, votes: Sequence[Any], result: Any) -> Seen:
    """What can be said of a result whatever the votes mean: its first place among them, -1 if it has none."""
    behind = f", {case}" if case else ""
    places = [i for i, vote in enumerate(votes) if type(vote) is type(result) and vote == result]
    return {
        f"the result is None{behind}": result is None,
        f"the result is a number{behind}": isinstance(result, int | float),
        f"index of the result among the votes (-1: not there){behind}": (
            places[0] if places and result is not None else -1
        ),
    }


def winner(majority_vote: Any, case: str, votes: Votes, weights: list[float] | None = None) -> Seen:
    given = (list(votes),) if weights is None else (list(votes), list(weights))
    return told(case, votes, majority_vote(*given))


def a_clear_majority() -> Votes:
    """One answer has five votes, the others have four, two and one; None stands between them."""
    a, b, c, d = answers_of("clear", 4)
    return shuffled([*[a] * 5, *[b] * 4, *[c] * 2, d, None, None], "clear order")


@exercise.probe
def a_clear_winner(majority_vote: Any) -> Seen:
    """votes for words, numbers and tuples, of which one has the most"""
    return winner(majority_vote, "", a_clear_majority())


@exercise.probe
def no_more_than_half(majority_vote: Any) -> Seen:
    """a winner with far less than half of the votes"""
    a, *others = answers_of("plural", 6)
    votes = shuffled([a, a, a, *others, *others[:3]], "plural order")
    return winner(majority_vote, "", votes)


@exercise.probe
def most_have_no_answer(majority_vote: Any) -> Seen:
    """more samples without an answer than with any"""
    a, b = answers_of("hardly", 2)
    votes = shuffled([*[None] * 6, a, a, a, b, b], "hardly order")
    by_name = majority_vote(answers=list(votes), weights=None)
    return winner(majority_vote, "", votes) | told("called by name", votes, by_name)


@exercise.probe
def ties(majority_vote: Any) -> Seen:
    """answers with equally many votes, in several orders"""
    found: Seen = {}
    for i in range(4):
        a, b, c = answers_of(f"tie {i}", 3)
        votes = shuffled([a, a, a, b, b, b, c], f"tie order {i}")
        found |= winner(majority_vote, f"tie {i + 1}", votes)
    return found


@exercise.probe
def later_but_sooner_there(majority_vote: Any) -> Seen:
    """a tie in which the answer that came first has its last vote last, and other ties"""
    a, b, c = answers_of("sooner", 3)
    late = [a, *[b] * 3, a, a] if whole(0, 2, seed="with a third") else [c, a, *[b] * 2, a]
    return (
        winner(majority_vote, "last vote of the winner last", [None, *late])
        | winner(majority_vote, "votes of the winner first", [c, a, a, b, b])
        | winner(majority_vote, "all votes different", shuffled(answers_of("each once", 5), "each once order"))
    )


@exercise.probe
def weighted(majority_vote: Any) -> Seen:
    """weights: a few heavy votes against many light ones"""
    a, b, c = answers_of("weighted", 3)
    order = permutation(9, seed="weighted order").tolist()
    votes = [[a, a, b, b, b, b, c, None, None][i] for i in order]
    heavy = [[3.0, 2.5, 0.5, 1.0, 0.25, 1.5, 4.5, 9.0, 9.0][i] for i in order]
    light = [[0.5, 0.25, 2.0, 1.0, 0.5, 0.25, 3.5, 8.0, 1.0][i] for i in order]
    by_name = majority_vote(list(votes), weights=list(light))
    return winner(majority_vote, "", votes, heavy) | told("called by name", votes, by_name)


def in_order(votes: Votes, weights: dict[Any, list[float]]) -> list[float]:
    """A weight for each vote: of those of its answer the next."""
    left = {answer: iter(given) for answer, given in weights.items()}
    return [next(left[vote]) for vote in votes]


@exercise.probe
def unevenly_weighted(majority_vote: Any) -> Seen:
    """answers whose votes have different weights, and one heavy vote against many that weigh next to nothing"""
    a, b, c = answers_of("uneven", 3)
    votes = shuffled([a, a, b, b, None], "uneven order")
    light = shuffled([*[a] * 6, b, c, None], "light order")
    rising = in_order(votes, {a: [1.0, 4.0], b: [2.75, 2.75], None: [6.0]})
    falling = in_order(votes, {a: [4.0, 1.0], b: [2.75, 2.75], None: [6.0]})
    against_one = in_order(light, {a: [0.125] * 6, b: [1.0], c: [0.5], None: [2.0]})
    return (
        winner(majority_vote, "rising weights", votes, rising)
        | winner(majority_vote, "falling weights", votes, falling)
        | winner(majority_vote, "many light weights against one", light, against_one)
    )


@exercise.probe
def drawn_votes(majority_vote: Any) -> Seen:
    """votes and weights drawn at random, in quarters, 0 among them"""
    found: Seen = {}
    for i in range(4):
        n = whole(6, 14, seed=f"number {i}")
        kinds: list[Any] = [*answers_of(f"drawn {i}", 3), None]
        votes = [kinds[j] for j in integers(0, 4, n, seed=f"votes {i}").tolist()]
        weights = (integers(0, 9, n, seed=f"weights {i}") / 4).tolist()
        found |= winner(majority_vote, f"draw {i + 1}, with weights", votes, weights)
        found |= winner(majority_vote, f"draw {i + 1}, without weights", votes)
    return found


@exercise.probe
def tied_by_weight(majority_vote: Any) -> Seen:
    """answers with equal totals, though not equally many votes"""
    a, b, c = answers_of("by weight", 3)
    share = whole(1, 8, seed="quarters") / 4
    votes = shuffled([c, *[a] * 4, *[b] * 2], "order by weight")
    weights = [{c: 3 * share, a: share, b: 2 * share}[vote] for vote in votes]
    return (
        winner(majority_vote, "", votes, weights)
        | winner(majority_vote, "last vote of the winner last", [a, b, b, a], [share, 2 * share, share, 2 * share])
        | winner(majority_vote, "two light votes against one", [a, a, b], [share, share, 2 * share])
        | winner(majority_vote, "one heavy vote against two", [a, None, b, b], [2 * share, 0.0, share, share])
    )


@exercise.probe
def weights_of_zero(majority_vote: Any) -> Seen:
    """votes of weight 0: all of them, and the first of a tie"""
    votes = shuffled([None, *answers_of("zero", 4)], "zero order")
    a, b = answers_of("late weight", 2)
    gap = whole(0, 3, seed="gap")
    behind: Votes = [*[None] * gap, a, b, a]
    return winner(majority_vote, "all weights 0", votes, [0.0] * 5) | winner(
        majority_vote, "a tie, weight 0 on the first vote", behind, [*[0.0] * gap, 0.0, 2.0, 2.0]
    )


@exercise.probe
def answers_that_are_false(majority_vote: Any) -> Seen:
    """an empty string, 0, False and an empty tuple as answers"""
    false: list[Any] = ["", 0, False, ()]
    found: Seen = {}
    for i in permutation(4, seed="order of false ones").tolist():
        other = answers_of(f"other {i}", 1)[0]
        votes = shuffled([false[i]] * 3 + [other] * 2 + [None], f"order of false ones {i}")
        found |= winner(majority_vote, f"most votes for {false[i]!r}", votes)
    return found


@exercise.probe
def nobody_votes(majority_vote: Any) -> Seen:
    """nobody votes, and one who does"""
    a = answers_of("alone", 1)[0]
    silent: Votes = [None] * whole(1, 5, seed="silent")
    return if_it_runs(
        lambda: (
            winner(majority_vote, "no answers", silent)
            | winner(majority_vote, "no answers, with weights", silent, [1.5] * len(silent))
            | winner(majority_vote, "an empty list", [])
            | winner(majority_vote, "one answer", [*silent, a])
        )
    )


@exercise.property
def turned_round(majority_vote: Any) -> Seen:
    """the same votes, begun at another place

    Where there is no tie, it does not matter with whom the count begins.
    """
    votes = a_clear_majority()
    first = majority_vote(list(votes))
    begun = [majority_vote(votes[i:] + votes[:i]) for i in range(1, len(votes))]
    return {"the same": [type(one) is type(first) and one == first for one in begun]}


exercise.property(keeps_inputs(lambda: ([5, None, 3, 5, 3, 5], [1.0, 2.0, 0.5, 0.25, 4.0, 1.0])))


def not_none(answer: Any) -> bool:
    return answer is not None


def in_order_of_coming(votes: list[tuple[Any, float]]) -> dict[Any, float]:
    totals: dict[Any, float] = {}
    for answer, weight in votes:
        totals[answer] = totals.get(answer, 0) + weight
    return totals


def first_of_the_largest(totals: dict[Any, float], votes: list[tuple[Any, float]]) -> Any:
    return max(totals, key=lambda answer: totals[answer], default=None)


def as_given(weights: list[float]) -> list[float]:
    return weights


def the_answer(best: Any, totals: dict[Any, float]) -> Any:
    return best


@exercise.assembled
def vote_in_steps(
    answers: Sequence[Any],
    weights: Sequence[float] | None = None,
    *,
    votes: Any = not_none,
    weigh: Any = as_given,
    count: Any = in_order_of_coming,
    choose: Any = first_of_the_largest,
    finish: Any = the_answer,
) -> Any:
    each = weigh([1.0] * len(answers) if weights is None else list(weights))
    cast = [(answer, weight) for answer, weight in zip(answers, each, strict=True) if votes(answer)]
    totals = count(cast)
    return finish(choose(totals, cast), totals)


@exercise.instead_of("votes")
def silence_counted(answer: Any) -> bool:
    """You let None vote.

    None means that a sample has no answer: it was cut off, or nothing could be read in it. Silence is no opinion.
    """
    return True


@exercise.instead_of("votes")
def false_answers_dropped(answer: Any) -> bool:
    """You drop answers that count as false in Python: 0, False, an empty string, an empty tuple.

    Each of them may be what a sample says. Only None is no answer.
    """
    return bool(answer)


@exercise.instead_of("count")
def largest_vote(votes: list[tuple[Any, float]]) -> dict[Any, float]:
    """You keep the heaviest vote of each answer; its votes should be added up.

    What many agree on has a large total, even if each of them counts for little.
    """
    totals: dict[Any, float] = {}
    for answer, weight in votes:
        totals[answer] = max(totals.get(answer, 0), weight)
    return totals


@exercise.instead_of("count")
def last_vote(votes: list[tuple[Any, float]]) -> dict[Any, float]:
    """You keep the weight of the last vote for each answer; its votes should be added up.

    Assigning to an entry that exists replaces it.
    """
    return dict(votes)


@exercise.instead_of("count")
def last_weight_for_all(votes: list[tuple[Any, float]]) -> dict[Any, float]:
    """You count the votes of an answer and multiply by one weight, that of the last of them.

    Every vote has a weight of its own, and these are added up.
    """
    numbers = in_order_of_coming([(answer, 1.0) for answer, _ in votes])
    return {answer: numbers[answer] * weight for answer, weight in dict(votes).items()}


@exercise.instead_of("count")
def mean_vote(votes: list[tuple[Any, float]]) -> dict[Any, float]:
    """You compare the mean weight of the votes for each answer.

    Then it does not matter how many agree. The total counts.
    """
    totals, numbers = in_order_of_coming(votes), in_order_of_coming([(answer, 1.0) for answer, _ in votes])
    return {answer: totals[answer] / numbers[answer] for answer in totals}


@exercise.instead_of("count")
def neighbours_only(votes: list[tuple[Any, float]]) -> dict[Any, float]:
    """You add up votes only where equal ones stand next to each other.

    `itertools.groupby` begins a new group at every change. Votes for one answer belong together, wherever they stand.
    """
    totals: dict[Any, float] = {}
    run, before = 0.0, None
    for answer, weight in votes:
        run = run + weight if before == answer and type(before) is type(answer) else weight
        before = answer
        totals[answer] = max(totals.get(answer, 0), run)
    return totals


@exercise.instead_of("count")
def as_text(votes: list[tuple[Any, float]]) -> dict[Any, float]:
    """You turn the answers into text: the winner comes back as a string, whatever it was.

    Answers are compared as they are: 3 and "3" are two. The winner is returned as it was given.
    """
    return in_order_of_coming([(str(answer), weight) for answer, weight in votes])


@exercise.instead_of("count")
def zeros_not_there(votes: list[tuple[Any, float]]) -> dict[Any, float]:
    """You leave votes of weight 0 out altogether.

    Such a vote adds nothing to a total, but it has come: it decides which of two equals came first, and if all weights
    are 0 the first answer wins.
    """
    return in_order_of_coming([(answer, weight) for answer, weight in votes if weight > 0])


@exercise.instead_of("choose")
def last_of_the_largest(totals: dict[Any, float], votes: list[tuple[Any, float]]) -> Any:
    """Of equal totals you take the answer that came last.

    A tie goes to the answer that came first.
    """
    return max(reversed(totals), key=lambda answer: totals[answer], default=None)


@exercise.instead_of("choose")
def smallest_total(totals: dict[Any, float], votes: list[tuple[Any, float]]) -> Any:
    """You take the answer with the *smallest* total.

    The largest is asked for: sorting begins with the smallest.
    """
    return min(totals, key=lambda answer: totals[answer], default=None)


@exercise.instead_of("choose")
def first_to_get_there(totals: dict[Any, float], votes: list[tuple[Any, float]]) -> Any:
    """Of equal totals you take the answer that reached its total first.

    Whoever keeps a leader while counting does so. A tie goes to the answer whose *first* vote came first.
    """
    running: dict[Any, float] = {}
    best = None
    for answer, weight in votes:
        running[answer] = running.get(answer, 0) + weight
        if best is None or running[answer] > running[best]:
            best = answer
    return best


@exercise.instead_of("choose")
def last_to_get_there(totals: dict[Any, float], votes: list[tuple[Any, float]]) -> Any:
    """Of equal totals you take the answer that reached its total last.

    Whoever keeps a leader while counting, and lets go of it for an equal, does so. A tie goes to the answer whose
    *first* vote came first.
    """
    running: dict[Any, float] = {}
    best = None
    for answer, weight in votes:
        running[answer] = running.get(answer, 0) + weight
        if best is None or running[answer] >= running[best]:
            best = answer
    return best


@exercise.instead_of("choose")
def more_than_half(totals: dict[Any, float], votes: list[tuple[Any, float]]) -> Any:
    """You want more than half of the votes, and return None where nobody has them.

    The largest total is enough, however small its share is.
    """
    best = first_of_the_largest(totals, votes)
    return best if best is not None and 2 * totals[best] > sum(totals.values()) else None


@exercise.instead_of("choose")
def a_vote_without_anybody(totals: dict[Any, float], votes: list[tuple[Any, float]]) -> Any:
    """Where nobody votes your code raises an error.

    All samples may be without an answer, and the list may be empty. Then the result is None.
    """
    return max(totals, key=lambda answer: totals[answer])


@exercise.instead_of("choose")
def by_text_in_a_tie(totals: dict[Any, float], votes: list[tuple[Any, float]]) -> Any:
    """Of equal totals you take the answer that is first in the alphabet, as text.

    Answers have no order of their own. A tie goes to the answer that came first.
    """
    return min(totals, key=lambda answer: (-totals[answer], str(answer)), default=None)


@exercise.instead_of("finish")
def number_of_votes(best: Any, totals: dict[Any, float]) -> Any:
    """You return how many votes the winner has.

    The answer itself is asked for.
    """
    return None if best is None else totals[best]


@exercise.instead_of("finish")
def answer_and_votes(best: Any, totals: dict[Any, float]) -> Any:
    """You return the answer together with its total.

    `most_common` gives such pairs. The answer alone is asked for.
    """
    return None if best is None else (best, totals[best])


@exercise.misconception
def weights_in_another_order(answers: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    """You drop None from the answers, but not from the weights: from there on votes have the weights of others.

    There is a weight for every sample, None included. Keep each beside its answer.
    """
    spoken = [answer for answer in answers if answer is not None]
    return majority_vote(spoken, None if weights is None else list(weights)[: len(spoken)])


ignores(exercise, "weights")
