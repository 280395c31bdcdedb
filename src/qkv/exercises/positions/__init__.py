"""Exercises of the chapter `positions`, in the order in which a student meets them."""

EXERCISES = (
    "sinusoidal_positions",
    "shift_matrix",
    "rotate",
    "relative_scores",
    "relative_bucket",
    "alibi_bias",
    "piece_kinds",
)
