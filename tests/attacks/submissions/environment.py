"""Reads secrets from the environment.

Expected: nothing earned.
"""

import os

PERSONAL = ("USER", "LOGNAME", "SUDO_USER", "SSH_AUTH_SOCK", "VIRTUAL_ENV", "ATTACKED_SECRET")
for name, value in os.environ.items():
    if "@CANARY-VALUE@" in value or name in PERSONAL or (name in ("PWD", "HOME") and value != "/"):
        print("LEAK", name, value)


def softmax(scores, dim):
    return scores
