"""What counts as a definition, what is left out, and files that are not code."""

from __future__ import annotations

import ast
import json
import random
import time
from typing import Any

import pytest

from proctor.marking import extraction
from proctor.marking.extraction import LONGEST, LONGEST_LINE, Reading, extract, extract_all
from proctor.marking.submissions import File

pytestmark = pytest.mark.quick


def notebook(*cells: str | list[str], **more: object) -> File:
    made = [{"cell_type": "code", "source": source} for source in cells]
    return File("work.ipynb", json.dumps({"cells": made, "nbformat": 4, **more}).encode())


def bound(file: File | str) -> list[str]:
    source = extract(File("work.py", file.encode()) if isinstance(file, str) else file)
    return [name for definition in source.definitions for name in sorted(definition.binds)]


def problems(file: File | str) -> list[str]:
    source = extract(File("work.py", file.encode()) if isinstance(file, str) else file)
    return [problem.sentence for problem in source.problems]


def test_definitions_are_kept_and_everything_else_is_left_out() -> None:
    text = """
import torch, math
from torch import nn as layers
SCALE = math.sqrt(2)
TYPED: int = 3
declared: int
a, (b, *c) = 1, (2, 3)
def f(x): return x
async def g(): ...
class C: pass
h = lambda x: x
plt.plot(f(1))
print("hello")
for i in range(3): total = i
while True: pass
f(3)
del a
assert SCALE
SCALE += 1
"""
    expected = ["math", "torch", "layers", "SCALE", "TYPED", "a", "b", "c", "f", "g", "C", "h", "SCALE"]
    assert bound(text) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("if x:\n    def f(): ...\nelse:\n    f = None", ["f"]),
        ("if x:\n    f = 1\n    print(f)", []),
        ("if __name__ == '__main__':\n    f = 1", []),
        ("try:\n    import einops\nexcept ImportError:\n    print('no')", ["einops"]),
        ("try:\n    run()\nexcept ImportError:\n    pass", []),
        ("with torch.no_grad():\n    w = 1", ["w"]),
        ("Layer.forward = f", ["Layer"]),
        ("table['a'].x = 1", ["table"]),
        ("@decorated\n@twice(3)\ndef f(): ...", ["f"]),
    ],
)
def test_blocks_and_changes_in_place(text: str, names: list[str]) -> None:
    assert bound(text) == names


def test_a_local_name_is_not_a_need() -> None:
    text = "def f(q, k):\n    weights = q @ k\n    return helper(weights) * SCALE\n"
    (definition,) = extract(File("a.py", text.encode())).definitions
    assert definition.needs == {"helper", "SCALE"}


def test_needs_reach_into_nested_functions_defaults_and_decorators() -> None:
    text = "@register\nclass C(Base):\n    size = SIZE\n    def f(self, x: Tensor=DEFAULT): return [g(y) for y in x]\n"
    (definition,) = extract(File("a.py", text.encode())).definitions
    assert definition.needs == {"register", "Base", "SIZE", "Tensor", "DEFAULT", "g"}


def test_what_a_comprehension_counts_with_is_its_own() -> None:
    text = "v = [k * s for k in u]\nw = {a: (b := a) for a, _ in c}\nsum(i for i in range(n))\nx = lambda z: (y := z)"
    found = [(sorted(d.binds), sorted(d.needs)) for d in extract(File("a.py", text.encode())).definitions]
    assert found[:2] == [(["v"], ["s", "u"]), (["b", "w"], ["c"])]
    assert found[-1] == (["x"], [])


def test_needs_of_plain_statements_follow_the_same_rules() -> None:
    text = "x = y + f(z)\nx[i].a = b\nn += m\nv = [k * s for k in u]\nw = lambda t: t + r"
    needs = [sorted(d.needs) for d in extract(File("a.py", text.encode())).definitions]
    assert needs == [["f", "y", "z"], ["b", "i", "x"], ["m", "n"], ["s", "u"], ["r"]]


