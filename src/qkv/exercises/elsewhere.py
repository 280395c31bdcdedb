"""Chapter 16: The same machine on DNA, prices, and pictures with words."""

from __future__ import annotations
