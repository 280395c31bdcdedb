"""Authoring tools: scaffolds for an exercise or a chapter (`new`, `new_chapter`), and the proof of an exercise
(`lint`)."""
