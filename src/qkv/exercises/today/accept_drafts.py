"""The exercise `accept_drafts`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import generator, integers, normal, permutation, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, settled
from qkv.model.today import accept_drafts

TEST = "if not u[t] * float(q[t, x]) < float(p[t, x]):"

RAND = "u = torch.rand(len(drafted), generator=generator, device=generator.device)"
LAST = "return [*kept, {}]"

exercise = Exercise(
    accept_drafts,
    section="Drafts",
    minutes=15,
    difficulty=3,
    why="A small model writes ahead, a large one keeps what it would have written: faster, and not a word different.",
    hints=[
        "p is 0.5, 0.5, q is 0.9, 0.1, and 0 was drafted. How often should it be kept, so that 0 comes half the time?",
        "All random numbers u are drawn first, n of them in one call, whatever becomes of them.",
        "What the draft gave too rarely has to be made up for when it is refused: p - q, where that is positive.",
        "The list ends with the first word that is refused, which is replaced. If none is, p has one more row.",
    ],
    equivalents={
        f"{RAND}.tolist()  ->  u = torch.rand(len(drafted), generator=generator).tolist()": (
            "every generator of a check is on the CPU"
        ),
        f"{RAND}.tolist()  ->  {RAND}": "a tensor of one number is compared as the number is",
        f"{TEST}  ->  if not u[t] * float(q[t, x]) < p[t, x]:": "the same",
        f"{TEST}  ->  if not u[t] * q[t, x] < float(p[t, x]):": "the same",
        f"{LAST.format('int(torch.multinomial(p[-1], 1, generator=generator))')}  ->  "
        f"{LAST.format('torch.multinomial(p[-1], 1, generator=generator)')}": "a tensor of one id counts as the id",
    },
)


def distributions(n: int, vocab: int, name: str, std: float = 1.2) -> Tensor:
    return normal(n, vocab, seed=name, std=std).softmax(-1)


def a_draft(n: int, vocab: int, name: str) -> tuple[Tensor, Tensor, Tensor]:
    """A reader and a draft that agree in part."""
    q = distributions(n, vocab, f"q {name}")
    p = distributions(n + 1, vocab, f"p {name}")
    p[:n] = (p[:n] + q) / 2
    return p, q, integers(0, vocab, n, seed=f"drafted {name}")


def ids_of(written: Any) -> list[int]:
    return [int(i) for i in written]


def several(accept_drafts: Any, count: int, make: Callable[[int], tuple[Tensor, Tensor, Tensor]]) -> Seen:
    """The ids of so many drafts, and what each generator gives next."""
    seen: Seen = {}
    for i in range(count):
        g = settled(f"draft {i}")
        ids = ids_of(accept_drafts(*make(i), g))
        seen |= {f"ids of draft {i}": ids, f"drawn after draft {i}": torch.rand(2, generator=g)}
    return seen


@exercise.probe
def some_kept_some_not(accept_drafts: Any) -> Seen:
    """twelve drafts of some words, and what the generator gives afterwards"""
    n, vocab = whole(3, 6, seed="n"), whole(5, 12, seed="vocab")
    return several(accept_drafts, 12, lambda i: a_draft(n, vocab, f"some {i}"))


@exercise.probe
def single_words(accept_drafts: Any) -> Seen:
    """twelve drafts of one word"""
    vocab = whole(5, 12, seed="vocab of one")
    return several(accept_drafts, 12, lambda i: a_draft(1, vocab, f"single {i}"))


@exercise.probe
def nothing_drafted(accept_drafts: Any) -> Seen:
    """four drafts of no word"""
    vocab = whole(5, 12, seed="vocab of none")
    return several(accept_drafts, 4, lambda i: a_draft(0, vocab, f"none {i}"))


@exercise.probe
def the_same_model(accept_drafts: Any) -> Seen:
    """four drafts by the reader itself, p = q: every word is kept"""
    n, vocab = whole(3, 7, seed="n of same"), whole(4, 9, seed="vocab of same")

    def make(i: int) -> tuple[Tensor, Tensor, Tensor]:
        p, _, drafted = a_draft(n, vocab, f"same {i}")
        return p, p[:n].clone(), drafted

    return several(accept_drafts, 4, make)


@exercise.probe
def the_reader_likes_it_more(accept_drafts: Any) -> Seen:
    """four drafts of words that the reader finds likelier than the draft did"""
    n, vocab = whole(3, 7, seed="n of more"), whole(5, 9, seed="vocab of more")

    def make(i: int) -> tuple[Tensor, Tensor, Tensor]:
        p, q, drafted = a_draft(n, vocab, f"more {i}")
        q[torch.arange(n), drafted] = 0.7 * torch.minimum(p[:n], q)[torch.arange(n), drafted]
        return p, q / q.sum(-1, keepdim=True).clamp(min=1), drafted

    return several(accept_drafts, 4, make)


@exercise.probe
def the_reader_never_says_it(accept_drafts: Any) -> Seen:
    """six drafts with a word in the middle that the reader never says"""
    vocab = whole(5, 9, seed="vocab of never")

    def make(i: int) -> tuple[Tensor, Tensor, Tensor]:
        p, _, drafted = a_draft(4, vocab, f"never {i}")
        q = p[:4].clone()
        p[2, drafted[2]] = 0.0
        return p / p.sum(-1, keepdim=True), q, drafted

    return several(accept_drafts, 6, make)


@exercise.probe
def quite_another_opinion(accept_drafts: Any) -> Seen:
    """eight drafts of a draft model that is sure of something else"""
    n, vocab = whole(2, 5, seed="n of other"), whole(6, 12, seed="vocab of other")

    def make(i: int) -> tuple[Tensor, Tensor, Tensor]:
        p, q = distributions(n + 1, vocab, f"p other {i}"), distributions(n, vocab, f"q other {i}", 3.0)
        return p, q, q.argmax(-1)

    return several(accept_drafts, 8, make)


@exercise.probe
def refused_and_still_likely(accept_drafts: Any) -> Seen:
    """forty drafts of a word that both like, the draft more than the reader"""
    vocab = whole(4, 7, seed="vocab of eager")

    def make(i: int) -> tuple[Tensor, Tensor, Tensor]:
        rest, x = distributions(3, vocab, f"eager {i}"), whole(0, vocab, seed=f"word {i}")
        liked = torch.zeros(vocab).index_fill(0, torch.tensor([x]), 1.0)
        return 0.5 * liked + 0.5 * rest[:2], 0.95 * liked + 0.05 * rest[2:], torch.tensor([x])

    return several(accept_drafts, 40, make)


def at_the_limit(u: Tensor, start: int) -> Tensor:
    """Marks one of the numbers, if any, that a logarithm and its exponential do not make larger: who compares u with
    exp(log p - log q) is right as well, and no rounding is to decide."""
    held = [t for t in range(len(u)) if all(v.log().exp() <= v for v in (u[t], u[t].double()))]
    return torch.tensor([bool(held) and t == held[start % len(held)] for t in range(len(u))])


@exercise.probe
def exactly_at_the_limit(accept_drafts: Any) -> Seen:
    """six copied drafts, of which one word's u·q equals p to the last digit"""
    n, vocab = whole(2, 5, seed="n of limit"), whole(4, 9, seed="vocab of limit")

    def make(i: int) -> tuple[Tensor, Tensor, Tensor]:
        drafted = integers(0, vocab, n, seed=f"drafted limit {i}")
        q = torch.zeros(n, vocab).scatter(1, drafted[:, None], 1.0)
        u = torch.rand(n, generator=settled(f"draft {i}"))  # what will be drawn
        liked = torch.where(at_the_limit(u, i), u, (1 + u) / 2)[:, None]
        p = distributions(n + 1, vocab, f"p limit {i}")
        others = p[:n] * (1 - q)
        p[:n] = liked * q + (1 - liked) * others / others.sum(1, keepdim=True)
        return p, q, drafted

    return several(accept_drafts, 6, make)


