"""Chapter 17: A tiny GPT, graded by its weights."""

from __future__ import annotations
