"""A running `millrace up` for the tests of this folder: on the sandbox, and on the real pair."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from loadtest.api import Api
from tests.e2e.running import up
from tests.e2e.watching import Cluster, System


@pytest.fixture(scope="session", params=["sandbox", pytest.param("real", marks=pytest.mark.real)])
def system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    """`millrace up` on free ports until the end of the session."""
    folder = tmp_path_factory.mktemp("up")
    with up(folder, real=request.param == "real") as system:
        yield system


@pytest.fixture
async def cluster(system: System) -> AsyncIterator[Cluster]:
    """A client of the running system, followed from here on."""
    async with Api.of(system.kubeconfig) as api:
        yield Cluster(api, system)