@exercise.probe
def certain(accept_drafts: Any) -> Seen:
    """distributions that leave nothing to chance, in every dtype"""
    vocab = whole(6, 10, seed="vocab of certain")
    words = permutation(vocab, seed="words").tolist()
    seen: Seen = {}
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        p = torch.zeros(4, vocab, dtype=dtype)
        p[range(4), words[:4]] = 1.0
        q = torch.full((3, vocab), 0.0, dtype=dtype)
        q[:, words[:4]] = 0.25
        for drafted in (words[:3], [words[0], words[2], words[2]], [words[3], words[1], words[2]]):
            ids = accept_drafts(p.clone(), q.clone(), torch.tensor(drafted), generator(f"certain {drafted}"))
            name = f"{[words.index(x) for x in drafted]} in {str(dtype).removeprefix('torch.')}"
            seen[f"ids of {name}"] = ids_of(ids)
    return seen


@exercise.probe
def one_word_in_the_world(accept_drafts: Any) -> Seen:
    """a vocabulary of one word, and of two"""
    alone = several(accept_drafts, 1, lambda i: (torch.ones(4, 1), torch.ones(3, 1), torch.zeros(3).long()))
    two = several(accept_drafts, 6, lambda i: a_draft(2, 2, f"two {i}"))
    return {**{f"{name}, of one": value for name, value in alone.items()}, **two}


