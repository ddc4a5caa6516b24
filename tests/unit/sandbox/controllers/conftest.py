"""A cluster for each test; its time is that of the test's loop (mark `looptime`)."""

from __future__ import annotations

import pytest

from sandbox.controllers.settings import Settings
from tests.unit.sandbox.controllers.living import LivingCluster


@pytest.fixture
async def cluster() -> LivingCluster:
    return LivingCluster(Settings())
