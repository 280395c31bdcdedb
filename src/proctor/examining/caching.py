"""An examiner for a class that caches verdicts: the same observations occur again and again."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

from proctor.examining.diagnose import Examiner, Observations
from proctor.examining.result import Result

MOST = 256  # verdicts that are cached; a class has some dozen for each exercise


class CachingExaminer(Examiner):
    """An examiner that returns its earlier verdict for the very same observations, object for object.

    Most answers of a class are right or make one of the usual mistakes, and what they return is the same to the last
    bit, however they are spelled. `proctor.sandbox.run` makes one object of observations that have the same bytes.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._verdicts: OrderedDict[tuple[object, ...], tuple[Result, object]] = OrderedDict()

    def verdict(
        self, seen: Observations, seconds: float = 0.0, again: Observations | None = None, begun: bool = False
    ) -> Result:
        key = begun, identities(seen), None if again is None else identities(again)
        if key in self._verdicts:
            self._verdicts.move_to_end(key)
        else:
            found = super().verdict(seen, again=again, begun=begun)
            # with what it was found from: as long as that lives, no other object has its identity
            self._verdicts[key] = found, (dict(seen), dict(again or {}))
            if len(self._verdicts) > MOST:
                self._verdicts.popitem(last=False)
        return replace(self._verdicts[key][0], seconds=seconds)


def identities(seen: Observations) -> tuple[tuple[str, int], ...]:
    return tuple((probe, id(observation)) for probe, observation in seen.items())
