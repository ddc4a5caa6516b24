"""A store under a clock that stands still."""

from __future__ import annotations

import pytest

from sandbox.store.store import Store
from tests.unit.sandbox.store.building import Clock, new_store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Store:
    return new_store(clock)
