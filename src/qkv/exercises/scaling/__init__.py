"""Exercises of the chapter `scaling`, in the order in which a student meets them."""

EXERCISES = (
    "score_variance",
    "softmax_jacobian",
    "attention_entropy",
    "scaled_dot_product_attention",
)
