"""Which tier is used, and what is said when one cannot be."""

from __future__ import annotations

import pytest

from proctor.sandbox import tiers
from proctor.sandbox.tiers import Refused, bubblewrap, choose
from proctor.sandbox.visible_files import current


@pytest.fixture
def offered(monkeypatch):
    def offer(*working):
        rows = tuple((tier, tier in working, f"because of {tier}") for tier in tiers.TIERS)
        monkeypatch.setattr(tiers, "describe_tiers", lambda: rows)

    return offer


def test_the_best_that_works_is_taken(offered):
    offered("bubblewrap", "landlock", "limits")
    assert choose() == "bubblewrap"
    offered("landlock", "limits")
    assert choose() == "landlock"
    assert choose("landlock") == "landlock"


def test_without_walls_nothing_runs_unless_the_authors_are_trusted(offered):
    offered("limits")
    with pytest.raises(Refused) as caught:
        choose()
    assert str(caught.value) == (
        "no sandbox works here (bubblewrap: because of bubblewrap; landlock: because of landlock). Untrusted code is "
        "not run without one. If you trust the authors of every submission as you trust yourself, ask for it "
        "explicitly: --trust-submissions"
    )
    with pytest.raises(Refused, match=r"^the tier limits is no sandbox .* it is used only with --trust-submissions$"):
        choose("limits")
    assert choose(trust=True) == choose("limits", trust=True) == "limits"


def test_trust_does_not_lower_the_walls(offered):
    offered("landlock", "limits")
    assert choose(trust=True) == "landlock"


def test_a_tier_that_does_not_work_or_exist_is_refused(offered):
    offered("landlock", "limits")
    with pytest.raises(Refused, match=r"^the sandbox tier bubblewrap cannot be used here: because of bubblewrap$"):
        choose("bubblewrap")
    with pytest.raises(
        Refused, match=r"^there is no sandbox tier 'docker'; choose auto, bubblewrap, landlock, limits$"
    ):
        choose("docker")


def test_describe_has_a_reason_for_every_tier():
    rows = tiers.describe_tiers()
    assert [tier for tier, _, _ in rows] == list(tiers.TIERS)
    assert all(isinstance(works, bool) and why for _, works, why in rows)


def test_a_system_without_bubblewrap_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: None)
    works, why = bubblewrap.available(current())
    assert not works
    assert why == ("bubblewrap is not installed: install it with your package manager, e.g. apt-get install bubblewrap")


def test_a_system_that_denies_namespaces_is_told_so(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: str(fake))
    works, why = bubblewrap.available(current())
    assert not works
    assert why == (
        "bubblewrap is installed but this system does not let it make namespaces "
        "(bwrap: No permissions to create new namespace)"
    )