def a_usual_draft() -> tuple[Any, ...]:
    return *a_draft(4, 7, "usual"), generator("usual")


usual(
    exercise,
    a_usual_draft,
    # draws of another dtype are other draws
    without=("gradients", "in_float64", "in_float16", "in_bfloat16", "other_device"),
)


def all_at_first(n: int, generator: torch.Generator) -> list[float]:
    found: list[float] = torch.rand(n, generator=generator).tolist()
    return found


def often_enough(u: float, p: float, q: float) -> bool:
    return u * q < p


def what_was_too_rare(p: Tensor, q: Tensor, x: int) -> Tensor:
    return (p - q).clamp(min=0)


def drawn(weights: Tensor, generator: torch.Generator) -> int:
    return int(torch.multinomial(weights, 1, generator=generator))


def row_behind(p: Tensor, q: Tensor) -> Tensor | None:
    return p[-1]


def ended(kept: list[int], x: int, instead: int) -> list[int]:
    return [*kept, instead]


@exercise.assembled
def accepted_in_steps(
    p: Tensor,
    q: Tensor,
    drafted: Tensor,
    generator: torch.Generator,
    *,
    chance: Any = all_at_first,
    keep: Any = often_enough,
    rest: Any = what_was_too_rare,
    pick: Any = drawn,
    behind: Any = row_behind,
    end: Any = ended,
) -> list[int]:
    u = chance(len(drafted), generator)
    kept: list[int] = []
    for t, x in enumerate(drafted.tolist()):
        if not keep(u[t], float(p[t, x]), float(q[t, x])):
            found: list[int] = end(kept, x, pick(rest(p[t], q[t], x), generator))
            return found
        kept.append(x)
    last = behind(p, q)
    return kept if last is None else [*kept, pick(last, generator)]


@exercise.instead_of("chance")
def one_for_the_whole_draft(n: int, generator: torch.Generator) -> list[float]:
    """You draw a single u and use it for every word.

    Then words are kept or refused together. Each has a u of its own.
    """
    return torch.rand(1, generator=generator).tolist() * n


@exercise.instead_of("chance")
def seeded_anew(n: int, generator: torch.Generator) -> list[float]:
    """Your u do not come from the generator that you are given, but from torch's own.

    Whoever seeds a generator expects to meet the same text again.
    """
    found: list[float] = torch.rand(n).tolist()
    return found


@exercise.instead_of("chance")
def one_u_too_many(n: int, generator: torch.Generator) -> list[float]:
    """You draw n + 1 numbers u.

    There are n drafted words; the word after them is not judged. A number too many, and the generator stands elsewhere.
    """
    found: list[float] = torch.rand(n + 1, generator=generator).tolist()
    return found


