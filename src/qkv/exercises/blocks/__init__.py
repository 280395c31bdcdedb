"""Exercises of the chapter `blocks`, in the order in which a student meets them."""

EXERCISES = (
    "gelu",
    "FeedForward",
    "dropout",
    "EncoderLayer",
    "DecoderLayer",
)