def test_a_cell_that_comes_again_is_another_place() -> None:
    first, again = extract(notebook("x = 1", "x = 1")).definitions
    assert (first.place, again.place) == ("cell 1 of work.ipynb", "cell 2 of work.ipynb")
    assert first != again


def test_statements_on_one_line_keep_their_text_and_line() -> None:
    (a, b) = extract(File("a.py", "\nä = 'ü'; plot(ä); b = ä".encode())).definitions
    assert (a.line, a.text, b.line, b.text) == (2, "ä = 'ü'", 2, "b = ä")


@pytest.mark.parametrize(
    "magic",
    [
        "%matplotlib inline",
        "!pip install torch",
        "!echo it's (",
        "files = !ls",
        "t = %timeit -o f()",
        "torch?",
        "?torch",
        "%time f(",
    ],
)
def test_lines_for_ipython_are_skipped(magic: str) -> None:
    assert bound(notebook(f"a = 1\n{magic}\nb = 2\n{magic}\nc = 3")) == ["a", "b", "c"]


def test_a_shell_line_may_go_on() -> None:
    assert bound(notebook("a = 1\n!pip install \\\n    torch \\\n  numpy\nif a:\n    !ls\nb = 2")) == ["a", "b"]


@pytest.mark.parametrize(
    "code",
    [
        "a = (7\n% 4)",
        "a = 7 \\\n% 4",
        'a = """\n%matplotlib\n!ls \\"""\n?"""',
        "a = '\\\n%x'",
        "a = 1  # is it?",
        "a = 'is it?'",
        "a = [1,  # (\n2]",
        "a = 'it\\'s (' + r'\\\\'",
    ],
)
def test_beside_a_line_for_ipython_ordinary_code_stays_as_it_is(code: str) -> None:
    read = extract(notebook(f"!echo it's (\n{code}\ntorch?\nb = 2"))
    assert [definition.text for definition in read.definitions] == [code.removesuffix("  # is it?"), "b = 2"]


def test_a_percent_sign_in_ordinary_code_is_no_magic() -> None:
    (definition,) = extract(notebook("a = (7\n     % 4)\n")).definitions
    assert definition.text == "a = (7\n     % 4)"


def test_cell_magics() -> None:
    assert bound(notebook("%%time\na = 1", "%%bash\nls | b = 2", "\n%%capture out\nc = 3", "%%html\n<b>")) == ["a", "c"]


def test_a_broken_cell_spoils_only_itself() -> None:
    file = notebook("def f(): return 1", "def g(:\n    pass", "def h(): return 3")
    assert bound(file) == ["f", "h"]
    assert problems(file) == ["cell 2 of work.ipynb has a syntax error in line 1: invalid syntax."]
    (problem,) = extract(file).problems
    assert problem.mentions("g")
    assert not problem.mentions("f")


@pytest.mark.parametrize(
    "content",
    [
        b"def f():\r\n    return 1\r\n",
        b"\xef\xbb\xbfdef f():\n    return 1\n",
        "def f():\n    return 1\n".encode("utf-16"),
        "# -*- coding: gbk -*-\ndef f():\n    return '中'\n".encode("gbk"),
        b"def f():\r    return 1\r",
    ],
)
def test_encodings_and_line_ends(content: bytes) -> None:
    assert [d.line for d in extract(File("a.py", content)).definitions] in ([1], [2])
    assert [d.binds for d in extract(File("a.py", content)).definitions] == [{"f"}]


def test_parents_that_others_hang_on_nodes_are_not_followed() -> None:
    """As `executing` does, by which IPython shows tracebacks; every tree has the same `ast.Load()`."""
    tree = ast.parse("a = b")
    shared = tree.body[0].value.ctx  # type: ignore[attr-defined]
    shared.parent = tree.body[0]
    try:
        assert bound(notebook("c = lambda x: d(x)")) == ["c"]
    finally:
        del shared.parent


