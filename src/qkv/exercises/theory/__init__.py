"""Exercises of the chapter `theory`, in the order in which a student meets them."""

EXERCISES = (
    "hard_attention",
    "select_aggregate",
    "bracket_state",
    "offset_head",
    "boolean_ffn",
    "induction_head",
    "rank_residual",
)
