"""What a student is told of a place: the line and what to look at there; further steps, if asked; never the repair."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """How to speak of one kind of edit.

    Args:
        look: completes "look at …".
        step: what a further hint says of it.
    """

    look: str
    step: str


KINDS = {
    "operator": Kind("the operator", "Another operator belongs there. What should happen to the two sides?"),
    "comparison": Kind(
        "the comparison",
        "Its border belongs elsewhere, or it should be the other way round. Try both edges.",
    ),
    "constant": Kind("the number that is written there", "Another number belongs there. Which quantity should it be?"),
    "flag": Kind("the True or False that is written there", "It should be the other one of True and False."),
    "dimension": Kind(
        "the dimension",
        "Another dimension belongs there. Write the shape beside each tensor, and say which one should go.",
    ),
    "name": Kind("the variables", "One variable there should be another that you have. Say in words what each holds."),
    "sign": Kind("the sign", "A sign is there that does not belong, or is missing."),
    "order": Kind("the order in which things stand", "Two things there should change places."),
    "operation": Kind(
        "what is done to the number, and whether all of it is wanted",
        "One operation there is too much, or one is missing.",
    ),
    "brackets": Kind("what is computed first", "Brackets: Python computes these in another order than is wanted."),
    "condition": Kind("the condition", "The condition holds when it should not, or the other way round."),
    "slice": Kind("where the slice begins and ends", "The slice takes too much, too little, or the wrong end."),
    "result": Kind("what is returned", "More is returned than is asked for, or something else."),
    "call": Kind("whether this call is wanted", "One call there does something that is not asked for."),
    "function": Kind("which function is called", "Another function is meant, one that is easily taken for this one."),
    "argument": Kind("the arguments of the call", "One argument there should be another, or should not be there."),
    "missing argument": Kind("the arguments of the call", "An argument is missing there. What does it do without?"),
    "shape": Kind("the shape of the result", "A dimension is lost there that is needed later, or one is missing."),
    "transpose": Kind("the shapes on both sides", "Two dimensions should change places there."),
    "power": Kind("squares and roots", "A square, a root or a reciprocal is missing there."),
    "small constant": Kind("the small constant", "The small constant belongs there too."),
    "off by one": Kind("counting: where it begins, where it ends", "It is off by one."),
    "in place": Kind(
        "what is changed in place", "Something is changed there that is still needed as it was, perhaps by your caller."
    ),
    "dtype": Kind("the dtype", "The numbers should have another dtype there."),
    "statement": Kind("whether this statement is wanted", "The statement does something that is not asked for."),
    "sequence": Kind("the order of the statements", "This statement comes too late or too early."),
    "expression": Kind("the formula", "Another formula belongs there. Write it down from the text, then compare."),
    "missing step": Kind("what may be missing", "A step is missing: something should still happen there."),
}


def one_change(line: str, code: str, kind: str, probes: int) -> str:
    """The sentence for one edit that was found."""
    return f"One change in {line}, `{code}`, makes all {probes} probes agree: look at {KINDS[kind].look}."


def two_changes(places: list[tuple[str, str]], probes: int) -> str:
    """The same for two; `places` are their lines and kinds."""
    (first, one), (second, other) = places
    where = f"both in {first}" if first == second else f"one in {first}, one in {second}"
    look = KINDS[one].look if one == other else f"{KINDS[one].look} and {KINDS[other].look}"
    return f"Two changes, {where}, make all {probes} probes agree: look at {look}."


def steps(old: str, kind: str) -> tuple[str, ...]:
    """What further hints say: first the piece of their own code, then what is the matter with it."""
    return f"It is about this piece of your code: `{old}`.", KINDS[kind].step


def parting(line: str, code: str, known: bool) -> str:
    """The sentence for the place where an answer's numbers leave those of right solutions."""
    inputs = ", while what goes into it is right" if known else ""
    return f"Look at {line}: `{code}` has a value there that our right solution has nowhere{inputs}."


TRACE_STEPS = (
    "Everything that is computed before it, and that it uses, agrees with a right solution.",
    "Print this value and its shape for an input of your own that is so small that you can compute it by hand.",
)


def short(code: str, most: int = 80) -> str:
    """Code on one line."""
    code = " ".join(code.split())
    return code if len(code) <= most else code[: most - 1].rstrip() + "…"
