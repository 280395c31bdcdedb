"""Chapter 15: Weights written by hand: what it can compute."""

from __future__ import annotations
