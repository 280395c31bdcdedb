"""Programs that hypothesis makes up: all forms that bind names, over four names, so that they meet."""

from __future__ import annotations

from hypothesis import strategies as st

names = st.sampled_from("abcd")


def joined(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        joined("(", inner, " + ", inner, ")"),
        joined(names, "(", inner, ")"),
        joined("(", names, " := ", inner, ")"),
        joined("(lambda ", names, ": ", inner, ")"),
        joined("(lambda ", names, "=", inner, ": ", inner, ")"),
        joined("[", inner, " for ", names, " in ", inner, "]"),
        joined("{", inner, ": ", inner, " for ", names, " in ", inner, " for ", names, " in ", inner, "}"),
        joined("sum(", inner, " for ", names, " in ", inner, " if ", inner, ")"),
        joined(names, ".part"),
        joined(names, "[", inner, "]"),
    )


expressions = st.recursive(names | st.just("1"), larger, max_leaves=4)
simple = st.one_of(
    joined(names, " = ", expressions),
    joined(names, ", ", names, " = ", names, ", ", expressions),
    joined(names, " += ", expressions),
    joined(names, ": ", names, " = ", expressions),
    joined(names, ": ", names),
    joined(names, ".part = ", expressions),
    joined(names, "[", expressions, "] = ", expressions),
    joined("del ", names),
    joined("import math as ", names),
    joined("from os import path as ", names),
    expressions,
    st.just("pass"),
)


def block(head: st.SearchStrategy[str], body: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bodies = st.lists(body, min_size=1, max_size=3).map("\n".join)
    return st.tuples(head, bodies).map(lambda made: made[0] + "\n" + indented(made[1]))


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signature = st.one_of(
        joined("def ", names, "(", names, "):"),
        joined("def ", names, "(", names, ": ", names, "=", expressions, ", *", st.just("rest"), ") -> ", names, ":"),
        joined("@", names, "\ndef ", names, "():"),
        joined("async def ", names, "(*, ", names, "=", expressions, "):"),
    )
    scoped = st.one_of(inner, joined("global ", names), joined("nonlocal ", names), joined("return ", expressions))
    return st.one_of(
        block(signature, scoped),
        block(joined("class ", names, ":"), inner | joined("global ", names)),
        block(joined("@", names, "\nclass ", names, "(", names, "):"), inner),
        block(joined("for ", names, " in ", expressions, ":"), inner),
        block(joined("if ", expressions, ":"), inner),
        block(joined("with ", expressions, " as ", names, ":"), inner),
        st.tuples(block(st.just("try:"), inner), block(joined("except ", names, " as ", names, ":"), inner)).map(
            "\n".join
        ),
        joined(
            "match ", expressions, ":\n    case [", names, ", *", names, "]: pass\n    case {'k': ", names, "}: pass"
        ),
    )


def compiles(text: str) -> bool:
    try:
        compile(text, "<made up>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


statements = st.recursive(simple, nested, max_leaves=6).filter(compiles)
