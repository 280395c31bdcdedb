"""A notebook computes on the device and with the seeds that its environment names."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from qkv import device
from qkv.notebook import machine


@pytest.fixture(autouse=True)
def put_back(monkeypatch: pytest.MonkeyPatch):
    for where, names in {torch: ("Generator", "manual_seed", "autocast"), Tensor: ("numpy", "__array__")}.items():
        for name in names:
            monkeypatch.setattr(where, name, getattr(where, name))
    monkeypatch.setattr(machine, "_settled", False)
    monkeypatch.delenv("QKV_DEVICE", raising=False)
    monkeypatch.delenv("QKV_SEEDS", raising=False)
    yield
    torch.set_default_device(None)


def drawn() -> list[list[float]]:
    torch.manual_seed(3)
    return [torch.randn(4).tolist(), torch.randn(4, generator=torch.Generator().manual_seed(3)).tolist()]


def test_by_default_nothing_changes() -> None:
    before = (torch.Generator, torch.manual_seed, Tensor.numpy, torch.autocast)
    machine.apply_settings()
    assert (torch.Generator, torch.manual_seed, Tensor.numpy, torch.autocast) == before
    assert device() == torch.device("cpu") == torch.get_default_device()


def test_a_second_set_of_seeds_draws_other_numbers_and_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    first = drawn()
    monkeypatch.setenv("QKV_SEEDS", "1")
    machine.apply_settings()
    machine.apply_settings()  # as often as `check` is imported
    second = drawn()
    assert second == drawn()
    assert second[0] == second[1]  # on the CPU both draw alike from one seed, so both were shifted once
    assert all(one != other for one, other in zip(first, second, strict=True))


def test_tensors_and_generators_are_made_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QKV_DEVICE", "meta")  # the one device beside the CPU that is everywhere
    machine.apply_settings()
    with pytest.raises(RuntimeError, match="META device type not an accelerator"):  # it was asked for a generator there
        torch.Generator()
    assert torch.nn.Linear(2, 3).weight.device.type == device().type == "meta"
    with machine.on_the_cpu():
        assert torch.zeros(1).device.type == torch.Generator().device.type == "cpu"
    with pytest.raises(RuntimeError, match="autocast device_type 'meta'"):
        torch.autocast("cpu", torch.bfloat16)


def test_a_device_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QKV_DEVICE", "a-device")
    with pytest.raises(RuntimeError, match="a-device"):
        machine.apply_settings()
