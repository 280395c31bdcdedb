"""Exercises of the chapter `lookup`, in the order in which a student meets them."""

EXERCISES = (
    "softmax",
    "similarity_scores",
    "soft_lookup",
    "SelfAttention",
)
