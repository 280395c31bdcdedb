"""Calls that an exercise forbids, and their detection. Which calls those are is the course's business.

family            one forbidden thing in all its spellings
replace           torch's kernels for it refuse while the exercise runs
python_functions  so do torch's own versions in Python, which are made of other kernels
watch             calls of what is imported later, or withheld by the course, are noted
scan              a second look, at the text of an answer, in the process that student code cannot reach

All but `scan` run beside student code: in a notebook, in a self-check, in the sandbox's child.
"""

from proctor.forbid.family import Family

__all__ = ["Family"]