@exercise.instead_of("chance")
def normal_numbers(n: int, generator: torch.Generator) -> list[float]:
    """Your u are normal numbers.

    Half of them are negative and keep every word. u is uniform between 0 and 1: `torch.rand`.
    """
    found: list[float] = torch.randn(n, generator=generator).tolist()
    return found


@exercise.instead_of("keep")
def with_probability_p(u: float, p: float, q: float) -> bool:
    """You keep a word with probability p, whatever q is.

    The draft has already chosen it with probability q. To come out at p it has to be kept with p/q, or always where
    that is more than 1.
    """
    return u < p


@exercise.instead_of("keep")
def upside_down(u: float, p: float, q: float) -> bool:
    """You keep a word with probability q/p.

    What the draft says too often has to be refused now and then: p/q.
    """
    return u * p < q


@exercise.instead_of("keep")
def only_what_is_likelier(u: float, p: float, q: float) -> bool:
    """You refuse every word that the reader finds less likely than the draft did.

    Such a word is refused only sometimes, with probability 1 - p/q; else it would come too rarely.
    """
    return p >= q


@exercise.instead_of("keep")
def the_other_side(u: float, p: float, q: float) -> bool:
    """You keep a word where u·q is *above* p.

    Then the words that both like are refused. It is kept where u·q < p.
    """
    return u * q > p


@exercise.instead_of("keep")
def kept_at_the_limit(u: float, p: float, q: float) -> bool:
    """You keep a word also where u·q equals p.

    u can be 0, and then a word that the reader never says would be kept. It is kept where u·q is below p.
    """
    return u * q <= p


@exercise.instead_of("keep")
def squared(u: float, p: float, q: float) -> bool:
    """You keep a word with probability p·q.

    p and q are compared, not multiplied: kept with p/q.
    """
    return u < p * q


@exercise.instead_of("rest")
def from_p_again(p: Tensor, q: Tensor, x: int) -> Tensor:
    """You draw the replacement from p.

    Then words that the draft proposes often come too often: they had their chance already. What is left for the
    replacement is p - q, where that is positive.
    """
    return p


@exercise.instead_of("rest")
def anything_but_the_draft(p: Tensor, q: Tensor, x: int) -> Tensor:
    """You draw the replacement from p without the refused word.

    Other words that the draft proposes more often than p does must not get another chance either: p - q, where that is
    positive.
    """
    return p.index_fill(0, torch.tensor([x], device=p.device), 0.0) + 1e-30


@exercise.instead_of("rest")
def in_either_direction(p: Tensor, q: Tensor, x: int) -> Tensor:
    """You draw the replacement from |p - q|.

    Where the draft is too eager nothing has to be made up for. Only what is positive of p - q counts.
    """
    return (p - q).abs() + 1e-30


@exercise.instead_of("rest")
def what_was_too_often(p: Tensor, q: Tensor, x: int) -> Tensor:
    """You draw the replacement from q - p, where that is positive.

    These are the words that the draft gives too often. Made up for is what it gives too rarely: p - q.
    """
    return (q - p).clamp(min=0) + 1e-30


@exercise.instead_of("rest")
def not_cut_off(p: Tensor, q: Tensor, x: int) -> Tensor:
    """You draw from p - q, which has negative entries.

    `torch.multinomial` refuses them. What is negative has to become 0.
    """
    return p - q


@exercise.instead_of("pick")
def the_likeliest(weights: Tensor, generator: torch.Generator) -> int:
    """You take the likeliest word instead of drawing one.

    Then the text is not distributed as p. Both the replacement and the word after a draft are drawn.
    """
    return int(weights.argmax())


@exercise.instead_of("pick")
def drawn_from_torchs_own(weights: Tensor, generator: torch.Generator) -> int:
    """Words that take a place, or come after a draft, are not drawn from the generator that you are given.

    `torch.multinomial` takes it as well: `generator=generator`. Else nobody meets the same text again.
    """
    return int(torch.multinomial(weights, 1))


