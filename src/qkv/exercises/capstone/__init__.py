"""Exercises of the chapter `capstone`, in the order in which a student meets them."""

EXERCISES = (
    "RotaryAttention",
    "TinyGPT",
    "next_token_loss",
    "write_story",
    "tiny_gpt",
)
WEIGHTS = ("tiny_gpt",)  # answered by a file of weights; all others by code
