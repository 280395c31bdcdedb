"""The verdict: does an answer agree with the reference, and if not, which mistake does the same as it does?"""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any, Generic, TypeVar

import torch

from proctor.examining import labels
from proctor.examining.batches import extra_dimensions, works_only_for
from proctor.examining.compare import ComparableObservation
from proctor.examining.exercise import Exercise, Misconception, Probe
from proctor.examining.facts import Constant, Decisive, facts, right_parts
from proctor.examining.options import noting_options, told_by_an_option
from proctor.examining.result import Explanation, Result
from proctor.forbid.replace import Blocker
from proctor.inside.inputs import PARAMETER, Draws, Replay, Salted, TrackingReplay, UnknownDraw, drawing
from proctor.inside.observe import A_RETURN_MISSING, Observation, Raised, fresh_state, last_return, observe
from proctor.inside.plain_errors import in_plain_words
from proctor.inside.properties import named

Observations = Mapping[str, Observation]
ComparableObservations = Mapping[str, ComparableObservation]  # the same, ready to be compared
UNRECOGNISED = Explanation("This is not one of the mistakes that we know by name. Here is what we saw.")
LESS_PRECISE = (
    "With float64 inputs your result agrees to fewer digits than float64 gives, as it does where something inside is "
    "float32, or where a small constant is added. That is right here, and worth knowing."
)

LEAST_ALIKE = 3  # checks of values that have to fail where an answer is said to look like a mistake

T = TypeVar("T")


