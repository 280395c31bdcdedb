"""Exercises of the chapter `elsewhere`, in the order in which a student meets them."""

EXERCISES = (
    "kmer_ids",
    "motif_scores",
    "patch_series",
    "time_split",
    "running_zscore",
    "scaled_error",
    "retrieval_recall",
)
