"""Tasks that need order, each in another way: by distance, by place, by recency, by where words end.

Each gives (inputs, targets) of int64 (batch, length) for a length and a generator; a target of -100 is not asked for,
as `F.cross_entropy` has it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

NOT_ASKED = -100


def past(n: int) -> Tensor:
    """Which of n tokens each may look at if order counts: itself and those before it (n, n), True where it may."""
    return torch.ones(n, n).tril().bool()


def echo(batch: int, length: int, generator: torch.Generator, vocab: int = 10, delay: int = 3) -> tuple[Tensor, Tensor]:
    """Say at every position which token stood `delay` positions earlier. Only the distance matters."""
    tokens = torch.randint(vocab, (batch, length), generator=generator)
    targets = tokens.roll(delay, dims=1)
    targets[:, :delay] = NOT_ASKED  # nothing stood there
    return tokens, targets


def reverse(batch: int, length: int, generator: torch.Generator, vocab: int = 10) -> tuple[Tensor, Tensor]:
    """Say the sequence backwards. Only the place matters: position t needs position length - 1 - t."""
    tokens = torch.randint(vocab, (batch, length), generator=generator)
    return tokens, tokens.flip(1)


def mood(
    batch: int, length: int, generator: torch.Generator, vocab: int = 10, stay: float = 0.9, clear: float = 0.4
) -> tuple[Tensor, Tensor]:
    """Tell the speaker's mood, a hidden token that lasts for a while; each token is the mood or, more often, noise.

    Only recency matters: newer tokens are better witnesses than older ones.

    Args:
        stay: how likely the mood is to last another position.
        clear: how likely a token is to be the mood itself; otherwise it is drawn from the whole vocabulary.
    """
    drawn, noise = (torch.randint(vocab, (batch, length), generator=generator) for _ in range(2))
    changes = torch.rand(batch, length, generator=generator) >= stay
    since = torch.where(changes, torch.arange(length), 0).cummax(dim=1).values  # when the present mood began
    moods = drawn.gather(1, since)
    tokens = torch.where(torch.rand(batch, length, generator=generator) < clear, moods, noise)
    return tokens, moods


def mood_by_bayes(tokens: Tensor, vocab: int = 10, stay: float = 0.9, clear: float = 0.4) -> Tensor:
    """The best possible answers to `mood` (batch, length): the likeliest mood given all tokens so far."""
    batch, length = tokens.shape
    belief = torch.full((batch, vocab), 1 / vocab)
    answers = []
    for t in range(length):
        says = F.one_hot(tokens[:, t], vocab) * clear + (1 - clear) / vocab  # (batch, vocab): p(token | mood)
        belief = says * (stay * belief + (1 - stay) / vocab)
        belief = belief / belief.sum(dim=-1, keepdim=True)
        answers.append(belief.argmax(dim=-1))
    return torch.stack(answers, dim=1)


def whereabouts(batch: int, length: int, generator: torch.Generator, vocab: int = 10) -> tuple[Tensor, Tensor]:
    """Say your own position. The first token marks the start (0), the others are random and say nothing."""
    tokens = torch.randint(1, vocab, (batch, length), generator=generator)
    tokens[:, 0] = 0
    return tokens, torch.arange(length).expand(batch, length)


def pairs(batch: int, length: int, generator: torch.Generator, letters: str = "pqr") -> tuple[list[list[str]], Tensor]:
    """Find p before q: 0 no such pair ends here, 1 it does and a word ends between the two, 2 it does inside one word.

    Returns:
        the pieces of each text, marked with ## where they continue a word, and targets (batch, length).
    """
    drawn = torch.randint(len(letters), (batch, length), generator=generator)
    later = torch.rand(batch, length, generator=generator) < 0.5
    later[:, 0] = False
    texts = [
        ["##" * go_on + letters[letter] for letter, go_on in zip(row, marks, strict=True)]
        for row, marks in zip(drawn.tolist(), later.tolist(), strict=True)
    ]
    p_before = F.pad(drawn[:, :-1] == letters.index("p"), (1, 0))
    is_pair = p_before & (drawn == letters.index("q"))
    return texts, is_pair * (1 + later.long())