class LazyMapping(Mapping[str, T], Generic[T]):
    """A mapping that computes the value of a name on first access."""

    def __init__(self, names: Iterable[str], find: Callable[[str], T]) -> None:
        self._names, self._find = tuple(names), find
        self.found: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self.found:
            self.found[name] = self._find(name)
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Examiner:
    """The judge of one exercise under one salt. All that it computes is reused for a whole class.

    Args:
        pairs: look for two mistakes at once where none alone explains an answer. There are many pairs.
    """

    def __init__(self, exercise: Exercise, salt: str = "", pairs: bool = True) -> None:
        self.exercise = exercise
        self.pairs = pairs
        self._source = Salted(salt)
        self._mistakes: dict[tuple[str, str], ComparableObservation] = {}
        self._parameters: dict[str, dict[int, str]] = {}  # probe -> position of an argument -> its parameter's name

    @cached_property
    def other_inputs(self) -> Examiner:
        """The examiner of the same exercise on a second set of inputs: a mistake is named only if it shows there
        too."""
        return Examiner(self.exercise, f"{self._source.salt} once more", self.pairs)

    @cached_property
    def expected(self) -> dict[str, ComparableObservation]:
        """Observations of the reference, by probe."""
        with drawing(self._source), fresh_state():
            found = {n: observe(p.function, self.exercise.reference) for n, p in self.exercise.probes.items()}
        for name, observation in found.items():
            if observation.raised is not None:
                raise RuntimeError(
                    f"the reference of {self.exercise.name} fails its probe {name}: {observation.raised}"
                )
        return {name: ComparableObservation(observation) for name, observation in found.items()}

    @property
    def draws(self) -> Draws:
        """The inputs of all probes, as the reference met them."""
        _ = self.expected  # draws them
        return self._source.table

    def examine(self, implementation: Any) -> Result:
        """Judge an implementation of ours, such as the reference or a mistake, in this process. A student's answer is
        judged by `proctor.marking.submission_marker`."""
        seen = self.observations(implementation)
        result = self.verdict(seen)
        if not result.misconceptions and not result.resembles:
            return result
        return self.verdict(seen, again=self.other_inputs.observations(implementation))

    def observations(self, implementation: Any) -> dict[str, Observation]:
        """Observations of such an implementation, by probe, while what the exercise forbids is blocked."""
        blocker = Blocker()
        seen = {}
        with drawing(Replay(self.draws)), fresh_state(), blocker.without(self.exercise.forbid):
            for name, probe in self.exercise.probes.items():
                observation = observe(probe.function, implementation)
                seen[name] = replace(observation, called=blocker.pop_calls())
        return seen

    def verdict(
        self, seen: Observations, seconds: float = 0.0, again: Observations | None = None, begun: bool = False
    ) -> Result:
        """Judge what the probes saw of an answer. A probe that is absent was not reached.

        Args:
            begun: the answer is known to be more than the stub, even if all that is seen of it is NotImplementedError.
            again: what the probes of `other_inputs` saw of the answer. A name counts only if it holds there too; that
                of a verdict without `again` is a guess.
        """
        probes = self.exercise.counted()
        known = {name: ComparableObservation(observation) for name, observation in seen.items()}
        agrees = {n: n in known and self.expected[n].same(known[n]) for n in probes}
        values = [n for n, p in probes.items() if p.kind == "value"]
        failed_properties = sum(not agrees[n] for n, p in probes.items() if p.kind == "property")
        share = sum(agrees[n] for n in values) / len(values)
        result = Result(
            exercise=self.exercise.name,
            state="not_yet",
            score=share * (1 - failed_properties / len(probes)),
            probes_passed=sum(agrees.values()) if share else 0,  # what computes nothing right agrees with nothing
            probes=len(probes),
            next_step=f'section "{self.exercise.section}", or hint("{self.exercise.name}").',
            seconds=seconds,
            printed=next((o.printed for o in seen.values() if o.printed), ""),
        )
        called = dict.fromkeys(title for o in seen.values() for title in o.called)
        if called:
            sentence = f"You call {' and '.join(called)}, which this exercise asks you to do without."
            return replace(result, score=0.0, explanations=(Explanation(sentence),), help="explained")
        if all(agrees.values()):
            return replace(result, state="passed", next_step="", remarks=self.remarks(known))
        if not begun and self._unstarted(known, values):
            return replace(result, state="not_started", score=0.0, probes_passed=0)
        core = [n for n, p in probes.items() if not p.portability]
        right_here = all(agrees[n] for n in core)
        first = probes[next(n for n in (*values, *core, *probes) if not agrees[n])]
        if share:  # else none counts as passed, whatever it looks at
            result = replace(result, checks=tuple((probe.situation, agrees[name]) for name, probe in probes.items()))
        result = replace(result, right_here=right_here, elsewhere="" if right_here else self._elsewhere(seen, agrees))
        printed = seen[first.name].printed if first.name in seen else result.printed
        evidence = self._evidence(first, known.get(first.name))
        if share:  # elsewhere it does return something
            evidence = tuple(sentence.removesuffix(A_RETURN_MISSING) for sentence in evidence)
        result = replace(result, situation=first.situation, evidence=evidence, printed=printed, probe=first.name)
        mistakes = self.diagnose(known, agrees, again)
        if mistakes:
            result = replace(result, **self._shown_by(mistakes, first, known, agrees))
            names = tuple(m.name for m in mistakes)
            said = (*without_doubles(m.explanation for m in mistakes), *self._further_exception(known, mistakes))
            return replace(result, misconceptions=names, explanations=said, help="named")
        observation = seen.get(first.name)
        if share == 1 and observation is not None:
            why = first.why(observation, self.expected[first.name].observation)
            if why:
                line = observation.raised.line if observation.raised is not None else None
                return replace(result, explanations=(Explanation(why),), help="explained", line=line)
        batch = self._only_some_batches(agrees) if 0 < share < 1 else ()
        if observation is None or observation.raised is not None:
            ended = self._without_tensors(result, first, observation)
            return replace(ended, explanations=(*batch, *ended.explanations), help="explained") if batch else ended
        told = facts(self.in_words(self.expected), self.in_words(known), first.name)
        result = replace(
            result, evidence=(*result.evidence, *(fact for fact in told if not isinstance(fact, Decisive)))
        )
        decisive = tuple(Explanation(fact) for fact in told if isinstance(fact, Decisive))
        if (otherwise := self._other_return(seen)) is not None:
            # what came of unpacking the wrong kind of thing says nothing
            return replace(result, explanations=(otherwise, *decisive), situation="", evidence=(), help="explained")
        informed = not any(isinstance(fact, Constant) for fact in told)
        if informed and (alike := self._resembled(known, agrees, again)) is not None:
            return self._with_likeness(result, alike, known, agrees)
        instead = {str(fact) for fact in told if isinstance(fact, Decisive)}
        result = replace(result, evidence=tuple(line for line in result.evidence if line not in instead))
        if batch or decisive:
            return replace(result, explanations=(*batch, *decisive), help="explained")
        if 0 < share < 1 and (sentence := told_by_an_option(self._options, agrees)):
            return replace(result, explanations=(Explanation(sentence),), help="explained")
        some = right_parts(self.in_words(self.expected)[first.name], self.in_words(known)[first.name])
        if some:
            return replace(result, explanations=(Explanation(some),), help="explained")
        return replace(result, explanations=(UNRECOGNISED,), help="shown")

    def _only_some_batches(self, agrees: Mapping[str, bool]) -> tuple[Explanation, ...]:
        """The explanation of an answer that passes exactly the checks with one number of batch dimensions."""
        sentence = works_only_for(self._extra_dimensions, agrees)
        return (Explanation(sentence),) if sentence else ()

    @cached_property
    def _options(self) -> dict[str, set[str]]:
        """By check of values: which options of the reference are given something else than their default."""
        given: dict[str, set[str]] = {}
        with drawing(Replay(self.draws)), fresh_state():
            for name, probe in self.exercise.counted().items():
                if probe.kind == "value":
                    watched = noting_options(self.exercise.reference, given.setdefault(name, set()))
                    observe(probe.function, watched)
        return given

    @cached_property
    def _extra_dimensions(self) -> dict[str, frozenset[int]]:
        """By check of values: how many leading dimensions the arguments have in it, besides those that all have."""
        calls: dict[str, list[dict[str, Any]]] = {}
        with drawing(Replay(self.draws)), fresh_state():
            for name, probe in self.exercise.counted().items():
                if probe.kind == "value":
                    watched = labels.called_with(self.exercise.reference, calls.setdefault(name, []))
                    observe(probe.function, watched)
        return extra_dimensions(calls)

    def makes_a_difference(self, parameter: str) -> bool:
        """Does the reference give something else if this argument is another? Asked for numbers; of anything else it is
        taken for granted."""
        calls: list[dict[str, Any]] = []
        values = [p for p in self.exercise.counted().values() if p.kind == "value"]
        with drawing(Replay(self.draws)), fresh_state():
            for probe in values:
                observe(probe.function, labels.called_with(self.exercise.reference, calls))
        numbers = [call for call in calls if isinstance(call.get(parameter), int | float)]
        if not numbers or inspect.isclass(self.exercise.reference):
            return True
        return any(self._differs(call, parameter, other) for call in numbers[:3] for other in others(call[parameter]))

    def is_left_to_chance(self, probe: str) -> bool:
        """Does the reference give something else under a check after other random numbers were drawn?"""
        with drawing(Replay(self.draws)), fresh_state():
            random.random()
            torch.rand(1)
            after = observe(self.exercise.probes[probe].function, self.exercise.reference)
        return not self.expected[probe].same(ComparableObservation(after))

    def _differs(self, call: Mapping[str, Any], parameter: str, other: Any) -> bool:
        before, after = (
            observe(lambda f, a=arguments: named(f(**a)), self.exercise.reference)  # type: ignore[misc]
            for arguments in (call, {**call, parameter: other})
        )
        return after.values is not None and not ComparableObservation(before).same(ComparableObservation(after))

    def _elsewhere(self, seen: Observations, agrees: Mapping[str, bool]) -> str:
        """Where the code would not run, whatever it computes: one sentence, or none if that cannot be told apart."""
        for name, probe in self.exercise.counted().items():
            observation = seen.get(name)
            if not probe.portability or observation is None or observation.values is None or agrees[name]:
                continue
            expected = self.expected[name].observation
            flags = [t for t in observation.values.values() if t.dtype == torch.bool and t.dim() == 0]
            if not flags and not agrees.get("in_float64", True):
                continue  # that the dtype is not kept is said already
            if flags or dtypes_of(observation) != dtypes_of(expected):
                return probe.why(observation, expected)
        return ""

    def _resembled(
        self, seen: ComparableObservations, agrees: Mapping[str, bool], again: Observations | None
    ) -> Misconception | None:
        """The one mistake that does what the answer does on most of the checks of values that it fails, and on all that
        it passes; on the second set of inputs too, if that was seen. None if no mistake does, or several do."""
        failed = [n for n, p in self.exercise.counted().items() if p.kind == "value" and not agrees[n]]
        if len(failed) < LEAST_ALIKE or set(seen) != set(self.exercise.probes):
            return None
        with fresh_state():
            found = self._alike(seen, agrees)
            if again is not None and found:
                other = self.other_inputs
                known = {name: ComparableObservation(o) for name, o in again.items()}
                there = {n: n in known and other.expected[n].same(known[n]) for n in agrees}
                found = [m for m in found if m in other._alike(known, there)]
        return found[0] if len(found) == 1 else None

    def _alike(self, seen: ComparableObservations, agrees: Mapping[str, bool]) -> list[Misconception]:
        """The mistakes that do the same on most of the checks of values that fail, and on all others."""
        values = [p for p in self.exercise.counted().values() if p.kind == "value" and p.name in seen]
        failed = [p for p in values if not agrees[p.name] and seen[p.name].values is not None]
        counts: dict[str, int] = {}
        for mistake in self.exercise.misconceptions.values():
            left = len(failed)
            for n, probe in enumerate(failed):
                same = self.observe_mistake((mistake,), probe).same(seen[probe.name])
                counts[mistake.name] = counts.get(mistake.name, 0) + same
                if 2 * (counts[mistake.name] + left - n - 1) <= left:
                    break  # it can no longer be most of them
        most = max(counts.values(), default=0)
        if most < LEAST_ALIKE - 1 or 2 * most <= sum(not agrees[p.name] for p in values):
            return []
        right = [p for p in values if agrees[p.name]]
        return [
            m
            for m in self.exercise.misconceptions.values()
            if counts[m.name] == most and all(self.observe_mistake((m,), p).same(seen[p.name]) for p in right)
        ]

    def _with_likeness(
        self, result: Result, alike: Misconception, seen: ComparableObservations, agrees: Mapping[str, bool]
    ) -> Result:
        """The result that says which mistake this looks like, with the evidence of what that does not explain."""
        probes = [p for p in self.exercise.counted().values() if p.kind == "value" and not agrees[p.name]]
        rest = [p for p in probes if not self.observe_mistake((alike,), p).same(seen[p.name])]
        same = len(probes) - len(rest)
        sentence = (
            f"This looks like a mistake that we know, which does the same on {same} of the {len(probes)} checks of "
            f"values that fail: {alike.explanation.sentence}"
        )
        first = rest[0]
        if evidence := self._evidence(first, seen[first.name]):
            printed = seen[first.name].observation.printed
            result = replace(result, situation=first.situation, evidence=evidence, printed=printed, probe=first.name)
        sentence += (
            " Below is one where it does not." if len(rest) == 1 else " Below is one of those where it does not."
        )
        why = Explanation(sentence, alike.explanation.reason)
        return replace(result, explanations=(why,), help="resembles", resembles=alike.name)

    def remarks(self, seen: ComparableObservations) -> tuple[str, ...]:
        """Notes shown with a pass; they never affect the score."""
        found = []
        for name, probe in self.exercise.probes.items():
            if probe.kind == "remark" and name in seen and not self.expected[name].same(seen[name]):
                found.append(probe.fault)
        if "in_float64" in seen and self.expected["in_float64"].loses_precision(seen["in_float64"]):
            found.append(LESS_PRECISE)
        deprecated = dict.fromkeys(text for known in seen.values() for text in known.observation.deprecated)
        return (*found, *(f"torch warns: {text}" for text in deprecated))

    # ---- which mistake it is

    def diagnose(
        self, seen: ComparableObservations, agrees: Mapping[str, bool], again: Observations | None = None
    ) -> tuple[Misconception, ...]:
        """The mistake, or pair of mistakes, that did exactly what this answer did; empty if none did.

        What a second set of inputs contradicts is no explanation, and where two are left, neither is known to be true.

        Args:
            agrees: on which probes the answer does what the reference does.
        """
        if set(seen) != set(self.exercise.probes):
            return ()
        with fresh_state():
            return self._diagnosed(seen, agrees, again)

    def _diagnosed(
        self, seen: ComparableObservations, agrees: Mapping[str, bool], again: Observations | None
    ) -> tuple[Misconception, ...]:
        candidates = self._candidates(seen, agrees)
        if candidates and again is not None:
            other, names = self.other_inputs, self.discriminating_probes(agrees)
            known = {name: ComparableObservation(again[name]) for name in names if name in again}
            there = {name: other.expected[name].same(known[name]) for name in known}
            candidates = other.confirmed_candidates(candidates, known, there, names) if len(known) == len(names) else []
        return self._single_candidate(candidates, seen, agrees)

    def discriminating_probes(self, agrees: Mapping[str, bool]) -> list[str]:
        """Names of the probes that distinguish mistakes: those of values, or all properties besides if the answer's
        values are right. Where the code would run counts only if nothing else is wrong."""
        probes = self.exercise.counted()
        values = [name for name, probe in probes.items() if probe.kind == "value"]
        core = [name for name, probe in probes.items() if not probe.portability]
        if not all(agrees[name] for name in values):
            return values
        return list(probes) if all(agrees[name] for name in core) else core

    def probes_to_confirm(self, result: Result) -> list[str]:
        """Names of the probes that run again on `other_inputs` to confirm a recognised mistake."""
        return self.discriminating_probes({name: name != result.probe for name in self.exercise.counted()})

    def confirmed_candidates(
        self,
        candidates: list[tuple[Misconception, ...]],
        seen: ComparableObservations,
        agrees: Mapping[str, bool],
        names: list[str],
    ) -> list[tuple[Misconception, ...]]:
        """The candidates that explain these observations as well."""
        return [
            c
            for c in candidates
            if any(
                self.is_explained_by(c, seen, agrees, names, skip_raised=skip_raised) for skip_raised in (False, True)
            )
        ]

    def _single_candidate(
        self, candidates: list[tuple[Misconception, ...]], seen: ComparableObservations, agrees: Mapping[str, bool]
    ) -> tuple[Misconception, ...]:
        """The only candidate, or the only one that explains the properties as well; empty if several remain."""
        if len(candidates) > 1:
            names = list(self.exercise.counted())
            candidates = [c for c in candidates if self.is_explained_by(c, seen, agrees, names)] or candidates
        return candidates[0] if len(candidates) == 1 else ()

    def _candidates(self, seen: ComparableObservations, agrees: Mapping[str, bool]) -> list[tuple[Misconception, ...]]:
        known = list(self.exercise.misconceptions.values())
        names = self.discriminating_probes(agrees)
        alone: list[tuple[Misconception, ...]] = [
            (m,) for m in known if self.is_explained_by((m,), seen, agrees, names)
        ]
        if alone:
            return alone
        possible = self._possible_pairs if self.pairs else []
        pairs: list[tuple[Misconception, ...]] = [p for p in possible if self.is_explained_by(p, seen, agrees, names)]
        return pairs or [(m,) for m in known if self.is_explained_by((m,), seen, agrees, names, skip_raised=True)]

    @cached_property
    def _possible_pairs(self) -> list[tuple[Misconception, Misconception]]:
        """Mistakes that can be made together, each of which shows by itself."""
        shown = [m for m in self.exercise.misconceptions.values() if m.replaces and self._is_visible(m)]
        return [(a, b) for a, b in combinations(shown, 2) if self.exercise.both(a, b) is not None]

    def _is_visible(self, mistake: Misconception) -> bool:
        """Does this mistake, made alone, change what some value probe sees?"""
        values = (p for p in self.exercise.probes.values() if p.kind == "value")
        return any(not self.expected[p.name].same(self.observe_mistake((mistake,), p)) for p in values)

    def is_explained_by(
        self,
        mistakes: tuple[Misconception, ...],
        seen: ComparableObservations,
        agrees: Mapping[str, bool],
        names: list[str],
        skip_raised: bool = False,
    ) -> bool:
        """Do these mistakes do what the answer did, on every one of these probes?

        Args:
            skip_raised: pass over probes on which the answer raised an exception, as long as most have values.
        """
        probes = [self.exercise.probes[name] for name in names]
        if skip_raised:
            with_values = [p for p in probes if seen[p.name].values is not None]
            if len(with_values) <= len(probes) / 2:
                return False
            probes = with_values
        # first what has been run before, then where the answer is wrong: there most mistakes differ from it
        probes.sort(key=lambda p: (_key(mistakes, p) not in self._mistakes, agrees[p.name]))
        if not all(self.observe_mistake(mistakes, p).same(seen[p.name]) for p in probes):
            return False
        return any(self._is_evidence(seen[p.name], self.observe_mistake(mistakes, p), agrees[p.name]) for p in probes)

    def _is_evidence(self, seen: ComparableObservation, mistaken: ComparableObservation, agrees: bool) -> bool:
        """Is this probe evidence for a mistake that did the same? An exception is one only if it says the same."""
        if seen.raised is not None and mistaken.raised is not None:
            return seen.raised.message == mistaken.raised.message and seen.raised.kind != UnknownDraw.__name__
        return not agrees

    def observe_mistake(self, mistakes: tuple[Misconception, ...], probe: Probe) -> ComparableObservation:
        """The observation of a mistake, or of two together, under a probe; run on first use."""
        key = _key(mistakes, probe)
        if key not in self._mistakes:
            wrong = mistakes[0].implementation if len(mistakes) == 1 else self.exercise.both(*mistakes)
            with drawing(Replay(self.draws)):
                self._mistakes[key] = ComparableObservation(observe(probe.function, wrong))
        return self._mistakes[key]

    def diagnosed_as(self, mistake: Misconception) -> tuple[str, ...]:
        """Names of the mistakes that a known mistake is diagnosed as. Gives what `examine` gives, with as few probes as
        possible."""
        here, there = self._lazy_observations(mistake), self.other_inputs._lazy_observations(mistake)
        with fresh_state():
            candidates = self._candidates(*here)
            if candidates:
                candidates = self.other_inputs.confirmed_candidates(
                    candidates, *there, self.discriminating_probes(here[1])
                )
            return tuple(m.name for m in self._single_candidate(candidates, *here))

    def _lazy_observations(
        self, mistake: Misconception
    ) -> tuple[LazyMapping[ComparableObservation], LazyMapping[bool]]:
        """Observations of a mistake, by probe, and whether each agrees with the reference."""
        seen = LazyMapping(
            self.exercise.probes, lambda name: self.observe_mistake((mistake,), self.exercise.probes[name])
        )
        return seen, LazyMapping(self.exercise.counted(), lambda name: self.expected[name].same(seen[name]))

    def clearly_differs(self, misconception: Misconception, tolerances: float) -> bool:
        """Does a probe show a mistake to be at least so many tolerances away from the reference?"""
        probes = self.exercise.counted().values()
        return any(
            self.expected[p.name].excess(self.observe_mistake((misconception,), p)) >= tolerances for p in probes
        )

    # ---- in words

    def _unstarted(self, seen: ComparableObservations, values: list[str]) -> bool:
        raised = [seen[n].raised for n in values if n in seen]
        return bool(raised) and all(r is not None and r.unstarted for r in raised)

    def _shown_by(
        self,
        mistakes: tuple[Misconception, ...],
        first: Probe,
        seen: ComparableObservations,
        agrees: Mapping[str, bool],
    ) -> dict[str, Any]:
        """The evidence for named mistakes, where the first failing probe shows another fault: an exception that they do
        not raise. It comes from the first one whose values are theirs."""
        if seen[first.name].values is not None or self.observe_mistake(mistakes, first).same(seen[first.name]):
            return {}
        for name, probe in self.exercise.counted().items():
            found = seen[name]
            if not agrees[name] and found.values is not None and self.observe_mistake(mistakes, probe).same(found):
                evidence = self._evidence(probe, found)
                printed = found.observation.printed
                return {"situation": probe.situation, "evidence": evidence, "probe": name, "printed": printed}
        return {}

    def _further_exception(
        self, seen: ComparableObservations, mistakes: tuple[Misconception, ...]
    ) -> tuple[Explanation, ...]:
        """An explanation for an exception that the named mistakes do not raise; empty if there is none."""
        for probe in (p for p in self.exercise.probes.values() if p.kind == "value"):
            raised = seen[probe.name].raised
            if raised is not None and self.observe_mistake(mistakes, probe).raised is None:
                where = f" at {raised.where}" if raised.where else ""
                how = f"it raised {raised.kind}{where}" if not raised.ours else "it gives something else than asked for"
                return (Explanation(f"Besides, {how}, in this situation: {probe.situation}."),)
        return ()

    def _evidence(self, probe: Probe, seen: ComparableObservation | None) -> tuple[str, ...]:
        if seen is None:
            return ()
        if seen.values is None:
            raised = seen.raised
            if raised is None or raised.unstarted:
                return ()
            return (raised.message if raised.ours else str(raised),)
        spoken = self.spoken(probe.name)
        differences = self.expected[probe.name].renamed(spoken).differences(seen.renamed(spoken))
        return tuple(d.sentence for d in list(differences)[:3])

    def spoken(self, probe: str) -> Callable[[str], str]:
        """How the labels of a probe are said to a student: arguments go by the names of their parameters."""
        if probe not in self._parameters:
            seen = self.expected[probe].observation.values or {}
            calls: list[dict[str, Any]] = []
            if any(labels.ARGUMENT.fullmatch(label) for label in seen):
                watched = labels.called_with(self.exercise.reference, calls)
                with drawing(Replay(self.draws)), fresh_state():
                    observe(self.exercise.probes[probe].function, watched)
            self._parameters[probe] = labels.parameters_of(self.exercise.reference, calls, seen)
        parameters = self._parameters[probe]
        return lambda label: labels.spoken(label, parameters)

    def in_words(self, seen: ComparableObservations) -> ComparableObservations:
        """Observations under the labels that a student reads."""
        return {name: known.renamed(self.spoken(name)) for name, known in seen.items()}

    def _without_tensors(self, result: Result, probe: Probe, observation: Observation | None) -> Result:
        """The result where there are no tensors to compare. Only exceptions of student code are reported as raised by
        it."""
        raised = observation.raised if observation is not None else None
        if raised is None:
            why = Explanation("Your code did not get as far as this check.")
            return replace(result, state="stopped", explanations=(why,))
        if raised.unstarted:
            why = Explanation("You have begun, and a part of it still raises `NotImplementedError`.")
            evidence = (f"{raised.where}",) if raised.where else ()
            return replace(result, explanations=(why,), evidence=evidence, help="located", line=raised.line)
        if raised.kind == UnknownDraw.__name__:
            return replace(
                result, explanations=(self._unknown_parameters(raised, probe),), evidence=(), help="explained"
            )
        if raised.where or not raised.returned:
            if (otherwise := signature_explanation(self.exercise.name, raised)) is not None:
                return replace(result, state="stopped", explanations=(otherwise,), help="explained")
            return replace(
                result,
                state="stopped",
                explanations=(exception_explanation(raised),),
                help="located" if raised.where else "shown",
                line=raised.line,
            )
        asked = self._reference_returns(probe)
        if raised.returned != asked:
            sentence = f"{self.exercise.name} returned {raised.returned}, expected {asked}."
            kept = result.evidence if raised.ours else ()  # what the checker raised over it is no news
            if not kept and raised.returned == "None":
                sentence += A_RETURN_MISSING
            return replace(result, explanations=(Explanation(sentence),), evidence=kept, help="explained")
        why = Explanation(f"What {self.exercise.name} returned cannot be used here.")
        return replace(result, explanations=(why,), help="explained")

    def _other_return(self, seen: Observations) -> Explanation | None:
        """The explanation for the first probe with another kind of return value than the reference's. Other probes may
        agree: one tensor passes for two values if it has two rows."""
        for name, probe in self.exercise.counted().items():
            raised = seen[name].raised if name in seen else None
            if raised is None or raised.where or not raised.returned:
                continue
            if raised.returned != (asked := self._reference_returns(probe)):
                returned = f"{self.exercise.name} returned {raised.returned}, expected {asked}"
                return Explanation(f"{returned}, in this situation: {probe.situation}.")
        return None

    def _unknown_parameters(self, raised: Raised, probe: Probe) -> Explanation:
        """The explanation that lists the parameters a module lacks, has in another shape, or should not have."""
        name = self.exercise.name
        if not raised.message.startswith("parameters: "):
            return Explanation(f"{name} gave something in another shape than expected, so that this could not go on.")
        source = TrackingReplay(self.draws)
        with drawing(source), fresh_state():
            observe(probe.function, self.exercise.reference)
        asked = {key.partition(PARAMETER)[2]: key.split(PARAMETER)[0] for key in source.keys if PARAMETER in key}
        has, _, lacks = raised.message.removeprefix("parameters: ").partition(" | ")
        sentences = []
        for parameter, shape in re.findall(r"([\w.]+) (\[[\d, ]*\])", has)[:3]:
            if parameter in asked:
                wanted = asked[parameter].removeprefix("normal ")
                sentences.append(f"`{parameter}` has shape {bracketed(shape)}, expected {bracketed(wanted)}.")
            else:
                sentences.append(f"{name} has `{parameter}`, which is not asked for.")
        missing = [parameter for parameter in lacks.split("; ") if parameter in asked]
        sentences += [f"`{parameter}` is missing." for parameter in missing[:3]]
        reason = "Parameters are filled by their names, so each has to have the name and the shape of the stub."
        return Explanation(" ".join(sentences), reason)

    def _reference_returns(self, probe: Probe) -> str:
        """The reference's return value under a probe, in words."""
        with drawing(Replay(self.draws)):
            return last_return(probe.function, self.exercise.reference)


