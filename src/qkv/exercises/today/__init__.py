"""Exercises of the chapter `today`, in the order in which a student meets them."""

EXERCISES = (
    "SwiGLU",
    "GroupedAttention",
    "Llama",
    "stretched_frequencies",
    "route_tokens",
    "latent_attention",
    "accept_drafts",
    "quantize_groups",
)
