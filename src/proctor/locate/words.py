"""Sentences for students about a located line: the line, what to look at there, further hints; never the repair."""

from __future__ import annotations

from collections.abc import Sequence
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
        "the comparison",
        "The comparison was exchanged for another. Try a value on each side of its border, and the border.",
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
    "always": Kind("whether this condition is wanted", "What stands under it happens in every case now."),
    "never": Kind("whether this branch is wanted at all", "The branch is never taken now."),
    "slice": Kind("where the slice begins and ends", "The slice begins or ends elsewhere now."),
    "result": Kind("what is returned", "Less is returned now."),
    "call": Kind("whether this call is wanted", "One call was left out."),
    "function": Kind("which functions are called", "The function was exchanged for one that is easily taken for it."),
    "argument": Kind("the arguments of the call", "An argument was changed or left out."),
    "missing argument": Kind("the arguments of the call", "An argument was added. What does the call do without it?"),
    "shape": Kind("the shape of the result", "A dimension of size 1 was kept or added."),
    "transpose": Kind("which dimension comes first", "Two dimensions changed places."),
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


def one_change(line: str, code: str, kind: str, probes: int, agree: int | None = None, after: bool = False) -> str:
    """The sentence for one edit that was found.

    Args:
        agree: how many probes agree with it, if not all.
        after: the edit adds a statement after the line.
    """
    makes = f"makes all {probes} checks pass" if agree is None else f"makes {agree} of the {probes} checks pass"
    what = f"One more step after {line}" if after else f"One change in {line}"
    left = "" if agree is None else " Something else is left."
    return f"{what}, `{code}`, {makes}: look at {KINDS[kind].look}.{left}"


def same_again(lines: Sequence[str]) -> str:
    """The sentence for code that stands in other lines as well; nothing if there are none."""
    return f" The same stands in {' and '.join(lines)}." if lines else ""


def two_changes(places: list[tuple[str, str]], probes: int) -> str:
    """The sentence for two edits; `places` are their lines and kinds."""
    (first, one), (second, other) = places
    where = f"both in {first}" if first == second else f"one in {first}, one in {second}"
    look = KINDS[one].look if one == other else f"{KINDS[one].look} and {KINDS[other].look}"
    return f"Two changes, {where}, make all {probes} checks pass: look at {look}."


def steps(old: str, kind: str) -> tuple[str, ...]:
    """Further hints: the piece of the student's own code, then what is wrong with it."""
    return f"The change was made to this piece of your code: `{old}`.", KINDS[kind].step


def look_at(line: str, known: bool, before: Sequence[int] = ()) -> str:
    """Where to look: a line, and what goes into it if that is not known to be right.

    Args:
        before: the numbers of the other lines from which that comes, where they are few.
    """
    if known:
        return f"Look at {line}"
    if not before:
        return f"Look at {line}, and at what goes into it"
    *most, last = map(str, before)
    others = f"lines {', '.join(most)} and {last}, which go" if most else f"line {last}, which goes"
    return f"Look at {line}, and at {others} into it"


def proved_sentence(
    line: str,
    code: str,
    mends: int,
    tried: int,
    fails: int,
    known: bool,
    holder: str = "",
    before: Sequence[int] = (),
) -> str:
    """The sentence for a place whose right value was tried: what comes after it is right, as far as it is checked.

    Args:
        mends: how many of the checks of values that fail pass with it; 0 for the last step of all, where that would say
            nothing.
        tried: in how many of them a right value could be tried.
        fails: how many fail.
        known: right solutions compute all that goes into it.
        holder: the variable whose value the code changes, where it is a statement.
        before: the other lines that go into it, where right solutions do not compute all of that.
    """
    if not mends:
        return f"Look at {line}: our solution has the tensors that `{code}` is made of, but not what comes out of it."
    place = f"in what `{holder}` holds after `{code}`" if holder else f"in place of `{code}`"
    look = look_at(line, known, before)
    if mends < tried:
        how = (
            f"your answer passes {mends} of the {fails} checks of values that it fails now, and something else is left"
        )
    elif mends < fails:
        others = "in the others that could not be tried"
        how = f"your answer passes {mends} of the {fails} checks of values that it fails now; {others}"
    else:
        several = {1: "the check of values that it fails", 2: "both checks of values that it fails"}.get(
            fails, f"all {fails} checks of values that it fails"
        )
        how = f"your answer passes {several} now"
    inputs = ". Our solution has the tensors that it is made of, too" if known else ""
    return f"{look}: with the right value {place}, {how}{inputs}."


def unread_sentence(arguments: Sequence[str]) -> str:
    """The sentence for arguments that an answer never reads."""
    names = [f"`{name}`" for name in arguments]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"Your code never looks at {listed}."


def unused_remark(variable: str, line: str) -> str:
    """The remark on a variable that an answer computes and never uses."""
    return f"Nothing reads `{variable}`, which {line} computes."


def chance_sentence(line: str, code: str) -> str:
    """The sentence for a result that depends on chance where the right one does not."""
    return (
        "Your result depends on chance, and the right one does not: with other random numbers yours is another one. "
        f"They are drawn in {line}, `{code}`."
    )


def part_sentence(
    line: str, code: str, mends: int, wrong: int, known: bool, holder: str = "", before: Sequence[int] = ()
) -> str:
    """The sentence for a place whose right value makes some of the wrong entries right, and no right one wrong."""
    place = f"in what `{holder}` holds after `{code}`" if holder else f"in place of `{code}`"
    look = look_at(line, known, before)
    become = "becomes" if mends == 1 else "become"
    if mends == wrong:
        return f"{look}: with the right value {place}, every entry here that is wrong becomes right."
    return f"{look}: with the right value {place}, {mends} of the {wrong} entries that are wrong here {become} right."


def complete_sentence(line: str, code: str) -> str:
    """The sentence for an answer that goes on computing with the right result."""
    return f"Look at {line}: `{code}` is the right result already. What is done with it afterwards is too much."


def unfinished_sentence(line: str, code: str) -> str:
    """The sentence for an answer that returns an intermediate value of a right solution."""
    return f"Look at {line}: `{code}` is a value that our solution has too, but on the way to its result."


UNFINISHED_STEPS = (
    "What you return is right so far, and something is still to be done with it.",
    "Compare its shape with the one that the exercise asks for, or one of its rows with what you expect there.",
)
TRACE_STEPS = (
    "Our solution has the tensors that this is made of as well: what differs is what is done with them.",
    "Print this value and its shape for an input of your own that is so small that you can compute it by hand.",
)
