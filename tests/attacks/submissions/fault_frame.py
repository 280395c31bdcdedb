"""Claims a fault of the grader's, hoping for mercy.

Expected: nothing earned, or stopped (garbage or exit).
"""

import os
import struct

os.write(3, struct.pack(">cI", b"F", 5) + b"sorry")
os._exit(0)
