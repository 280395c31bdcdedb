"""The training loop: whatever stops it, it goes on as if nothing had happened."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.training import trainer

STEPS = 23
SRC = Path(trainer.__file__).parents[2]


def model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.2), nn.ReLU(), nn.Linear(7, 2))


def loss(network: nn.Module, generator: torch.Generator) -> Tensor:
    x = torch.randn(6, 5, generator=generator)
    return F.mse_loss(network(x), x[:, :2].sin())


def run(path: Path | None = None, steps: int = STEPS, every: int = 4, loss=loss, bar: bool | None = None):
    """Train from the same start; returns losses and weights."""
    network = model()
    adam = torch.optim.Adam(network.parameters(), lr=0.02, betas=(0.9, 0.98))
    losses = trainer.train(
        network,
        adam,
        loss,
        steps,
        torch.Generator().manual_seed(5),
        rate=lambda step: 0.02 * min(1, step / 10),
        checkpoint=path,
        every=every,
        bar=bar,
    )
    return losses, {name: value.clone() for name, value in network.state_dict().items()}


def same(one, other) -> bool:
    return one[0] == other[0] and all(torch.equal(one[1][name], other[1][name]) for name in one[1])


def stopping(after: int):
    """A loss that stops the training when it is asked for once more than `after` times."""
    calls = iter(range(after))

    def stop(network: nn.Module, generator: torch.Generator) -> Tensor:
        value = loss(network, generator)  # the generator has moved on, and so has dropout's
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return value

    return stop


def test_the_loop_is_plain_training():
    network = model()
    adam = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98))
    generator, losses = torch.Generator().manual_seed(5), []
    for step in range(1, STEPS + 1):
        adam.param_groups[0]["lr"] = 0.02 * min(1, step / 10)
        value = loss(network, generator)
        adam.zero_grad()
        value.backward()
        adam.step()
        losses.append(value.item())
    assert same(run(), (losses, network.state_dict()))


@pytest.mark.parametrize("after", [0, 3, 4, 5, 11, 22])
def test_stopped_and_resumed_is_uninterrupted_bit_for_bit(tmp_path, after):
    path = tmp_path / "run.pt"
    with pytest.raises(KeyboardInterrupt):
        run(path, loss=stopping(after))
    torch.manual_seed(99)  # another process would stand elsewhere
    assert same(run(path), run())


def test_stopped_many_times(tmp_path):
    path = tmp_path / "run.pt"
    for after in (5, 7, 4):
        with pytest.raises(KeyboardInterrupt):
            run(path, loss=stopping(after))
    assert same(run(path), run())


def test_killed_at_a_random_step_and_resumed(tmp_path):
    """A real SIGKILL in another process: nothing can be tidied up."""
    path = tmp_path / "run.pt"
    fatal = int(torch.randint(1, STEPS, (), generator=torch.Generator().manual_seed(os.getpid())))
    program = f"""
import importlib.util, os, signal, sys
spec = importlib.util.spec_from_file_location("here", {str(Path(__file__))!r})
here = importlib.util.module_from_spec(spec)
spec.loader.exec_module(here)
left = iter(range({fatal}))
def deadly(network, generator):
    if next(left, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
    return here.loss(network, generator)
here.run(here.Path({str(path)!r}), loss=deadly)
"""
    environment = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
    killed = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert path.exists() == (fatal >= 4)
    assert same(run(path), run()), f"killed at step {fatal + 1}"


def test_a_finished_run_is_not_run_again(tmp_path):
    path = tmp_path / "run.pt"
    first = run(path)
    assert same(run(path, loss=stopping(0)), first)


def test_more_steps_go_on_from_the_last(tmp_path):
    path = tmp_path / "run.pt"
    run(path, steps=9)
    assert same(run(path), run())


@pytest.mark.parametrize("where", ["save", "replace"])
def test_an_interrupted_write_leaves_the_old_checkpoint(tmp_path, monkeypatch, where):
    path = tmp_path / "run.pt"
    run(path, steps=8)
    before = path.read_bytes()

    def torn(state, file):
        file.write(b"half of a file")
        raise OSError("no space left on device")

    def never(*paths):
        raise OSError("interrupted")

    with monkeypatch.context() as patched:
        patched.setattr(torch, "save", torn) if where == "save" else patched.setattr(os, "replace", never)
        with pytest.raises(OSError, match=r"no space left on device|interrupted"):
            run(path)
    assert path.read_bytes() == before
    assert same(run(path), run())
    assert [file.name for file in tmp_path.iterdir()] == ["run.pt"]


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path = tmp_path / "run.pt"
    words = f"train: {path} is no checkpoint of this model and optimiser. Delete it, or name another file."
    for content in (b"", b"not a checkpoint"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
            run(path)
    torch.save({"model": nn.Linear(2, 3).state_dict()}, path)
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        run(path)


def test_too_many_steps_are_refused(tmp_path):
    path = tmp_path / "run.pt"
    run(path)
    words = f"train: {path} holds {STEPS} steps, more than the 7 asked for. Ask for more steps, or name another file."
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        run(path, steps=7)


def test_a_bar_on_request_and_silence_otherwise(tmp_path, capfd):
    run()
    assert capfd.readouterr() == ("", "")
    run(tmp_path / "run.pt", steps=9)
    run(tmp_path / "run.pt", bar=True)
    err = capfd.readouterr().err
    assert "9/23" in err  # it begins where the checkpoint ended
    assert "23/23" in err
    assert "loss=" in err
