"""The fused Llama says what the plain one says, at once and by the cache; windows hide what they should."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from qkv.model.fused_llama import fuse_llama
from qkv.model.today import Llama

IDS = torch.randint(0, 11, (3, 12), generator=torch.Generator().manual_seed(0))


def new(n_groups: int = 2, qk_norm: bool = False) -> Llama:
    torch.manual_seed(0)
    return Llama(11, 16, 4, n_groups, 2, 20, qk_norm=qk_norm).eval()


@torch.no_grad()
@pytest.mark.parametrize("n_groups", [1, 2, 4])
@pytest.mark.parametrize("qk_norm", [False, True])
def test_the_same_logits_caches_and_gradients(n_groups, qk_norm):
    plain, fused = new(n_groups, qk_norm), fuse_llama(new(n_groups, qk_norm))
    expected, caches = plain(IDS)
    found, kept = fused(IDS)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(kept, caches)
    with torch.enable_grad():
        for model in (plain, fused):
            model(IDS)[0].square().sum().backward()
    for ours, theirs in zip(fused.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("windows", [None, (None, 4), (3, 3), (1, 30)])
def test_in_pieces_as_at_once(windows):
    model = fuse_llama(new(), windows)
    pieces, caches = [], None
    for piece in IDS.split([5, 1, 1, 3, 1, 1], dim=1):
        logits, caches = model(piece, caches)
        pieces.append(logits)
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(IDS)[0])


@torch.no_grad()
def test_a_window_hides_what_is_further_back():
    model, other = fuse_llama(new(), (3, 3)), IDS.clone()
    other[:, 2] = (other[:, 2] + 1) % 11
    same = (model(IDS)[0] - model(other)[0]).abs().amax(dim=(0, 2)) < 1e-5
    assert same.tolist() == [True] * 2 + [False] * 5 + [True] * 5  # two layers of three reach four back


class GroupedAttention(nn.Module):
    """A student's, with other steps and the parameters of the stub."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["n_heads"], self.__dict__["n_groups"], self.__dict__["d_head"] = 4, 2, 4
        self.q_proj, self.out_proj = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)
        self.k_proj, self.v_proj = nn.Linear(16, 8, bias=False), nn.Linear(16, 8, bias=False)
        self.q_norm, self.k_norm = nn.Identity(), nn.Identity()


@torch.no_grad()
def test_a_students_part_goes_by_its_name():
    plain, theirs = new(), new()
    for layer in theirs.layers:
        own = GroupedAttention()
        own.load_state_dict(layer["attention"].state_dict())
        layer["attention"] = own
    torch.testing.assert_close(fuse_llama(theirs)(IDS)[0], plain(IDS)[0])


def test_windows_that_can_not_be():
    with pytest.raises(ValueError, match=r"^windows has 3 entries, expected 2: one for each attention\.$"):
        fuse_llama(new(), (None, 2, 2))
    with pytest.raises(ValueError, match=r"^windows contains 0, expected 1 or more, or None"):
        fuse_llama(new(), (None, 0))
