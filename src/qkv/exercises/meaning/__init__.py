"""Exercises of the chapter `meaning`, in the order in which a student meets them."""

EXERCISES = (
    "skip_gram_pairs",
    "negative_samples",
    "negative_sampling_loss",
    "negative_sampling_gradient",
    "analogy",
    "linear_probe",
    "attention_rollout",
)
