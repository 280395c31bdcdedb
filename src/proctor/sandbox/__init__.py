"""Where student code runs."""

from proctor.sandbox.box import Cell, Sandbox, Sitting, Stopped
from proctor.sandbox.choose import TIERS, Refused, choose, describe
from proctor.sandbox.launch import Fault
from proctor.sandbox.limits import Limits

__all__ = ["TIERS", "Cell", "Fault", "Limits", "Refused", "Sandbox", "Sitting", "Stopped", "choose", "describe"]
