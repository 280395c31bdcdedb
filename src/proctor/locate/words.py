"""Sentences for students about a located line: the line, what to look at there, further hints; never the repair."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.inside.quote import short as short


@dataclass(frozen=True)
class Kind:
    """The words for one kind of edit.

    Args:
        look: completes "look at …".
        step: what was done there that made all probes agree; a further hint says it, in general terms.
    """

    look: str
    step: str


KINDS = {
    "operator": Kind("the operator", "One operator was exchanged for another. What should happen to the two sides?"),
    "comparison": Kind(
        "the comparison", "The comparison was exchanged for another. Try the values at its border by hand."
    ),
    "constant": Kind(
        "the number that is written there", "A number was exchanged for another. Which quantity should it be?"
    ),
    "flag": Kind("the True or False that is written there", "It was True or False, and now is the other."),
    "dimension": Kind(
        "the dimension",
        "A dimension was exchanged for another. Write the shape beside each tensor: which one should go?",
    ),
    "name": Kind("the variables", "A variable was exchanged for another that you have. Say in words what each holds."),
    "sign": Kind("the sign", "A sign was added or dropped."),
    "order": Kind("the order in which things stand", "Two things changed places."),
    "operation": Kind("what is done there, and whether all of it is wanted", "One operation was added or dropped."),
    "brackets": Kind(
        "what is computed first", "The operations stayed as they are; what changed is which one comes first."
    ),
    "condition": Kind("the condition", "The condition holds at other times now."),
    "slice": Kind("where the slice begins and ends", "The slice begins or ends elsewhere now."),
    "result": Kind("what is returned", "Less is returned now."),
    "call": Kind("whether this call is wanted", "One call was left out."),
    "function": Kind("which function is called", "The function was exchanged for one that is easily taken for it."),
    "argument": Kind("the arguments of the call", "An argument was changed or left out."),
    "missing argument": Kind("the arguments of the call", "An argument was added. What does the call do without it?"),
    "shape": Kind("the shape of the result", "A dimension of size 1 was kept or added."),
    "transpose": Kind("the shapes on both sides", "Two dimensions changed places."),
    "power": Kind("squares and roots", "A square, a root or a reciprocal was added."),
    "small constant": Kind("the small constant", "The small constant was added there, too."),
    "off by one": Kind("counting: where it begins, where it ends", "One was added or taken away."),
    "in place": Kind("what is changed in place", "Something is no longer overwritten that is still needed as it was."),
    "dtype": Kind("the dtype", "The numbers have another dtype now."),
    "device": Kind("the device", "A new tensor is made on the device of an argument now."),
    "statement": Kind("whether this statement is wanted", "The statement was left out."),
    "sequence": Kind("the order of the statements", "Two statements changed places."),
    "loop": Kind(
        "what happens once, and what in every round",
        "A statement moved into the loop, or out of it. Follow a variable through two rounds on paper.",
    ),
    "expression": Kind("the formula", "The formula was exchanged for another. Write yours beside the one in the text."),
    "missing step": Kind("what may be missing", "A step was added: something more happens there now."),
}


def one_change(line: str, code: str, kind: str, probes: int, agree: int | None = None) -> str:
    """The sentence for one edit that was found; `agree` is how many probes agree with it, if not all."""
    makes = f"makes all {probes} checks pass" if agree is None else f"makes {agree} of the {probes} checks pass"
    return f"One change in {line}, `{code}`, {makes}: look at {KINDS[kind].look}."


def two_changes(places: list[tuple[str, str]], probes: int) -> str:
    """The sentence for two edits; `places` are their lines and kinds."""
    (first, one), (second, other) = places
    where = f"both in {first}" if first == second else f"one in {first}, one in {second}"
    look = KINDS[one].look if one == other else f"{KINDS[one].look} and {KINDS[other].look}"
    return f"Two changes, {where}, make all {probes} checks pass: look at {look}."


def steps(old: str, kind: str) -> tuple[str, ...]:
    """Further hints: the piece of the student's own code, then what is wrong with it."""
    return f"The change was made to this piece of your code: `{old}`.", KINDS[kind].step


def divergence_sentence(line: str, code: str, known: str, holder: str = "") -> str:
    """The sentence for the first divergence of an answer's values from those of a right solution.

    Args:
        holder: the variable whose value the code changes, where it is a statement.
    """
    if holder:
        return f"Look at {line}: what `{holder}` holds after `{code}` is a value that our solution has nowhere."
    inputs = f", though it has every {known} that goes into it" if known else ""
    return f"Look at {line}: `{code}` has a value that our solution has nowhere{inputs}."


def unfinished_sentence(line: str, code: str) -> str:
    """The sentence for an answer that returns an intermediate value of a right solution."""
    return f"Look at {line}: `{code}` is a value that our solution has too, but on the way to its result."


UNFINISHED_STEPS = (
    "What you return is right so far, and something is still to be done with it.",
    "Compare its shape with the one that the exercise asks for, or one of its rows with what you expect there.",
)
TRACE_STEPS = (
    "What it is computed from agrees with our solution, so the step itself is what differs.",
    "Print this value and its shape for an input of your own that is so small that you can compute it by hand.",
)
