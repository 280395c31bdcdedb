"""Stand-ins for what is of no use to a grader: plots, widgets, the notebook, the course's own `check`.

A submission that imports and touches them works as if they were there, costs no import time, and shows nothing. A
module that is really missing is different: it can be imported (so that the definitions below the import survive), but
using it says plainly that it is not installed.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

SHOWN_NOWHERE = (
    "matplotlib", "mpl_toolkits", "matplotlib_inline", "seaborn", "plotly", "bokeh", "altair", "IPython", "ipywidgets",
    "ipykernel", "nbformat", "tqdm", "wandb", "tensorboard", "torch.utils.tensorboard", "torchinfo", "torchviz",
    "google.colab",
)  # fmt: skip


class Inert:
    """Accepts everything, does nothing. Called with one function, it returns that function, as a decorator would."""

    def __init__(self, name: str = "inert") -> None:
        object.__setattr__(self, "_name", name)

    def __repr__(self) -> str:
        return f"<{self._name} is not shown here>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Inert(f"{self._name}.{name}")

    def __setattr__(self, name: str, value: object) -> None: ...

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self._name.endswith(".subplots"):
            return Inert("figure"), Inert("axes")
        if len(args) == 1 and not options and callable(args[0]) and not isinstance(args[0], Inert):
            return args[0]
        if self._name.partition(".")[0] == "tqdm" and args:
            return args[0]
        return Inert(self._name)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __getitem__(self, key: object) -> Inert:
        return self

    def __setitem__(self, key: object, value: object) -> None: ...

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *error: object) -> None: ...


class Missing:
    """A module, or a part of one, that is not there where submissions run: not installed, or withheld."""

    def __init__(self, name: str, part: str = "", withheld: bool = False) -> None:
        self.__dict__.update(name=name, part=part, withheld=withheld)

    def _refuse(self, *args: object, **options: object) -> Any:
        if self.withheld:
            raise ModuleNotFoundError(
                f"{self.name} cannot be imported for this exercise: it holds the answer, or later ones", name=self.name
            )
        raise ModuleNotFoundError(f"No module named {self.name!r} where submissions run", name=self.name)

    def __repr__(self) -> str:
        return f"<{self.name}: not there where submissions run>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Missing(self.name, name, self.withheld)

    __call__ = __iter__ = __len__ = __getitem__ = __enter__ = __exit__ = __bool__ = _refuse

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)


def drop_loaded() -> None:
    """Remove the modules that torch has loaded for itself and every submission gets a stand-in for, once instead of for
    each submission."""
    known = InertModules()
    for name in [name for name in sys.modules if known.owns(name)]:
        del sys.modules[name]


class InertModule(ModuleType):
    """A module whose every attribute is `Inert`; it counts as a package, so that its submodules can be imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Inert(f"{self.__name__}.{name}")


class InertModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of `names` and of everything below them."""

    def __init__(self, names: Sequence[str] = SHOWN_NOWHERE) -> None:
        self.names = frozenset(names)
        self.below = tuple(f"{name}." for name in names)

    def owns(self, fullname: str) -> bool:
        """Is this one of these modules, or below one? Called for thousands of modules per submission."""
        return fullname in self.names or fullname.startswith(self.below)

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if self.owns(fullname):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return InertModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == "tqdm":
            module.trange = range  # type: ignore[attr-defined]
