"""Elsewhere: the same machine on DNA, on series of numbers, and on pictures with words.

Stormo et al. 1982 (weight matrices of motifs); Nie et al. 2023 (patches of a series); Hyndman and Koehler 2006 (the
scaled error); Welford 1962 (a running variance); Radford et al. 2021 (pictures with words). Shapes: see
model/__init__.py. Bases A C G T N are the ids 0 1 2 3 4; N is unknown. The complement of b < 4 is 3 - b, N is its own.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.expect import expects
from qkv.model.positions import also


def no_base(ids: Tensor) -> str:
    other = ids[(ids < 0) | (ids > 4)]
    return f"ids contains {int(other[0])}, expected 0 to 4, for A C G T N." if len(other) else ""


def not_a_kmer(ids: Tensor, k: int, canonical: bool) -> str:
    return no_base(ids) if k <= 31 else f"k is {k}, expected at most 31: 4**k has to fit into an int64."


def not_a_motif(ids: Tensor, pwm: Tensor) -> str:
    if pwm.shape[1] != 4:
        return f"pwm has {pwm.shape[1]} columns, expected 4: one for each of A C G T."
    return no_base(ids)


def cut_outside(length: int, context: int, horizon: int, cut: int) -> str:
    return "" if cut <= length else f"cut is {cut}, expected at most length = {length}."


def short_history(forecast: Tensor, actual: Tensor, history: Tensor, season: int) -> str:
    time = history.shape[-1]
    if time > season:
        return ""
    return f"history has {time} values, expected more than season = {season}: each meets the one a season before."


@expects(ids="int: ... seq*", k="positive")
@also.expects(not_a_kmer)
def kmer_ids(ids: Tensor, k: int, canonical: bool = False) -> Tensor:
    """Read DNA in words of k bases, one word from each position on.

    Args:
        ids: bases (..., seq), int64: A C G T N are 0 1 2 3 4.
        k: how many bases a word has; neighbouring words overlap in k - 1.
        canonical: give a word and its reverse complement, which is the same
            place read on the other strand, one number: the smaller of both.

    Returns:
        words int64 (..., max(seq - k + 1, 0)): the k bases from t on as a number
        in base 4, the first base highest. A word with an N in it is 4**k.
    """
    n = max(ids.shape[-1] - k + 1, 0)
    step = torch.arange(k, device=ids.device)
    starts = torch.arange(n, device=ids.device)
    windows = ids[..., starts[:, None] + step]  # (..., n, k)
    words = (windows * 4 ** step.flip(0)).sum(dim=-1)
    if canonical:
        other_strand = ((3 - windows) * 4**step).sum(dim=-1)  # the last base comes first there
        words = torch.minimum(words, other_strand)
    unknown = (windows == 4).any(dim=-1)
    return words.masked_fill(unknown, 4**k)


@expects(ids="int: ... seq*", pwm="m base")
@also.expects(not_a_motif)
def motif_scores(ids: Tensor, pwm: Tensor) -> tuple[Tensor, Tensor]:
    """Slide a motif along DNA and score every place, on both strands.

    Args:
        ids: bases (..., seq), int64: A C G T N are 0 1 2 3 4.
        pwm: what each base is worth at each place of the motif (m, 4), any
            floating numbers; the columns are A C G T. An N adds 0.

    Returns:
        forward and backward, each (..., max(seq - m + 1, 0)). forward[t] is the
        sum of what the bases t … t+m-1 are worth; backward[t] is the forward
        score of the reverse complement of the same bases.
    """
    m = len(pwm)
    n = max(ids.shape[-1] - m + 1, 0)
    place = torch.arange(m, device=ids.device)
    starts = torch.arange(n, device=ids.device)
    windows = ids[..., starts[:, None] + place]  # (..., n, m)
    complement = torch.where(windows == 4, 4, 3 - windows)
    worth = F.pad(pwm, (0, 1))  # (m, 5), 0 for N
    forward = worth[place, windows].sum(dim=-1)
    backward = worth[place, complement.flip(-1)].sum(dim=-1)
    return forward, backward


@expects(x="... time*", patch="positive")
def patch_series(x: Tensor, patch: int) -> Tensor:
    """Cut a series into patches side by side, so that each can be a token.

    Args:
        x: a series, oldest value first (..., time).
        patch: how many values a patch has.

    Returns:
        patches (..., time // patch, patch) in the order of time. The last one
        ends with the newest value; the oldest time % patch values are dropped.
    """
    time = x.shape[-1]
    n_patches = time // patch
    newest = x[..., time - n_patches * patch :]
    return newest.unflatten(-1, (n_patches, patch))


@expects(length="size", context="size", horizon="positive", cut="size")
@also.expects(cut_outside)
def time_split(length: int, context: int, horizon: int, cut: int) -> tuple[Tensor, Tensor]:
    """Split the windows of a series into those to learn from and those to be tested on.

    A window that starts at s reads s … s+context-1 and predicts the `horizon`
    values from s+context on. It lies inside 0 … length-1.

    Args:
        length: how many values the series has.
        context: how many values a window reads, 0 or more.
        horizon: how many values it predicts, 1 or more.
        cut: the time, from 0 to length, at which the test begins.

    Returns:
        train and test, int64, the starts of their windows in order. In train all
        that is predicted is before cut; in test all of it is at or after cut,
        whatever is read. A window that predicts both sides is in neither.
    """
    starts = torch.arange(max(length - context - horizon + 1, 0))
    first = starts + context  # of what is predicted
    return starts[first + horizon <= cut], starts[first >= cut]


@expects(x="... time", eps="above 0")
def running_zscore(x: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalise a series without a look ahead: each value by what is known by then.

    Args:
        x: a series (..., time).
        eps: added to the variance, above 0.

    Returns:
        z (..., time): x_t minus the mean of x_0 … x_t, divided by the root of
        their biased variance + eps; as accurate as layer_norm.
    """
    precise = x.to(torch.promote_types(x.dtype, torch.float32))  # bfloat16 cannot count to 257
    seen = torch.arange(1, x.shape[-1] + 1, dtype=precise.dtype, device=x.device)  # how many values
    moved = precise - precise[..., :1]  # no digits are lost to a large mean
    mean = moved.cumsum(dim=-1) / seen
    mean_before = F.pad(mean, (1, -1))  # of x_0 … x_{t-1}
    # What a value adds to the sum of squares around the mean; none is negative, so nothing cancels.
    added = (moved - mean_before).square() * (seen - 1) / seen
    variance = added.cumsum(dim=-1) / seen
    return ((moved - mean) / torch.sqrt(variance + eps)).to(x.dtype)


@expects(forecast="... horizon", actual="... horizon", history="... time", season="positive")
@also.expects(short_history)
def scaled_error(
    forecast: Tensor,
    actual: Tensor,
    history: Tensor,
    season: int = 1,
) -> Tensor:
    """Compare a forecast's error with what it costs to repeat the last season (MASE).

    Args:
        forecast: what was predicted (..., horizon).
        actual: what came (..., horizon).
        history: what was known before (..., time), more values than a season,
            and not all of them equal to the one a season before.
        season: how far back the naive forecast looks.

    Returns:
        error (...): the mean of |forecast - actual|, divided by the mean of
        |history[t] - history[t - season]| over t = season … time-1.
    """
    error = (forecast - actual).abs().mean(dim=-1)
    naive = (history[..., season:] - history[..., :-season]).abs().mean(dim=-1)
    return error / naive


@expects(scores="n n", k="positive")
def retrieval_recall(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Say how often the text of an image, and the image of a text, is among the k best.

    Args:
        scores: how well image i fits text j (n, n); image i belongs to text i.
        k: how many answers count; it may exceed n.

    Returns:
        image to text and text to image, two scalars: the share of rows, and of
        columns, whose own entry (i, i) is among the k best. A tie is lost: own is
        found if fewer than k other entries are as large or larger.
    """
    own = scores.diagonal()
    others = ~torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    texts_ahead = ((scores >= own[:, None]) & others).sum(dim=1)
    images_ahead = ((scores >= own) & others).sum(dim=0)
    image_to_text = (texts_ahead < k).to(scores.dtype).mean()
    text_to_image = (images_ahead < k).to(scores.dtype).mean()
    return image_to_text, text_to_image
