"""Exercises of the chapter `masks`, in the order in which a student meets them."""

EXERCISES = (
    "causal_mask",
    "padding_mask",
    "combine_masks",
    "masked_softmax",
    "zero_padding",
    "cross_attention",
    "masked_mean",
)
