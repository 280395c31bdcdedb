"""Code that is right until an option is given, or only where it is given: told by which checks pass."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

LEAST = 2  # checks that fail, and that pass, or it may be something else that they have in common


def noting_options(reference: Any, found: set[str]) -> Any:
    """The reference, which notes the parameters that are given something else than their default.

    Args:
        found: to add their names to.
    """

    def note(signature: inspect.Signature, *args: Any, **options: Any) -> None:
        given = signature.bind(*args, **options).arguments
        found.update(name for name, value in given.items() if is_another(value, signature.parameters[name].default))

    if not isinstance(reference, type):
        signature = inspect.signature(reference)

        def function(*args: Any, **options: Any) -> Any:
            note(signature, *args, **options)
            return reference(*args, **options)

        return function

    made = inspect.signature(reference.__init__)  # type: ignore[misc]
    called = inspect.signature(getattr(reference, "forward", reference))

    def init(self: Any, *args: Any, **options: Any) -> None:
        note(made, self, *args, **options)
        super(watched, self).__init__(*args, **options)

    def call(self: Any, *args: Any, **options: Any) -> Any:
        note(called, self, *args, **options)
        return super(watched, self).__call__(*args, **options)

    watched: Any = type(reference.__name__, (reference,), {"__init__": init, "__call__": call})
    return watched


def is_another(value: Any, default: Any) -> bool:
    """Is this another value than the default? Of what has no default there is no other."""
    if default is inspect.Parameter.empty:
        return False
    simple = isinstance(value, int | float | str | bool | None)
    return value != default if simple else value is not default


def told_by_an_option(given: Mapping[str, set[str]], passes: Mapping[str, bool]) -> str:
    """The sentence for code that passes exactly the checks which leave one option at its default, or exactly those
    which do not; empty if that is not so, or is so of several options.

    Args:
        given: by check of values, the options that it gives.
        passes: whether the code passes each of them.
    """
    right = [check for check in given if passes[check]]
    wrong = [check for check in given if not passes[check]]
    if len(right) < LEAST or len(wrong) < LEAST:
        return ""
    sentences = []
    for name in sorted(set().union(*given.values())):
        if all(name in given[c] for c in wrong) and not any(name in given[c] for c in right):
            sentences.append(
                f"Your code passes the {len(right)} checks of values that leave `{name}` at its default, and fails the "
                f"{len(wrong)} that do not."
            )
        elif all(name in given[c] for c in right) and not any(name in given[c] for c in wrong):
            sentences.append(
                f"Your code passes the {len(right)} checks of values that give `{name}` something else than its "
                f"default, and fails the {len(wrong)} that leave it."
            )
    return sentences[0] if len(sentences) == 1 else ""
