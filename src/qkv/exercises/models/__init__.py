"""Exercises of the chapter `models`, in the order in which a student meets them."""

EXERCISES = (
    "train_bpe",
    "encode_bpe",
    "mask_tokens",
    "corrupt_spans",
    "perplexity",
    "sampling_probabilities",
    "PatchEmbedding",
    "LoRALinear",
)