def others(value: float) -> tuple[float, ...]:
    """Other numbers of the same kind."""
    if isinstance(value, bool):
        return (not value,)
    return (1, value + 1, 2 * value) if isinstance(value, int) else (1.5 * value, value + 0.5)


def dtypes_of(observation: Observation) -> set[torch.dtype]:
    return {t.dtype for t in (observation.values or {}).values() if t.is_floating_point()}


def _key(mistakes: tuple[Misconception, ...], probe: Probe) -> tuple[str, str]:
    return " + ".join(mistake.name for mistake in mistakes), probe.name


def exception_explanation(raised: Raised) -> Explanation:
    """The explanation of an exception of student code, with its line."""
    where = f" at {raised.where}" if raised.where else ""
    return Explanation(f"Your code raised {raised.kind}{where}.", in_plain_words(raised.message))


def without_doubles(explanations: Iterable[Explanation]) -> Iterator[Explanation]:
    """Explanations of several mistakes; a reason that two of them share is given once."""
    given: set[str] = set()
    for one in explanations:
        yield replace(one, reason="") if one.reason in given else one
        given.add(one.reason)


CALLED = re.compile(r"(?:[\w.]*\.)?(\w+)\(\) (got an unexpected keyword argument '(\w+)'|.*positional argument)")


def signature_explanation(name: str, raised: Raised) -> Explanation | None:
    """The explanation for a call that failed before any line of the answer ran: its parameters are not the stub's."""
    found = CALLED.match(raised.message) if raised.kind == "TypeError" and not raised.where else None
    if found is None or found[1] not in (name, "forward", "__init__"):
        return None
    what = (
        f"with the argument `{found[3]}`, which yours does not have" if found[3] else "with other arguments than yours"
    )
    return Explanation(f"{name} is called {what}. Keep the names and the order of the arguments in the stub.")


def bracketed(shape: str) -> str:
    """`[3, 4]` as a shape is written: `(3, 4)`. What a program says of itself may be no shape."""
    return str(tuple(map(int, re.findall(r"\d{1,9}", shape))))