@pytest.mark.parametrize("minor", range(6))
def test_notebook_formats(minor: int) -> None:
    assert bound(notebook(["def f():\n", "    return 1\n"], nbformat_minor=minor)) == ["f"]
    with_bom = File("a.ipynb", b"\xef\xbb\xbf" + notebook("f = 1\r\ng = 2").content)
    assert bound(with_bom) == ["f", "g"]


def test_the_format_before_that() -> None:
    cells = [{"cell_type": "code", "input": ["f = 1\n"]}, {"cell_type": "markdown", "source": "x"}]
    assert bound(File("a.ipynb", json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}).encode())) == ["f"]


def test_only_code_cells_are_read_and_all_are_counted() -> None:
    cells = [{"cell_type": "markdown", "source": "# a = 1"}, {"cell_type": "code", "source": "b = 2"}]
    (definition,) = extract(File("w.ipynb", json.dumps({"cells": cells}).encode())).definitions
    assert definition.place == "cell 2 of w.ipynb"  # as JupyterLab counts


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.ipynb", bytes(range(256)), "a.ipynb could not be read: it is not a notebook (not valid JSON)."),
        ("a.ipynb", b'{"cells": [', "a.ipynb could not be read: it is not a notebook (not valid JSON)."),
        ("a.ipynb", b"[" * 100_000, "a.ipynb could not be read: it is not a notebook (not valid JSON)."),
        ("a.ipynb", b"[1, 2]", "a.ipynb could not be read: it is not a notebook (it has no cells)."),
        ("a.ipynb", b'{"cells": {"a": 1}}', "a.ipynb could not be read: it is not a notebook (it has no cells)."),
        ("a.ipynb", b'{"worksheets": 7}', "a.ipynb could not be read: it is not a notebook (it has no cells)."),
        (
            "a.ipynb",
            b'{"cells": 5, "worksheets": []}',
            "a.ipynb could not be read: it is not a notebook (it has no cells).",
        ),
        ("a.ipynb", b"null", "a.ipynb could not be read: it is not a notebook (it has no cells)."),
        ("a.ipynb", b"9" * 5_000, "a.ipynb could not be read: it is not a notebook (not valid JSON)."),
        ("a.ipynb", b'{"worksheets": [{"cells": 5}, {"cells": null}, 7, {}]}', "a.ipynb has no code cell."),
        ("a.ipynb", b'{"cells": [1, {"cell_type": "code"}]}', "a.ipynb has no code cell."),
        ("a.ipynb", b'{"cells": [{"cell_type": "code", "source": [1, null, {}]}]}', "a.ipynb has no code cell."),
        (
            "a.ipynb",
            b"[" + b"1," * 4_000_001 + b"1]",
            "a.ipynb could not be read: it has more than 4,000,000 pieces. Clear its outputs, and hand it in again.",
        ),
        (
            "a.ipynb",
            b'{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'"}]}',
            "cell 1 of a.ipynb is not code that Python can read.",
        ),
        ("a.py", b"\x89PNG\r\n\x00\x00", "a.py could not be read: it is not text."),
        ("a.py", b"x = 1\0", "a.py could not be read: it is not text: it contains null bytes."),
        ("a.py", b"# coding: klingon\nx = 1", "a.py could not be read: it is not text."),
        ("a.py", b"# coding: hex\nx = 1", "a.py could not be read: it is not text (hex)."),
        ("a.py", b"# coding: rot13\nx = 1", "a.py could not be read: it is not text (rot13)."),
        ("a.py", b"# coding: undefined\nx = 1", "a.py could not be read: it is not text (undefined)."),
        ("a.py", b"# coding: punycode\nx = 1", "a.py could not be read: it is not text (punycode)."),
        ("a.py", b"# coding: idna\nx = 1", "a.py could not be read: it is not text (idna)."),
        ("a.py", b"# coding: utf-7\nx = '+'", "a.py could not be read: it is not text (utf-7)."),
        ("a.py", b"# coding: utf-8\nx = '\xff'", "a.py could not be read: it is not text (utf-8)."),
        ("a<b>\n.py", b"x = (", "a?b??.py has a syntax error in line 1: '(' was never closed."),
    ],
)
def test_what_is_no_code_is_said_in_words(name: str, content: bytes, sentence: str) -> None:
    source = extract(File(name, content))
    assert [problem.sentence for problem in source.problems] == [sentence]
    assert not source.definitions


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 50_000 + ")" * 50_000,
        "x = " + "-" * 100_000 + "1",
        "x = " + "[" * 150 + "]" * 150,
        "x = " + "a." * 50_000 + "b",
        "x = " + "not " * 20_000 + "a",
        "x = " + "f(" * 20_000 + ")" * 20_000,
        "x = " + "lambda: " * 20_000 + "1",
        "x = f'" + "{" * 5_000 + "}" * 5_000 + "'",
        "if a:\n" + "".join(" " * i + "if a:\n" for i in range(1, 300)) + " " * 300 + "x = 1",
        "x = " + "1 + " * 50_000 + "1",
        "x = " + "9" * 10_000,
        "%magic\n" * 500,
        "x = 1\n" * (LONGEST // 6 + 10),
        "\ud800 = 1",
    ],
)
def test_no_code_makes_us_fail(text: str) -> None:
    source = extract(File("a.py", text.encode("utf-8", "surrogatepass")))
    assert source.definitions or source.problems or "%magic" in text


