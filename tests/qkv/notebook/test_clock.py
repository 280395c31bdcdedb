"""The line below a cell that takes long."""

from __future__ import annotations

import time
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.manager import start_new_kernel

from qkv.notebook.clock import Clock


class Page:
    """What was published, in order."""

    is_publishing = False

    def __init__(self) -> None:
        self.shown: list[tuple[str, bool]] = []

    def publish(self, data: dict[str, str], transient: dict[str, str], update: bool) -> None:
        self.shown.append((data["text/html"], update))


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = InteractiveShell.instance()
    monkeypatch.setattr(made, "display_pub", Page())
    clock = Clock(made, after=0.05, every=0.05)
    clock.install()
    yield made
    made.events.unregister("pre_run_cell", clock.begin)
    made.events.unregister("post_run_cell", clock.end)
    InteractiveShell.clear_instance()


def test_a_quick_cell_shows_nothing(shell: Any) -> None:
    shell.run_cell("1 + 1")
    time.sleep(0.1)
    assert shell.display_pub.shown == []


@pytest.mark.parametrize("cell", ["import time; time.sleep(0.3)", "import time; time.sleep(0.3); 1 / 0"])
def test_a_long_cell_is_counted_and_the_line_is_gone_at_its_end(shell: Any, cell: str) -> None:
    shell.run_cell(cell)
    first, *later = shell.display_pub.shown
    assert "running, " in first[0]
    assert not first[1]
    assert all(update for _, update in later)  # one line, and not one below the other
    assert later[-1][0] == ""
    shown = len(shell.display_pub.shown)
    time.sleep(0.2)
    assert len(shell.display_pub.shown) == shown


@pytest.mark.slow
def test_in_a_real_kernel_the_line_belongs_to_its_cell() -> None:
    manager, client = start_new_kernel()
    try:
        client.execute_interactive(
            "from qkv.notebook.clock import Clock\nClock(get_ipython(), 0.2, 0.2).install()",
            timeout=60,
            output_hook=lambda message: None,
        )
        heard: list[Any] = []
        sent = client.execute("import time\ntime.sleep(1)\nprint('done')")
        while True:
            message = client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") == sent:
                heard.append(message)
                if message["content"].get("execution_state") == "idle":
                    break
        kinds = [message["msg_type"] for message in heard]
        assert "display_data" in kinds
        assert "update_display_data" in kinds
        lines = [m["content"]["data"]["text/html"] for m in heard if "display_data" in m["msg_type"]]
        assert "running, " in lines[0]
        assert lines[-1] == ""
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
