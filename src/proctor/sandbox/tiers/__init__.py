"""The choice of a tier, and why no better one is available."""

from __future__ import annotations

from functools import cache

from proctor.inside import landlock, seccomp
from proctor.sandbox.tiers import bubblewrap
from proctor.sandbox.tiers import none as limits_only
from proctor.sandbox.visible_files import current

TIERS = ("bubblewrap", "landlock", "limits")  # best first


class Refused(RuntimeError):
    """The requested tier is not available, or not safe for untrusted code."""


@cache
def describe_tiers() -> tuple[tuple[str, bool, str], ...]:
    """(tier, available, why) for every tier, best first. Tried out once per process."""
    filters, why_filters = seccomp.available()
    rows = []
    for tier, (works, why) in (
        ("bubblewrap", bubblewrap.available(current(before_torch=True))),
        ("landlock", landlock.available()),
    ):
        if works and not filters:
            works, why = False, why_filters
        rows.append((tier, works, why))
    return (*rows, ("limits", *limits_only.available()))


def choose(tier: str = "auto", trust: bool = False) -> str:
    """The tier to use.

    Args:
        tier: a name in TIERS, or "auto" for the best one that works here.
        trust: submissions may run without walls. Only then is "limits" used.
    """
    if tier != "auto" and tier not in TIERS:
        raise Refused(f"there is no sandbox tier {tier!r}; choose auto, {', '.join(TIERS)}")
    rows = {name: (works, why) for name, works, why in describe_tiers()}
    if tier == "auto":
        allowed = [name for name in TIERS if rows[name][0] and (name != "limits" or trust)]
        if not allowed:
            reasons = "; ".join(f"{name}: {why}" for name, (works, why) in rows.items() if not works)
            raise Refused(
                f"no sandbox works here ({reasons}). Untrusted code is not run without one. If you trust the authors "
                "of every submission as you trust yourself, ask for it explicitly: --trust-submissions"
            )
        return allowed[0]
    works, why = rows[tier]
    if not works:
        raise Refused(f"the sandbox tier {tier} cannot be used here: {why}")
    if tier == "limits" and not trust:
        raise Refused(f"the tier limits is no sandbox ({why}); it is used only with --trust-submissions")
    return tier
