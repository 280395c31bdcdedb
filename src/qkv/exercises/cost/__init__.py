"""Exercises of the chapter `cost`, in the order in which a student meets them."""

EXERCISES = (
    "layer_flops",
    "window_attention",
    "linformer_attention",
    "linear_attention",
    "tiled_attention",
    "checkpointed",
    "cached_attention",
    "cache_bytes",
)
