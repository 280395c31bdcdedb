"""What an exercise does not allow, and how that is noticed.

family      one forbidden thing in all its spellings
replace     torch's kernels for it refuse while the exercise runs, and calls of torch's Python versions are watched for
scan        a second look, at the text of an answer, in the process that student code cannot reach

`family` and `replace` run beside student code: in a notebook, in `qkv check`, in the sandbox's child.
"""

from proctor.forbid.family import (
    BATCH_NORM,
    CROSS_ENTROPY,
    DROPOUT,
    FUSED_ATTENTION,
    GELU,
    LAYER_NORM,
    MULTIHEAD,
    RECURRENT,
    RMS_NORM,
    SOFTMAX,
    Family,
)

__all__ = [
    "BATCH_NORM",
    "CROSS_ENTROPY",
    "DROPOUT",
    "FUSED_ATTENTION",
    "GELU",
    "LAYER_NORM",
    "MULTIHEAD",
    "RECURRENT",
    "RMS_NORM",
    "SOFTMAX",
    "Family",
]
