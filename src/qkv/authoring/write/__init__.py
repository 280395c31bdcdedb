"""For writing an exercise or a chapter: scaffolds (`new`, `new_chapter`) and the proof of an exercise (`lint`)."""
