"""Solved editions and guides -> the HTML book: `qkv book`."""
