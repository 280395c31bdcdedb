"""Proctor: a grading engine. It knows what an exercise is and what agreement is; it knows nothing of any subject.

exercise    what an exercise is: a reference, probes, named mistakes
inputs      fresh inputs, named by keys, salted in graded runs
observe     run one probe on one implementation
compare     do two observations agree?
diagnose    the verdict, and which mistake it is
forbid      what may not be called
properties  probes that many exercises share
result      the one result; `report` renders it
sandbox     where untrusted code runs
"""

from proctor.diagnose import Examiner
from proctor.exercise import Exercise
from proctor.result import Result

__all__ = ["Examiner", "Exercise", "Result"]
