"""Routes through the course: which exercises lead to a goal, in the order of the chapters.

A route that needs a part of a chapter names its exercises. How long that takes is the chapter's own time, shared out by
the minutes that its exercises are said to take: an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

from qkv import course, exercises


@dataclass(frozen=True)
class Route:
    """A goal, and what leads there."""

    name: str
    goal: str
    parts: tuple[tuple[str, tuple[str, ...]], ...]  # stem -> its exercises; none: all of them

    def stops(self) -> list[Stop]:
        known = {entry.stem: entry for entry in course.entries()}
        return [Stop(known[stem], names) for stem, names in self.parts if stem in known]

    @property
    def minutes(self) -> int:
        return sum(stop.minutes for stop in self.stops())

    @property
    def exercises(self) -> list[str]:
        return [name for stop in self.stops() for name in stop.exercises]

    @property
    def hours(self) -> str:
        """`about 10 hours`"""
        return f"about {round(self.minutes / 60)} hours"


@dataclass(frozen=True)
class Stop:
    """A chapter of a route, or a part of it."""

    entry: course.Entry
    chosen: tuple[str, ...] = ()

    @property
    def exercises(self) -> list[str]:
        return list(self.chosen or exercises.names_of(self.entry.stem))

    @property
    def minutes(self) -> int:
        whole = sum(exercises.get(name).minutes or 0 for name in exercises.names_of(self.entry.stem))
        share = sum(exercises.get(name).minutes or 0 for name in self.exercises) / whole
        return round(self.entry.minutes * share)


WEEKEND = Route(
    "A weekend",
    "Attention, whole: softmax, scaling, heads, masks.",
    (("lookup", ()), ("scaling", ()), ("heads", ()), ("masks", ())),
)
# What the capstone's exercises and its training are made of: RotaryAttention takes scaled_dot_product_attention, the
# heads, `rotate` and masks; TinyGPT layers with pre-norm; its training the schedule, AdamW and clipping.
GPT = Route(
    "Ten hours to a GPT",
    "A language model of your own parts, trained by you and graded by its weights.",
    (
        ("lookup", ("softmax", "similarity_scores", "soft_lookup", "SelfAttention")),
        ("scaling", ("scaled_dot_product_attention",)),
        ("heads", ("split_heads", "merge_heads", "MultiHeadAttention")),
        ("positions", ("rotate",)),
        ("masks", ()),
        ("norm", ("layer_norm", "PreNorm")),
        ("blocks", ("gelu", "FeedForward", "EncoderLayer")),
        ("training", ("noam_rate", "adam_step", "clip_gradients")),
        ("capstone", ()),
    ),
)


def whole() -> Route:
    """All chapters."""
    return Route(
        "The whole", "Every part, measured, and what came after.", tuple((e.stem, ()) for e in course.entries())
    )


def routes() -> list[Route]:
    return [WEEKEND, GPT, whole()]


def as_markdown(up: str, suffix: str) -> str:
    """The routes in Markdown, a line for each chapter; links lead to `up`, the chapter's name, `suffix`."""
    parts = []
    for route in routes()[:-1]:
        parts += [f"**{route.name}** ({route.hours}). {route.goal}", "| | chapter | you write |\n|--:|:--|:--|"]
        for stop in route.stops():
            link = f"[{stop.entry.title}]({up}{stop.entry.number:02}_{stop.entry.stem}{suffix})"
            names = ", ".join(f"`{name}`" for name in stop.chosen) or f"all {len(stop.exercises)} exercises"
            parts[-1] += f"\n| {stop.entry.number} | {link} | {names} |"
    everything = routes()[-1]
    parts.append(f"**{everything.name}** ({everything.hours}). {everything.goal} Chapter after chapter.")
    return "\n\n".join(parts)
