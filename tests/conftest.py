"""What holds for every test of the project."""

from __future__ import annotations

import asyncio
import os

import pytest

PAIR_SETTINGS = ("MILLRACE_KUBECONFIG", "MILLRACE_BOOTSTRAP_SERVERS")


def pytest_configure() -> None:
    """No test finds an event loop that it did not ask for.

    Otherwise the plugin for virtual time makes one in every plain test and leaves it open, and
    warnings are errors.
    """
    asyncio.set_event_loop(None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the real pair want one; `make test` has none, `make test-real` brings it up."""
    if all(os.environ.get(name) for name in PAIR_SETTINGS):
        return
    reason = f"no real pair: `make test-real` brings one up and sets {' and '.join(PAIR_SETTINGS)}"
    for item in items:
        if item.get_closest_marker("real") is not None:
            item.add_marker(pytest.mark.skip(reason=reason))
