"""JupyterLab on a workspace's notebooks, as a child process with settings, tabs and a token of its own."""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from qkv.commands import welcome
from qkv.commands.ports import HOST, NotServing
from qkv.notebook.workspace import Workspace

EXTENSIONS = Path(__file__).with_name("labextensions")
LAB_PATIENCE = 180.0  # seconds until we say that JupyterLab does not come up; a loaded laptop needs twenty
GRACE = 10.0  # seconds that JupyterLab gets to shut its kernels down
SETTINGS = {  # what differs from JupyterLab's own
    # the welcome is to be read, not edited
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
    # cards speak of "line 38"
    "@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineNumbers": True}},
}


class Lab:
    """JupyterLab on the student edition, as a child process; leaving the `with` block ends it and its kernels."""

    def __init__(self, place: Workspace, port: int, book: str = "") -> None:
        self.place, self.port, self.book = place, port, book
        self.log = place.made / "jupyterlab.log"
        self.token = secrets.token_hex(16)
        self.address = f"http://{HOST}:{port}/lab?token={self.token}"
        self.cells = f"http://{HOST}:{port}/lab/tree/"  # without the token: for a browser that has been let in

    @property
    def first_screen(self) -> str:
        """The address to open: the welcome page, if there are no tabs to come back to."""
        tabs = self.place.tabs
        return (
            self.address if tabs.is_dir() and any(tabs.iterdir()) else f"{self.cells}{welcome.NAME}?token={self.token}"
        )

    def __enter__(self) -> Lab:
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--ServerApp.ip={HOST}"]
        command += [
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.place.notebooks}",
        ]
        command.append(f"--LabApp.extra_labextensions_path={EXTENSIONS}")
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")
        if self.book:
            welcome.write_welcome(self.place.notebooks, self.book)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.place.notebooks,
                env=os.environ | self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=os.name != "nt",
                preexec_fn=_dies_with_us(),
            )
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.terminate()  # JupyterLab shuts its kernels down on SIGTERM
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            if os.name == "nt":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _environment(self) -> dict[str, str]:
        """The token (here, since a command line can be read by every user), our settings, and a layout of our own."""
        settings = self.place.made / "jupyter"
        page = settings / "labconfig" / "page_config.json"
        page.parent.mkdir(parents=True, exist_ok=True)
        # no question about news, and no look-up on the network, at the first start
        page.write_text(json.dumps({"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}))
        page.with_name("default_setting_overrides.json").write_text(json.dumps(SETTINGS))
        path = os.pathsep.join(filter(None, [str(settings), os.environ.get("JUPYTER_CONFIG_PATH")]))
        return {
            "JUPYTER_TOKEN": self.token,
            "JUPYTER_CONFIG_PATH": path,
            "QKV_BOOK": self.book,  # for links from cards to the book
            "JUPYTERLAB_WORKSPACES_DIR": str(self.place.tabs),  # no tabs of other projects
        }

    def wait_until_it_answers(self, stopping: threading.Event) -> None:
        """Return when JupyterLab answers a request, or `stopping` is set."""
        opener = build_opener(ProxyHandler({}))  # a proxy knows nothing of our 127.0.0.1
        request = Request(f"http://{HOST}:{self.port}/api/status", headers={"Authorization": f"token {self.token}"})
        deadline = time.monotonic() + LAB_PATIENCE
        while not stopping.wait(0.1):
            self.must_be_running()
            try:
                with opener.open(request, timeout=5) as reply:
                    if reply.status == 200:
                        return
            except HTTPError as error:
                raise NotServing(f"port {self.port} answers, but not as our JupyterLab ({error}).") from error
            except (URLError, OSError):
                pass  # not listening yet
            if time.monotonic() > deadline:
                raise NotServing(f"JupyterLab was silent for {LAB_PATIENCE:.0f} s. Its log says:\n{self._last_words()}")

    def must_be_running(self) -> None:
        code = self.process.poll()
        if code is not None:
            raise NotServing(f"JupyterLab ended by itself (exit code {code}). Its log says:\n{self._last_words()}")

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-15:])


def _dies_with_us() -> Callable[[], object] | None:
    """A function for the child to call, on Linux, so that it ends when this process is killed."""
    if not sys.platform.startswith("linux"):
        return None
    return partial(ctypes.CDLL(None).prctl, 1, signal.SIGTERM)  # PR_SET_PDEATHSIG
