"""Exercises of the chapter `energy`, in the order in which a student meets them."""

EXERCISES = (
    "free_energy",
    "variational_objective",
    "kernel_regression",
    "hopfield_energy",
    "hopfield_retrieve",
    "info_nce",
    "info_nce_gradient",
    "clip_loss",
)
