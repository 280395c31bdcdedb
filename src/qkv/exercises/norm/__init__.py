"""Exercises of the chapter `norm`, in the order in which a student meets them."""

EXERCISES = (
    "layer_norm",
    "layer_norm_backward",
    "batch_norm",
    "rms_norm",
    "PreNorm",
    "PostNorm",
)
