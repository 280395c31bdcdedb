"""Limits only: processor time, memory, output. **No sandbox.**

A submission can read and delete every file that you can, open connections and start programs. For code whose authors
you trust as yourself, on systems that offer nothing better; refused unless asked for by name and by `trust`.
"""

from __future__ import annotations

import os


def available() -> tuple[bool, str]:
    """(available on this machine?, the reason in words)."""
    if not hasattr(os, "fork"):
        return False, "this system cannot fork a process; use WSL2 or a container"
    return True, "limits on time and memory only: submissions can read, change and send whatever you can"
