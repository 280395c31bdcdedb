"""The text of a new exercise's pieces: a function of some tensors, or a module with one linear layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CELL = """```{{code-cell}} ipython3
:tags: [exercise]
{name}
```

"""


@dataclass(frozen=True)
class Texts:
    """One text for each file that a new exercise concerns."""

    model: str
    model_imports: str
    exercise: str
    test: str
    test_imports: str
    test_head: str
    right: str
    wrong: str


def texts(name: str, stem: str, arguments: Sequence[str], section: str) -> Texts:
    """The pieces of an exercise: of a class if its name is in CapWords, of a function if not."""
    words = {
        "name": name,
        "stem": stem,
        "section": section,
        "plain": ", ".join(arguments),
        "typed": ", ".join(f"{argument}: Tensor" for argument in arguments),
        "shapes": ", ".join(f'{argument}="... d"' for argument in arguments),
        "roles": "\n".join(f"        {argument}: TODO: its role (..., d)." for argument in arguments),
        "roles_of_a_method": "\n".join(f"            {argument}: TODO: its role (..., d)." for argument in arguments),
        "drawn": ", ".join(f'normal(*sizes, seed="{argument}")' for argument in arguments),
        "fixed": ", ".join(f'normal(2, 3, 5, seed="{argument}")' for argument in arguments),
        "sum": " + ".join(arguments),
        "made": ", ".join("torch.randn(3, 5, generator=generator)" for _ in arguments),
    }
    kind = CLASS if name[:1].isupper() else FUNCTION
    return Texts(**{piece: text.format(**words) for piece, text in kind.items()})


TEST_HEAD = '''"""Chapter {stem}'s reference against something independent."""

from __future__ import annotations
'''

FUNCTION = {
    "model_imports": "from torch import Tensor\n\nfrom qkv.model.expect import expects\n",
    "model": '''@expects({shapes})
def {name}({typed}) -> Tensor:
    """TODO: what it means, in one sentence.

    Args:
{roles}

    Returns:
        TODO: what comes back (..., d).
    """
    total = {sum}  # (..., d)
    return 2 * total
''',
    "exercise": '''"""The exercise `{name}`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, one_of_each
from qkv.model.{stem} import {name}

exercise = Exercise(
    {name},
    section="{section}",
    minutes=10,
    difficulty=1,
    why="TODO: what a student has won who passes it, in a sentence.",
    hints=["TODO: the gentlest", "TODO: one that says more", "TODO: one that nearly says it"],
)


def inputs() -> tuple[Tensor, ...]:
    sizes = distinct(2, 9, 3, seed="sizes")  # drawn, and no two alike: no table of answers, no swapped axis passes
    return ({drawn},)


@exercise.probe
def of_a_batch({name}: Any) -> Seen:
    """TODO: the situation, in words"""
    return {{"output": {name}(*inputs())}}


@exercise.probe
def with_sizes_of_one({name}: Any) -> Seen:
    """a batch, a row and a width of 1, one after the other"""
    found: Seen = {{}}
    for words, sizes in one_of_each(batch=3, rows=4, width=5):
        found[f"output of {{words}}"] = {name}({drawn})
    return found


usual(exercise, lambda: ({fixed},))
squeezes(exercise)  # `proctor.examining.usual_mistakes` has others that many exercises share


@exercise.misconception
def not_doubled({typed}) -> Tensor:
    """TODO: the mistake, in one sentence to the student.

    TODO: why it matters.
    """
    return {name}({plain}) / 2
''',
    "test_imports": "import torch\n\nfrom qkv.model.{stem} import {name}\n",
    "test_head": TEST_HEAD,
    "test": '''def test_{name}_agrees_with_a_loop() -> None:
    """TODO: compare with something independent of the reference."""
    generator = torch.Generator().manual_seed(0)
    rows = [{made}]
    expected = [2 * sum(numbers) for numbers in zip(*(row.flatten().tolist() for row in rows), strict=True)]
    torch.testing.assert_close({name}(*rows).flatten(), torch.tensor(expected))
''',
    "right": '''"""TODO: a right answer in another style, in one line."""


def {name}({plain}):
    total = {sum}
    return total + total
''',
    "wrong": '''"""TODO: a mistake that you saw, in one line."""


def {name}({plain}):
    return ({sum}) ** 2
''',
}

CLASS = {
    "model_imports": "from torch import Tensor, nn\n\nfrom qkv.model.expect import expects\n",
    "model": '''class {name}(nn.Module):
    """TODO: what it means, in one sentence.

    Args:
        d: TODO: its role.
    """

    @expects(d="positive")
    def __init__(self, d: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d, d)

    @expects({shapes})
    def forward(self, {typed}) -> Tensor:
        """TODO: what it does.

        Args:
{roles_of_a_method}

        Returns:
            TODO: what comes back (..., d).
        """
        return self._doubled(self.proj({sum}))

    def _doubled(self, output: Tensor) -> Tensor:
        return 2 * output  # TODO: one idea, one method: a mistake is a subclass that overrides it
''',
    "exercise": '''"""The exercise `{name}`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import normal, seeded, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, one_of_each
from qkv.model.{stem} import {name}

exercise = Exercise(
    {name},
    section="{section}",
    minutes=15,
    difficulty=2,
    why="TODO: what a student has won who passes it, in a sentence.",
    hints=["TODO: the gentlest", "TODO: one that says more", "TODO: one that nearly says it"],
)


def inputs() -> tuple[Tensor, ...]:
    sizes = whole(2, 5, seed="batch"), whole(6, 9, seed="rows"), 5  # drawn: no table of answers passes
    return ({drawn},)


def build(cls: Any) -> Any:
    return seeded(cls(5))  # parameters are filled by their names


@exercise.probe
def of_a_batch(cls: Any) -> Seen:
    """TODO: the situation, in words"""
    return {{"output": build(cls)(*inputs())}}


@exercise.probe
def with_sizes_of_one(cls: Any) -> Seen:
    """a batch of one, and a single row"""
    found: Seen = {{}}
    for words, (batch, rows) in one_of_each(batch=3, rows=4):
        sizes = batch, rows, 5
        found[f"output of {{words}}"] = build(cls)({drawn})
    return found


usual(exercise, lambda: ({fixed},), build)
squeezes(exercise)  # `proctor.examining.usual_mistakes` has others that many exercises share


@exercise.misconception
class NotDoubled({name}):
    """TODO: the mistake, in one sentence to the student.

    TODO: why it matters.
    """

    def _doubled(self, output: Tensor) -> Tensor:
        return output
''',
    "test_imports": "import torch\n\nfrom qkv.model.{stem} import {name}\n",
    "test_head": TEST_HEAD,
    "test": '''def test_{name}_agrees_with_a_loop() -> None:
    """TODO: compare with something independent of the reference."""
    generator = torch.Generator().manual_seed(0)
    rows = [{made}]
    module = {name}(5)
    total = sum(rows[1:], rows[0])
    expected = torch.stack([2 * (module.proj.weight @ row + module.proj.bias) for row in total])
    torch.testing.assert_close(module(*rows), expected)
''',
    "right": '''"""TODO: a right answer in another style, in one line."""

from torch import nn


class {name}(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.proj = nn.Linear(d, d)

    def forward(self, {plain}):
        out = self.proj({sum})
        return out + out
''',
    "wrong": '''"""TODO: a mistake that you saw, in one line."""

from torch import nn


class {name}(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.proj = nn.Linear(d, d)

    def forward(self, {plain}):
        return self.proj({sum}) ** 2
''',
}
