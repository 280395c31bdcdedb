"""Modules that exist as text in memory only: imported by name, never found on a path.

Used for what a submission may import, and inside the sandbox for the harness itself (our files are not readable there).
A module is run when it is first imported; a name that others extend (`a` of `a.b.c`) is a package.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import linecache
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType, ModuleType


@lru_cache(maxsize=64)
def compiled(source: str, file: str) -> CodeType:
    """A child finds here what the zygote has imported, and need not compile it."""
    return compile(source, file, "exec", dont_inherit=True)


class MemoryImporter(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds and loads `sources`: full module name -> source text."""

    def __init__(self, sources: Mapping[str, str], packages: Sequence[str] = ()) -> None:
        self.sources = dict(sources)
        self.packages = set(packages)
        for name in self.sources:
            while "." in name:
                name = name.rpartition(".")[0]
                self.packages.add(name)

    def owns(self, fullname: str) -> bool:
        """Is this one of these modules, or inside a package of theirs?"""
        return fullname in self.sources or fullname in self.packages or fullname.partition(".")[0] in self.packages

    def install(self) -> None:
        """Answer imports before anything on the path does."""
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.sources and fullname not in self.packages:
            return None
        spec = importlib.machinery.ModuleSpec(
            fullname, self, origin=self.file(fullname), is_package=fullname in self.packages
        )
        spec.has_location = False
        return spec

    @staticmethod
    def file(fullname: str) -> str:
        """The name that tracebacks show."""
        return f"<{fullname}>"

    def is_package(self, fullname: str) -> bool:
        return fullname in self.packages

    def get_source(self, fullname: str) -> str:
        return self.sources.get(fullname, "")

    def get_code(self, fullname: str) -> CodeType:
        source, file = self.get_source(fullname), self.file(fullname)
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        return compiled(source, file)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)
