"""Launches that were seen can be remembered again from what was passed on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.launching.adapters.launches import LAUNCHED, Launches
from services.launching.core.snapshot import Launched


def test_what_was_passed_on_gives_the_same_memory_again() -> None:
    """A pod may be gone before the first decision that is recorded."""
    entered: list[tuple[str, Mapping[str, Any]]] = []
    launches = Launches(lambda what, content: entered.append((what, content)))
    for launch in (1, 3, 2, 3):
        launches.note("uid-a", Launched(launch, f"a-{launch}", "c1"))
    again = Launches()
    for what, content in entered:
        assert what == LAUNCHED
        again.take_in(content)
    assert again.newest("uid-a") == launches.newest("uid-a") == Launched(3, "a-3", "c1")
    assert len(entered) == 2
