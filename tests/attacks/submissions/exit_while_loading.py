"""Leaves while it is being loaded.

Expected: nothing earned.
"""

import sys

sys.exit(0)
