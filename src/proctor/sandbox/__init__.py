"""The sandbox in which student code runs. This note is for its maintainers: what is promised, by what, and its limits.

The shape. A trusted process (`sandbox`) holds exercises, references, salt, comparison. It starts a *zygote* behind
walls (`launch`, `tiers`): an interpreter with torch, the probes' code, their inputs, and a harness, sent in as text
(`proctor.inside`). The zygote forks a child for each submission; the child confines itself further (`rlimits`,
`seccomp`), reads the submission from a socket, runs it (`harness`) and writes what the probes saw to the same socket
(`frames`, `protocol`). Verdicts are computed outside. Where a submission has to run again, with parts of the reference
or on other inputs, its child may be asked again, each time on another socket; one that has seen parts of the reference
is asked only for what earns no points.

In the trusted process (the worker) run: `sandbox`, the one object that others use; `launch`, which starts a zygote, for
the first worker even before there is torch in this process; `visible_files`, what it may read; `tiers`, which walls
there are and which one is taken (`bubblewrap`, `none`; Landlock's calls are made from the inside, in
`proctor.inside.landlock`); `reader`, frames from a child under one deadline; `run`, what is known of a submission, put
together from them. In the zygote and in its children runs what `proctor.inside` lists.

Who attacks: the author of a submission, who may run any Python and any machine code in the child, knows this
source, and wants points, the reference, the salt, other submissions, the instructor's files, the network, or a
broken grader.

What is promised, and what keeps it:
- *No forged points.* Nothing inside knows an expected value. Whatever the child sends is compared outside with
  values that were computed outside, for inputs drawn from a salt that never goes in.
- *Nothing to find.* The view (`visible_files`) shows the interpreter, its libraries and installed packages; the course
  and the engine are outside of it, or masked. The job is read by the child itself, so no submission is ever in the
  memory that the next one is forked from. The environment is ours, all other descriptors are closed.
- *No harm outside.* Two walls stand one behind the other. bubblewrap: own namespaces, everything read-only, no
  /proc, an empty network. Or Landlock: the same view without a helper program; root becomes a user who owns
  nothing. In both, an allow-list of system calls: no process, thread or program can be started, no socket made, no
  file opened for writing, no other process signalled. So one process is the whole submission, and its own limits
  bound it.
- *No harm to the next.* A fresh fork for each submission; a watchdog outside with one deadline; sizes checked before
  memory is set aside; a dead zygote is replaced. The reading side raises nothing but its own errors, whatever bytes
  come.

Where it ends:
- The kernel, the interpreter that decodes frames outside, and bubblewrap are trusted. A hole in the kernel's
  allowed calls is a hole here. For submissions from strangers run the whole grader in a virtual machine as well.
- What an exercise *forbids* is enforced next to student code (`proctor.forbid.replace`), from its first cell on:
  kernels are taken away, those that contain them too, and torch's own versions in Python (calls of those that are
  imported later are noted). Taking the harness apart (by `ctypes`, frames, the collector's lists of objects) brings
  them back, and what torch has under a name that says nothing of it is not seen. That gains the use of a forbidden
  function, never a value that is not right; `proctor.forbid.scan` reads the text of answers for it, outside.
- Property probes (inputs unchanged, …) report what the child saw. The same holds for them.
- Timing and existence leak a little: under Landlock `stat()` tells that a path exists, not what is in it; under
  bubblewrap the names of the directories above the interpreter can be seen.
- The tier "limits" has none of the walls. It is refused unless asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from proctor.inside.rlimits import Limits
from proctor.sandbox.launch import Fault
from proctor.sandbox.tiers import TIERS, Refused, choose, describe_tiers

if TYPE_CHECKING:
    from proctor.sandbox.run import Run, Stopped
    from proctor.sandbox.sandbox import Sandbox

__all__ = [
    "TIERS",
    "Fault",
    "Limits",
    "Refused",
    "Run",
    "Sandbox",
    "Stopped",
    "choose",
    "describe_tiers",
]
HOMES = {"Run": "run", "Stopped": "run", "Sandbox": "sandbox"}


def __getattr__(name: str) -> Any:  # a zygote can be begun before torch is here
    if name in HOMES:
        return getattr(import_module(f"proctor.sandbox.{HOMES[name]}"), name)
    raise AttributeError(f"module 'proctor.sandbox' has no attribute {name!r}")
