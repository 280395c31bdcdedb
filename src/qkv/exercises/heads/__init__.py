"""Exercises of the chapter `heads`, in the order in which a student meets them."""

EXERCISES = (
    "split_heads",
    "merge_heads",
    "MultiHeadAttention",
    "attention_parameters",
    "head_similarity",
)