ENCODINGS = [
    "aliases", "ascii", "base64", "big5", "bz2", "charmap", "cp037", "cp1252", "euc_jp", "gb18030", "hex", "hz", "idna",
    "iso2022_jp", "johab", "koi8_r", "latin_1", "mbcs", "oem", "palmos", "punycode", "quopri", "raw_unicode_escape",
    "rot13", "shift_jis", "undefined", "unicode_escape", "utf_16", "utf_32", "utf_7", "utf_8_sig", "uu", "zlib", "x.y",
]  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_declared_encoding_makes_us_fail(encoding: str) -> None:
    for rest in (b"x = 1", b"x = '\xff\x80+AGE-\\N{x}\\u12 ~{'"):
        source = extract(File("a.py", f"# coding: {encoding}\n".encode() + rest))
        assert source.definitions or source.problems


ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e400, 10**4000, "", "x = 1", "def f(:", "\ud800", "\0", "%%", "!", "?", "\\", "'''", [], {},
    ["x = 1\n", 5], [{"cells": 5}], {"cells": []}, {"cell_type": "code", "source": None}, {"cell_type": ["code"]},
)  # fmt: skip


def mangled(value: Any, draw: random.Random) -> Any:
    """The value with some of its parts replaced, left out or doubled."""
    if draw.random() < 0.1:
        return draw.choice(ODD)
    if isinstance(value, dict):
        return {k if draw.random() < 0.95 else str(draw.choice(ODD)): mangled(v, draw) for k, v in value.items()}
    if isinstance(value, list):
        return [mangled(item, draw) for item in value for _ in range(draw.choice((0, 1, 1, 1, 2)))]
    return value


def test_no_mangled_notebook_makes_us_fail() -> None:
    draw = random.Random(0)
    cells = [
        {"cell_type": "code", "source": ["def f(x):\n", "    return x\n"], "outputs": [{"text": ["1"]}]},
        {"cell_type": "code", "input": "%time\nx = !ls\ny = 1"},
        {"cell_type": "markdown", "source": "# text"},
    ]
    whole = [{"cells": cells, "nbformat": 4}, {"worksheets": [{"cells": cells}], "nbformat": 3}]
    seen = set()
    for _ in range(3_000):
        content = bytearray(json.dumps(mangled(draw.choice(whole), draw)).encode())
        if draw.random() < 0.3:  # and some of its bytes
            for _ in range(draw.randrange(1, 9)):
                content[draw.randrange(len(content))] = draw.randrange(256)
        source = extract(File("a.ipynb", bytes(content)))
        assert "it is not what its name says" not in str(source.problems)  # nothing came as a surprise
        seen.add((bool(source.definitions), bool(source.problems)))
    assert len(seen) >= 3  # read whole, in part, and not at all


