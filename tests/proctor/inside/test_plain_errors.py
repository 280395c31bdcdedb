"""Errors as torch raises them here, and the clause that says what did not fit."""

import pytest
import torch

from proctor.inside.plain_errors import in_plain_words

ones = torch.ones
TWO_DTYPES = "Tensors of two dtypes meet, float32 and float64: give a tensor that you make the dtype of the inputs."


def in_place():
    x = ones(3, requires_grad=True)
    x += 1


def overwritten():
    x = ones(3, requires_grad=True)
    y = x.exp()
    y += 1
    y.sum().backward()


def unpacked(count):
    _a, _b = ones(count)


@pytest.mark.parametrize(
    ("raises", "words"),
    [
        (lambda: ones(2, 5) + ones(2, 3),
         "Sizes 5 and 3 meet in dimension 1: they have to be equal, or one of them 1."),
        (lambda: ones(15, 7) @ ones(5, 7), "In a product of matrices (15, 7) and (5, 7) the last size of the first, 7, "
         "has to equal the first size of the second, 5."),
        (lambda: ones(2, 3, 7) @ ones(2, 5, 7), "In this product of batches of matrices the second factor has to begin "
         "with the sizes (2, 7), the batch and the last size of the first; it begins with (2, 5)."),
        (lambda: ones(30).view(2, 3, 4), "The tensor has 30 entries, and the shape (2, 3, 4) takes 24."),
        (lambda: ones(30).view(-1, 4), "30 entries cannot be arranged in the shape (-1, 4): 30 is no multiple of 4."),
        (lambda: ones(3).expand(2, 5), "A tensor of shape (3,) cannot be stretched to (2, 5): 3 is neither 5 nor 1."),
        (lambda: torch.cat([ones(2, 3), ones(2, 4)], 0),
         "Tensors that are joined along dimension 0 need equal sizes in the others: 3 is not 4."),
        (lambda: torch.stack([ones(3), ones(4)]), "Tensors that are stacked need one shape: (3,) is not (4,)."),
        (lambda: torch.einsum("ij,jk->ik", ones(2, 3), ones(4, 5)), "The letter j stands for two sizes, 3 and 4."),
        (lambda: ones(2, 3).T.view(6),
         "`view` needs entries that lie in memory in this order, and after a transpose they do not."),
        (lambda: ones(3).half().masked_fill(ones(3).bool(), -1e9), "A number of yours is too large for float16. Where "
         "it is to hide a score, -inf does so in every dtype."),
        (lambda: ones(2, 2) @ ones(2, 2).double(), TWO_DTYPES),
        (lambda: ones(2, 2, 2) @ ones(2, 2, 2).double(), TWO_DTYPES),
        (lambda: ones(2, device="meta") + ones(2),
         "Tensors of two devices meet. Give a tensor that you make the device of the inputs."),
        (lambda: bool(ones(2) > 0),
         "An `if`, `while`, `and`, `or` or `not` asks a tensor of several entries for one yes or no."),
        (lambda: ones(5)[5], "Dimension 0 has 5 entries, counted from 0, and number 5 is asked for."),
        (lambda: ones(2, 3).sum(2), "The tensor has 2 dimensions, 0 to 1 (or -2 to -1), and dimension 2 is asked for."),
        (lambda: ones(2).sum(-2), "The tensor has one dimension, 0 (or -1), and dimension -2 is asked for."),
        (lambda: ones(2)[:, 0], "The tensor has 1 dimension, and more indices stand in the brackets."),
        (lambda: unpacked(3), "2 names stand on the left of the `=`, and more values came."),
        (lambda: unpacked(1), "2 names stand on the left of the `=`, and 1 came."),
        (in_place, "You write into an input, of which a gradient is asked: compute a new tensor instead."),
        (overwritten, "You write into a tensor that the gradient still needs as it was: compute a new one instead."),
        (lambda: ones(6).item(), "One number is taken out of a tensor that has 6 entries."),
        (lambda: float(ones(6)), "One number is taken out of a tensor that has several entries."),
        (lambda: ones(2, requires_grad=True).numpy(),
         "numpy knows nothing of gradients: torch has the same functions."),
        (lambda: torch.softmax(torch.ones(2).long(), 0), "torch cannot do this with numbers of the dtype int64."),
        (lambda: torch.topk(ones(3), 4),
         "The k largest are asked for along a dimension that has fewer than k entries."),
        (lambda: torch.arange(4, 2),
         "A range that counts up ends before it begins: its first number is larger than its end."),
        (lambda: torch.bmm(ones(2, 2), ones(2, 2)),
         "`bmm` multiplies tensors of exactly three dimensions; `@` takes any number of leading ones."),
        (lambda: {}["q"], ""),
        (lambda: 1 / 0, ""),
    ],
)  # fmt: skip
def test_the_clause_says_what_did_not_fit(raises, words):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        raises()
    assert in_plain_words(str(caught.value)) == words, str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there():
    with pytest.raises((AssertionError, RuntimeError)) as caught:
        ones(2).cuda()
    assert in_plain_words(str(caught.value)).startswith("There is no GPU here, and none is needed.")
