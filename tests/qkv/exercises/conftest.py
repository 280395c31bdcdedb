"""What an answer that we keep is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proctor import Result
from qkv.authoring.write import sample_answers as kept_answers
from qkv.notebook.checking import check_named

KEPT = Path(__file__).parents[3] / "answers"


@pytest.fixture(scope="session")
def told() -> Callable[[str], Result]:
    """The verdict on a kept answer, by its name: `norm/wrong/naive/layer_norm`."""
    found = {str(answer): answer for answer in kept_answers.sample_answers(KEPT)}
    return lambda name: check_named(found[name].exercise, found[name].implementation)
