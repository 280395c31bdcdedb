"""Pages from templates in `templates/`. Everything that is put into one is escaped unless it is our own markup."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from proctor.report.notebook import STYLE, prose

FOLDER = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["prose"] = lambda text: Markup(prose(text))  # escapes, then marks `code`
    made.filters["points"] = lambda value: f"{round(value, 2):g}"
    made.filters["percent"] = lambda value: f"{100 * value:.0f} %"
    style = (FOLDER / "page.css").read_text("utf-8")
    made.globals["style"] = Markup(f"{style}\n{STYLE}")
    made.globals["script"] = Markup((FOLDER / "theme.js").read_text("utf-8"))
    made.globals["review_style"] = Markup((FOLDER / "review.css").read_text("utf-8"))
    made.globals["review_script"] = Markup((FOLDER / "review.js").read_text("utf-8"))
    return made


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)
