"""What holds for every test of the project."""

from __future__ import annotations

import asyncio


def pytest_configure() -> None:
    """No test finds an event loop that it did not ask for.

    Otherwise the plugin for virtual time makes one in every plain test and leaves it open, and
    warnings are errors.
    """
    asyncio.set_event_loop(None)
