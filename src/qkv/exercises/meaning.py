"""Chapter 14: One vector for a word, or one for each time it is said."""

from __future__ import annotations
