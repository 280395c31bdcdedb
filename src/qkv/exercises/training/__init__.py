"""Exercises of the chapter `training`, in the order in which a student meets them."""

EXERCISES = (
    "noam_rate",
    "adam_step",
    "label_smoothing_loss",
    "clip_gradients",
    "accumulate_gradients",
    "scaled_backward",
)
