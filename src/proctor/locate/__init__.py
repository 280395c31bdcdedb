"""The line of a mistake that has no name: found by running, never guessed.

Two searches, both used only where nothing was recognised:
- *by repair* (`edits`, `ingredients`, `repair`): small edits of the student's own code, one at a time, until all probes
  agree. What was edited is where the mistake is.
- *by trace* (`trace`): the values of the student's own expressions against those of right solutions on the same input.
  The first that no right solution has is where to look.

Before these come what the text alone tells (`unread`, `unused`), and whether the result depends on chance (`chance`).

What is found becomes a line, and words about what kind of thing to look at (`words`). The repaired code is never shown.
Student text is parsed and edited here, and never run: that is the runner's business (`proctor.inside.running`).
"""
