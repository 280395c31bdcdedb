"""Edits are small, made in the student's own text, and every kind has its words."""

from __future__ import annotations

import ast
from time import monotonic

import pytest

from proctor.locate.edits import edits
from proctor.locate.ingredients import Ingredients
from proctor.locate.repair import MOST_CELLS, MOST_WRITTEN, Budget, candidates
from proctor.locate.source import LONGEST, EditableDefinition, applied
from proctor.locate.words import KINDS

TEXT = """
def weigh(scores, values, dim=0, causal=False):
    '''Weigh.'''
    powers = scores.exp()
    if causal and dim == 0:
        powers = powers.tril(diagonal=1)
    total = powers.sum(dim=0)
    total += 1e-9
    weights = powers[..., :-1] / total
    return weights @ values, -weights
"""
REFERENCE = """
def weigh(s, v, dim=-1, causal=False):
    powers = torch.exp(s - s.amax(dim=dim, keepdim=True))
    weights = powers / powers.sum(dim=dim, keepdim=True)
    return weights @ v, weights
"""


def repairs(text: str) -> dict[str, set[str]]:
    """Line of the edited text -> kinds of the edits that make it."""
    found: dict[str, set[str]] = {}
    definition = EditableDefinition(text)
    for edit in (*edits(definition), *Ingredients([REFERENCE]).edits(definition)):
        changed = applied(text, edit).split("\n")
        line = changed[edit.line - 1].strip() if edit.line <= len(changed) else ""
        found.setdefault(line, set()).add(edit.kind)
    return found


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("total = powers.sum(dim=(-1))", "dimension"),
        ("total = powers.mean(dim=0)", "function"),
        ("total = powers.sum(dim=0, keepdim=True)", "shape"),
        ("total = powers.sum()", "argument"),
        ("powers = scores", "call"),
        ("powers = values.exp()", "name"),
        ("powers = powers.tril(diagonal=2)", "constant"),
        ("if (causal or dim == 0):", "condition"),
        ("if causal and (dim != 0):", "comparison"),
        ("total -= 1e-09", "operator"),
        ("total = total + 1e-09", "in place"),
        ("weights = powers / total", "slice"),
        ("weights = (powers[..., :-1] * total)", "operator"),
        ("weights = (total / powers[..., :-1])", "order"),
        ("return weights @ values, weights", "sign"),
        ("return weights, -weights", "operation"),
        ("return (weights @ values)", "result"),
        ("powers = scores.exp().sqrt()", "power"),
        ("pass", "statement"),
        ("def weigh(scores, values, dim=(-1), causal=False):", "constant"),
        ("powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))", "expression"),
    ],
)
def test_what_a_small_edit_is(line: str, kind: str) -> None:
    assert kind in repairs(TEXT).get(line, set())


COUNTING = """
def count(n, d):
    total = 0
    for i in range(n):
        for j in range(i + 1):
            total += i < j
    last = torch.arange(n)
    weights = 4 * d ^ 2
    return total * (d / n)
"""


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("for j in range(n):", "argument"),
        ("for j in range(i):", "off by one"),
        ("last = torch.arange(n, device=n.device)", "device"),
        ("last = torch.arange(n, dtype=d.dtype)", "dtype"),
        ("weights = (4 * d ** 2)", "operator"),
    ],
)
def test_what_a_small_edit_of_counting_is(line: str, kind: str) -> None:
    assert kind in repairs(COUNTING).get(line, set())


def test_a_statement_moves_into_a_loop_and_out_of_it() -> None:
    before = "def f(xs):\n    row = [0]\n    for x in xs:\n        row.append(x)\n        yield row\n"
    after = "def f(xs):\n    for x in xs:\n        row = [0]\n        row.append(x)\n        yield row\n"
    for old, new in ((before, after), (after, before)):
        found = {applied(old, edit) for edit in edits(EditableDefinition(old)) if edit.kind == "loop"}
        assert found == {new}


def test_a_factor_is_dropped_before_it_is_made_a_bool() -> None:
    """`x * factor.bool()` is `x` as well, and has nothing to do with the mistake."""
    costs = {
        applied(COUNTING, edit).split("\n")[edit.line - 1].strip(): edit.cost
        for edit in edits(EditableDefinition(COUNTING))
        if edit.line == 9
    }
    assert costs["return total"] < costs["return total * ((d / n).bool())"]


def test_every_edit_leaves_code_that_python_can_read() -> None:
    definition = EditableDefinition(TEXT)
    found = [*edits(definition), *Ingredients([REFERENCE]).edits(definition)]
    assert len(found) > 300
    for edit in found:
        ast.parse(applied(TEXT, edit))
        assert TEXT.encode()[edit.start : edit.end].decode().startswith(edit.old) or edit.kind == "missing step"


def test_every_kind_of_edit_has_words() -> None:
    definition = EditableDefinition(TEXT)
    kinds = {edit.kind for edit in (*edits(definition), *Ingredients([REFERENCE]).edits(definition))}
    assert kinds <= KINDS.keys()


def test_a_whole_body_is_never_put_in_place_of_another() -> None:
    text = "def mean(x):\n    return x\n"
    reference = "def mean(x):\n    return x.sum() / x.numel()\n"
    made = {edit.new for edit in Ingredients([reference]).edits(EditableDefinition(text))}
    assert "(x.sum() / x.numel())" not in made
    assert "x.sum()" in made


def test_text_of_any_alphabet_is_edited_at_the_right_place() -> None:
    text = 'def f(x):\n    größe = "häß"; y = x + 1\n    return y\n'
    changed = {applied(text, edit) for edit in edits(EditableDefinition(text)) if edit.kind == "operator"}
    assert 'def f(x):\n    größe = "häß"; y = (x - 1)\n    return y\n' in changed


def test_what_nobody_would_write_is_not_searched() -> None:
    with pytest.raises(SyntaxError, match="too long to be searched"):
        EditableDefinition("x = 1\n" * LONGEST)


def test_code_with_countless_edits_is_not_searched_to_its_end() -> None:
    """A sum of 250 terms has 26,000 edits of 10 million characters: the search once wrote all of them first."""
    terms = " + ".join(f"x{i % 7} * {i}" for i in range(250))
    texts = {
        f"cell {k}": f"def helper{k}({', '.join(f'x{i}' for i in range(7))}):\n    return {terms}\n" for k in range(40)
    }
    found = candidates(texts, [])
    assert sum(len(candidate.edits[0][1].new) for candidate in found) <= MOST_WRITTEN
    small = {f"cell {k}": "def f(x):\n    return x + 1\n" for k in range(40)}
    assert len({candidate.edits[0][0] for candidate in candidates(small, [])}) == MOST_CELLS


def test_a_search_ends_by_the_clock() -> None:
    assert Budget().left
    assert Budget(ends=monotonic() + 60).left
    assert not Budget(ends=monotonic()).left


def test_an_argument_that_is_kept_by_its_name_is_not_exchanged() -> None:
    text = "class A:\n    def __init__(self, d, n):\n        self.d, self.n = d, n\n        self.m = d\n"
    changed = {applied(text, edit) for edit in edits(EditableDefinition(text)) if edit.kind == "name"}
    assert not any("self.d, self.n = n" in one or "= d, d" in one for one in changed)