@exercise.misconception
def likeliest_replacement(p: Tensor, q: Tensor, drafted: Tensor, generator: torch.Generator) -> list[int]:
    """In the place of a word that is refused you put the likeliest one; it is to be drawn.

    Otherwise the text is not distributed as p. The word after a draft is drawn, and so is the replacement.
    """

    def lacking_most(p: Tensor, q: Tensor, x: int) -> Tensor:
        rest = what_was_too_rare(p, q, x)
        return -rest  # below 0, which no row after a draft is

    def pick(weights: Tensor, generator: torch.Generator) -> int:
        return int(weights.argmin()) if bool((weights < 0).any()) else drawn(weights, generator)

    return accepted_in_steps(p, q, drafted, generator, rest=lacking_most, pick=pick)


@exercise.instead_of("behind")
def nothing_behind(p: Tensor, q: Tensor) -> None:
    """Where all words are kept you add none.

    The reader has read the whole draft and knows what follows: p has a row more than q. Without this word a draft of
    nothing would write nothing.
    """
    return


@exercise.instead_of("behind")
def last_row_but_one(p: Tensor, q: Tensor) -> Tensor:
    """Where all words are kept you draw the next from row n-1 of p.

    That row was for the last drafted word. The word after it has row n, the last one.
    """
    return p[max(len(q) - 1, 0)]


@exercise.instead_of("behind")
def first_row(p: Tensor, q: Tensor) -> Tensor:
    """Where all words are kept you draw the next from row 0 of p.

    Row 0 was for the first drafted word; the word after the draft has row n.
    """
    return p[0]


@exercise.instead_of("end")
def refused_word_stays(kept: list[int], x: int, instead: int) -> list[int]:
    """The refused word stays in your list, and its replacement comes after it.

    The replacement takes its place.
    """
    return [*kept, x, instead]


@exercise.instead_of("end")
def nothing_instead(kept: list[int], x: int, instead: int) -> list[int]:
    """You return the kept words without the one that takes the place of the refused word.

    It is drawn in any case, so a call gives at least one word, and the text gets on.
    """
    return kept


@exercise.misconception
def drawn_when_needed(p: Tensor, q: Tensor, drafted: Tensor, generator: torch.Generator) -> list[int]:
    """You draw a u for each word when you come to it.

    After a refusal fewer are drawn, and the generator stands elsewhere. All n are drawn first, in one call.
    """
    kept: list[int] = []
    for t, x in enumerate(drafted.tolist()):
        if float(torch.rand(1, generator=generator)) * float(q[t, x]) >= float(p[t, x]):
            return [*kept, drawn((p[t] - q[t]).clamp(min=0), generator)]
        kept.append(x)
    return [*kept, drawn(p[-1], generator)]


@exercise.misconception
def goes_on_after_a_refusal(p: Tensor, q: Tensor, drafted: Tensor, generator: torch.Generator) -> list[int]:
    """After a refusal you go on with the next drafted word.

    It was drafted after a word that is not there any more, and p was read after it as well. The list ends with the
    replacement.
    """
    u = all_at_first(len(drafted), generator)
    found = []
    for t, x in enumerate(drafted.tolist()):
        kept = often_enough(u[t], float(p[t, x]), float(q[t, x]))
        found.append(x if kept else drawn((p[t] - q[t]).clamp(min=0), generator))
    return [*found, drawn(p[-1], generator)]


@exercise.misconception
def one_more_after_a_refusal(p: Tensor, q: Tensor, drafted: Tensor, generator: torch.Generator) -> list[int]:
    """After a refusal you add the word after the draft as well.

    The last row of p was read after all drafted words. If one of them is refused, nobody knows what follows.
    """
    found = accept_drafts(p, q, drafted, generator)
    whole_draft = len(found) > len(drafted) and found[:-1] == drafted.tolist()
    return found if whole_draft else [*found, drawn(p[-1], generator)]


@exercise.misconception
def rows_of_the_next_word(p: Tensor, q: Tensor, drafted: Tensor, generator: torch.Generator) -> list[int]:
    """You judge drafted word t by row t+1 of p.

    Row t of p is what the reader says at the place of drafted word t. A model's logits at a position are for the word
    after it, but here that shift is made already.
    """
    n = len(q)
    return accept_drafts(p[[*range(1, n + 1), n]], q, drafted, generator)
