"""Training loops of chapter 9: one that can be interrupted (`trainer`), one in several processes (`parallel`)."""
