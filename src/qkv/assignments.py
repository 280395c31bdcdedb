"""The course's exercises as something that can be judged: what is handed out, and what may be imported where.

While a chapter is marked, a submission may import the parts that earlier chapters built, and nothing of its own or of
later chapters.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from proctor.marking.assignment import Assignment, ExerciseSheet
from qkv import course, exercises, model

TITLE = "QKV"
PUBLIC_MODULES = ("expect",)  # modules of qkv.model that are no chapter, but that chapters import
SETUP = """\
import math
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""

# what stands for the course itself where submissions run: its helpers for notebooks do nothing there
COURSE = """
import torch as _torch

def check(*args, **options): ...
def hint(*args, **options): ...
def status(*args, **options): ...
def skip(*args, **options): ...
def reset(*args, **options): ...
def hand_in(*args, **options): ...
def device(*args, **options): return _torch.device("cpu")
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    import importlib
    try:
        return importlib.import_module("qkv." + name)
    except ImportError:
        raise AttributeError(name) from None
"""
# "your own part": a graded submission gets ours, as far as its chapter may import it
MINE = """
def __getattr__(name):
    import importlib
    for stem in {stems!r}:
        try:
            return getattr(importlib.import_module("qkv.model." + stem), name)
        except (ImportError, AttributeError):
            pass
    raise AttributeError(name)
"""
INERT = ("qkv.figures", "qkv.tasks")

# what answers of this course do, for a rehearsal before the first of them
REHEARSAL = '''
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    """Words."""
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)

class Attention(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        scores = x @ x.transpose(-2, -1) / math.sqrt(x.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = softmax(scores)
        return self.proj(weights @ x), weights

for _ in range(4):
    x = torch.ones(2, 3, 4, requires_grad=True)
    out, weights = Attention(4)(x, torch.ones(3, 3, dtype=torch.bool).tril())
    (out.mean(-1) + out.var(-1) - weights.log().clamp(min=0).sum(-1)).sum().backward()
    F.layer_norm(x.detach().to("meta"), (4,))
    Attention(4).double()(x.detach().double())
    Attention(4).bfloat16()(x.detach().bfloat16())
    torch.einsum("bid,bjd->bij", x, x).view(2, 9).unsqueeze(0).expand(3, 2, 9).permute(2, 0, 1).contiguous()
    torch.cat([x, x], dim=-1).reshape(2, 3, 2, 4).flatten(2).chunk(2, dim=-1)[0].squeeze().std(dim=-1, unbiased=False)
    torch.where(x > 0, torch.zeros_like(x), torch.full_like(x, 2.0)).max(dim=-1, keepdim=True).values.to(x.dtype)
    torch.arange(3, device=x.device).float().pow(2).sqrt()[:, None] + torch.tensor(1.0) * x.shape[-1] ** 0.5
'''


@cache
def assignment(chosen: tuple[str, ...] | None = None) -> Assignment:
    """The course, or some exercises of it, as something that can be graded."""
    texts = {f"qkv.model.{name}": model_source(name) for name in PUBLIC_MODULES}
    earlier: dict[str, str] = {}
    own: dict[str, str] = {}
    sheets = []
    for entry in course.entries():
        stem, found = entry.stem, exercises.names_of(entry.stem)
        if not found:
            continue
        graded = tuple(exercises.get(name) for name in found if chosen is None or name in chosen)
        names = tuple(name for name in found if name not in exercises.of_weights())
        module, source = f"qkv.model.{stem}", model_source(stem)
        if graded:
            sheets.append(ExerciseSheet(entry.label, graded, names, module, source, dict(texts), dict(earlier)))
        texts[module] = source
        earlier |= dict.fromkeys(names, module)
        own |= dict.fromkeys(names, str(model_file(stem)))
    modules = {"qkv": COURSE, "qkv.model": "", "qkv.mine": MINE.format(stems=exercises.CHAPTERS)}
    return Assignment(TITLE, tuple(sheets), SETUP, modules, INERT, REHEARSAL, own)


def model_file(stem: str) -> Path:
    return Path(model.__path__[0], f"{stem}.py")


def model_source(stem: str) -> str:
    return model_file(stem).read_text("utf-8")
