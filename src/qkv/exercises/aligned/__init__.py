"""Exercises of the chapter `aligned`, in the order in which a student meets them."""

EXERCISES = (
    "answer_loss",
    "sequence_log_probability",
    "bradley_terry_loss",
    "dpo_loss",
    "group_advantages",
    "clipped_loss",
    "pass_at_k",
    "majority_vote",
)
