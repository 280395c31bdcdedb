"""The verdict: does an answer agree with the reference, and if not, which mistake does the same as it does?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

from proctor.compare import differences, excess, same
from proctor.exercise import Exercise, Misconception, Probe
from proctor.inputs import Draws, Replay, Salted, drawing
from proctor.observe import Observation, observe
from proctor.result import Explanation, Result

Observations = Mapping[str, Observation]
UNRECOGNISED = Explanation("This is not one of the mistakes that we know by name. Here is what we saw.")


class Examiner:
    """Everything that is needed to judge one exercise under one salt, computed once and reused for a whole class."""

    def __init__(self, exercise: Exercise, salt: str = "") -> None:
        self.exercise = exercise
        self._source = Salted(salt)
        self._mistakes: dict[tuple[str, str], Observation] = {}

    @cached_property
    def expected(self) -> dict[str, Observation]:
        """What the reference does, probe by probe."""
        with drawing(self._source):
            found = {n: observe(p.function, self.exercise.reference) for n, p in self.exercise.probes.items()}
        for name, observation in found.items():
            if observation.raised is not None:
                raise RuntimeError(
                    f"the reference of {self.exercise.name} fails its probe {name}: {observation.raised}"
                )
        return found

    @property
    def draws(self) -> Draws:
        """The inputs of all probes, as the reference met them."""
        _ = self.expected  # draws them
        return self._source.table

    def examine(self, implementation: Any) -> Result:
        """Run all probes on an implementation in this process, and judge what they saw."""
        return self.verdict(self.observations(implementation, forbid=True))

    def observations(self, implementation: Any, forbid: bool = False) -> dict[str, Observation]:
        families = self.exercise.forbid if forbid else ()
        with drawing(Replay(self.draws)):
            return {n: observe(p.function, implementation, families) for n, p in self.exercise.probes.items()}

    def verdict(self, seen: Observations, seconds: float = 0.0) -> Result:
        """Judge what the probes saw of an answer. A probe that is absent was not reached."""
        probes = self.exercise.probes
        agrees = {n: n in seen and same(seen[n], self.expected[n]) for n in probes}
        values = [n for n, p in probes.items() if p.kind == "value"]
        failed_properties = sum(not agrees[n] for n, p in probes.items() if p.kind == "property")
        share = sum(agrees[n] for n in values) / len(values)
        result = Result(
            exercise=self.exercise.name,
            state="not_yet",
            score=share * (1 - failed_properties / len(probes)),
            probes_passed=sum(agrees.values()),
            probes=len(probes),
            next_step=f'section "{self.exercise.section}", or hint("{self.exercise.name}").',
            seconds=seconds,
        )
        called = dict.fromkeys(title for o in seen.values() for title in o.called)
        if called:
            sentence = f"You call {' and '.join(called)}, which this exercise asks you to do without."
            return replace(result, score=0.0, explanations=(Explanation(sentence),))
        if all(agrees.values()):
            return replace(result, state="passed", next_step="")
        if self._unstarted(seen, values):
            return replace(result, state="not_started", score=0.0, probes_passed=0)
        first = probes[next(n for n in (*values, *probes) if not agrees[n])]
        result = replace(result, situation=first.situation, evidence=self._evidence(first, seen))
        mistakes = self.diagnose(seen)
        if mistakes:
            name = " + ".join(m.name for m in mistakes)
            return replace(result, misconception=name, explanations=tuple(m.explanation for m in mistakes))
        observation = seen.get(first.name)
        if first.fault and share == 1 and observation is not None:
            return replace(result, explanations=(Explanation(first.fault),))
        if observation is None or observation.raised is not None:
            return replace(result, state="stopped", explanations=(how_it_ended(observation),))
        return replace(result, explanations=(UNRECOGNISED,))

    def diagnose(self, seen: Observations) -> tuple[Misconception, ...]:
        """The mistake, or the two mistakes together, that did exactly what this answer did; empty if there is none."""
        if set(seen) != set(self.exercise.probes):
            return ()
        known = self.exercise.misconceptions.values()
        candidates = [(m,) for m in known if self._matches(m.name, m.implementation, seen)]
        if not candidates:
            for a, b in combinations(known, 2):
                together = self.exercise.both(a, b)
                if together is not None and self._matches(f"{a.name} + {b.name}", together, seen):
                    return a, b
            return ()
        complete = [c for c in candidates if self._matches(c[0].name, c[0].implementation, seen, properties=True)]
        return (complete or candidates)[0]

    def _matches(self, name: str, wrong: Any, seen: Observations, properties: bool = False) -> bool:
        """Does this mistake do what the answer did, on every value probe?

        Properties count too where asked, and where the answer's values are all right, since then only they can tell.
        """
        probes = self.exercise.probes.values()
        values = [p for p in probes if p.kind == "value"]
        right = all(same(seen[p.name], self.expected[p.name]) for p in values)
        looked_at = list(probes) if properties or right else values
        if not all(same(seen[p.name], self.mistaken(name, wrong, p)) for p in looked_at):
            return False
        return any(self._tells(seen[p.name], self.mistaken(name, wrong, p), p) for p in looked_at)

    def _tells(self, seen: Observation, mistaken: Observation, probe: Probe) -> bool:
        """Is this probe evidence for a mistake that did the same? An exception is one only if it says the same."""
        if seen.raised is not None and mistaken.raised is not None:
            return seen.raised.message == mistaken.raised.message
        return not same(seen, self.expected[probe.name])

    def mistaken(self, name: str, wrong: Any, probe: Probe) -> Observation:
        """What a mistake does under a probe; run when first needed."""
        key = (name, probe.name)
        if key not in self._mistakes:
            with drawing(Replay(self.draws)):
                self._mistakes[key] = observe(probe.function, wrong)
        return self._mistakes[key]

    def distance(self, misconception: Misconception) -> float:
        """By how many tolerances a mistake differs from the reference on the probe that shows it best."""
        return max(
            excess(self.mistaken(misconception.name, misconception.implementation, p), self.expected[p.name])
            for p in self.exercise.probes.values()
        )

    def _unstarted(self, seen: Observations, values: list[str]) -> bool:
        raised = [seen[n].raised for n in values if n in seen]
        return bool(raised) and all(r is not None and r.unstarted for r in raised)

    def _evidence(self, probe: Probe, seen: Observations) -> tuple[str, ...]:
        observation, expected = seen.get(probe.name), self.expected[probe.name].values
        if observation is None or observation.values is None or expected is None:
            raised = observation.raised if observation else None
            return (str(raised),) if raised else ()
        return tuple(d.sentence for d in differences(observation.values, expected)[:3])


def how_it_ended(observation: Observation | None) -> Explanation:
    """Why there are no tensors to compare."""
    if observation is None or observation.raised is None:
        return Explanation("Your code did not get as far as this probe.")
    where = f" at {observation.raised.where}" if observation.raised.where else ""
    return Explanation(f"Your code raised {observation.raised.kind}{where}.")
