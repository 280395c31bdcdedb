"""Raises and prints text that would harm a terminal, a page or a file of results.

Expected: nothing earned.
"""

TEXT = "\x1b[2J\x1b]0;owned\x07<script>alert(1)</script>\ud800,=cmd|' /C calc'!A0\r\n\x00\u202e"
print(TEXT)


def softmax(scores, dim):
    raise ValueError(TEXT * 100)


class Hostile(Exception):
    def __str__(self):
        raise SystemExit


def similarity_scores(q, k):
    raise Hostile
