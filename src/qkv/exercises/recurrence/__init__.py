"""Exercises of the chapter `recurrence`, in the order in which a student meets them."""

EXERCISES = (
    "rnn_step",
    "lstm_step",
    "delayed_copy",
    "gradient_by_distance",
    "receptive_field",
    "path_length",
)
