"""The course's exercises as something that can be judged: what is handed out, and what may be imported where.

While a chapter is marked, a submission may import the parts that earlier chapters built, and nothing of its own or of
later chapters.
"""

from __future__ import annotations

import sys
from pathlib import Path

from proctor.marking.assignment import Assignment, ExerciseSheet
from qkv import exercises, model

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
INERT = ("qkv.figures", "qkv.tasks")


def assignment(chosen: tuple[str, ...] | None = None) -> Assignment:
    """The course, or some exercises of it, as something that can be graded."""
    texts = {f"qkv.model.{name}": source_of(name) for name in PUBLIC_MODULES}
    earlier: dict[str, str] = {}
    sheets = []
    for stem, found in exercises.chapters().items():
        graded = tuple(e for e in found if chosen is None or e.name in chosen)
        names = tuple(e.name for e in found)
        module, source = f"qkv.model.{stem}", source_of(stem)
        if graded:
            sheets.append(ExerciseSheet(title_of(stem), graded, names, module, source, dict(texts), dict(earlier)))
        texts[module] = source
        earlier |= dict.fromkeys(names, module)
    return Assignment(TITLE, tuple(sheets), SETUP, {"qkv": COURSE, "qkv.model": ""}, INERT)


def source_of(stem: str) -> str:
    return Path(model.__path__[0], f"{stem}.py").read_text("utf-8")


def title_of(stem: str) -> str:
    """`Chapter 01: lookup`; the number is in the first words of its exercises' file."""
    documented = sys.modules[f"qkv.exercises.{stem}"].__doc__ or ""
    number = documented.partition(":")[0].strip()
    return f"{number}: {stem}" if number.startswith("Chapter") else stem
