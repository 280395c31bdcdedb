"""What is computed and never used is read from the text."""

from __future__ import annotations

import pytest

from proctor.locate.unused import never_used


@pytest.mark.parametrize(
    ("body", "unused"),
    [
        ("y = x + 1\n    return x", [(2, "y")]),
        ("y = x + 1\n    return y", []),
        ("y = x.sum()\n    z = y + 1", [(3, "z")]),
        ("n = 0\n    for i in x:\n        n += i * i\n    return x", [(4, "n")]),
        ("y = x\n    return x", []),  # a name for what is there is not computed
        ("n, d = x.shape\n    return x", []),  # as one unpacks a shape
        ("_ = x.sort()\n    return x", []),
        ("y = x.clone()\n    y[0] = 1\n    return x", []),  # it is read, if for nothing
        ("y = x + 1\n    def g():\n        return y\n    return g()", []),
        ("y = x + 1\n    return eval('y')", []),
        ("global y\n    y = x + 1\n    return x", []),
        ("y: int = len(x)\n    return x", [(2, "y")]),
        ("y = x + 1\n    del y\n    return x", []),
    ],
)
def test_it_is_read_from_the_text(body: str, unused: list[tuple[int, str]]) -> None:
    assert never_used(f"def f(x):\n    {body}\n", "f") == unused


def test_each_method_of_a_class_is_read() -> None:
    text = "class M:\n    def __init__(self, d):\n        y = d + 1\n\n    def forward(self, x):\n        z = x + 1\n"
    assert never_used(text, "M") == [(3, "y"), (6, "z")]
