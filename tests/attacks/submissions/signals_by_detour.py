"""Has the kernel send signals to the zygote: ownership of a descriptor, limits, timers.

Expected: nothing earned.
"""

import contextlib
import fcntl
import os
import resource

with contextlib.suppress(OSError):
    fcntl.fcntl(3, fcntl.F_SETOWN, os.getppid())
    fcntl.fcntl(3, fcntl.F_SETSIG, 9)
    fcntl.fcntl(3, fcntl.F_SETFL, os.O_ASYNC)
    print("LEAK owns a descriptor")
with contextlib.suppress(OSError, ValueError):
    resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))
    print("LEAK limited the zygote")
with contextlib.suppress(OSError, ValueError):
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("LEAK lifted its own limit")


def softmax(scores, dim):
    return scores