def test_what_python_says_of_code_is_kept_short() -> None:
    (sentence,) = problems("def f():\n    global " + "a" * 9_000 + "\ndef f(x):\n    global x")
    assert sentence.startswith("work.py has a syntax error in line ")
    assert len(sentence) < 300


# ---- how much is read


def test_a_long_line_and_a_long_cell_are_not_read() -> None:
    long_line = "x = '" + "a" * LONGEST_LINE + "'"
    long_cell = "def f(): ...\n" + "x = 1\n" * (LONGEST // 6 + 1)
    source = extract(notebook("a = 1", long_line, long_cell, "b = 2"))
    assert [sorted(d.binds) for d in source.definitions] == [["a"], ["b"]]
    assert [problem.sentence for problem in source.problems] == [
        "cell 2 of work.ipynb was not read: it has a line of 50,006 characters, and at most 50,000 are read.",
        "cell 3 of work.ipynb was not read: it has 400,015 characters, and at most 400,000 are read.",
    ]
    assert source.problems[1].mentions("f")
    assert max(len(problem.text) for problem in source.problems) <= LONGEST


def read_all(*files: File) -> tuple[list[str], list[str]]:
    """What a submission binds, and what is said about it."""
    sources = extract_all(files)
    names = [name for source in sources for d in source.definitions for name in sorted(d.binds)]
    return names, [problem.sentence for source in sources for problem in source.problems]


def test_the_code_of_a_submission_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "MOST_CODE", 100)
    files = [File(f"{name}.ipynb", notebook(f"{name} = 1", f"{name}{name} = '{'x' * 40}'").content) for name in "abcd"]
    assert read_all(*files) == (
        ["a", "aa", "b"],
        ["cell 2 of b.ipynb and what comes after it was not read: a submission may have 100 characters of code."],
    )


def test_the_cells_of_a_submission_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "MOST_CELLS", 3)
    file = notebook("a = 1", "b = 1", "c = 1", "d = 1", "e = 1")
    assert read_all(file, file) == (
        ["a", "b", "c"],
        ["cell 4 of work.ipynb and what comes after it was not read: a submission may have 3 cells."],
    )


def test_reading_a_submission_has_a_deadline() -> None:
    ticks = iter(range(100))
    reading = Reading(seconds=4.5, clock=lambda: next(ticks))  # a second for every look at the clock
    sources = [extract(notebook(f"a{n} = 1", f"b{n} = 1"), reading) for n in range(3)]
    assert [name for s in sources for d in s.definitions for name in d.binds] == ["a0", "b0"]
    assert [p.sentence for s in sources for p in s.problems] == [
        "cell 1 of work.ipynb and what comes after it was not read: reading the submission took too long."
    ]


def test_many_broken_cells_are_told_together() -> None:
    broken = notebook(*(f"def f{n}(:" for n in range(30)))
    source = extract(broken)
    assert len(source.problems) == 21
    assert source.problems[-1].sentence == "work.ipynb has errors in 10 more cells."
    assert source.problems[-1].mentions("f29")


def test_definitions_inside_of_other_code_take_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        text = "for i in range(3):\n" + "".join(f"    def f{i}(): pass\n" for i in range(count))
        began = time.process_time()
        source = extract(File("a.py", text.encode()))
        assert len(source.inside) == count
        return time.process_time() - began

    small = min(seconds(1_000) for _ in range(3))
    assert min(seconds(10_000) for _ in range(3)) < 60 * small, "the square would be a hundred times"
