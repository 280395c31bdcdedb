"""The first lines that run in a new sandbox: `python -c` of this file, with the control socket's number as argument.

It takes the harness from the socket, as text, since our files are not readable inside; nothing of ours is on a path
there. It runs before any student code exists.
"""

from __future__ import annotations

import json
import sys
from types import ModuleType


def _exactly(stream, count: int) -> bytes:  # type: ignore[no-untyped-def]
    data = bytearray()
    while len(data) < count:
        part = stream.recv(min(count - len(data), 1 << 20))
        if not part:
            sys.exit("the other side hung up before the sandbox was ready")
        data += part
    return bytes(data)


def main() -> None:
    import gc
    import socket

    gc.disable()  # imports make many objects and no garbage; the zygote enables it again when it is ready
    control = socket.socket(fileno=int(sys.argv[1]))
    boot = json.loads(_exactly(control, int.from_bytes(_exactly(control, 8), "big")))
    sys.path += boot["path"]
    importer = ModuleType("importer")
    exec(boot["sources"]["proctor.inside.memory_importer"], importer.__dict__)
    importer.MemoryImporter(boot["sources"]).install()
    from proctor.inside.zygote import run_zygote

    run_zygote(control, boot)


if __name__ == "__main__":
    main()
