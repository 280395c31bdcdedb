"""Exercises of the chapter `transformer`, in the order in which a student meets them."""

EXERCISES = (
    "embed",
    "shift_right",
    "Transformer",
    "greedy_decode",
    "beam_search",
)
