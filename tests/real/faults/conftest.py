"""A pair whose parts may be stopped, and a system on it for every test."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.bundle_format import pack
from loadtest.api import Api
from tests.e2e.running import up
from tests.e2e.test_bad_input import example_adl
from tests.e2e.watching import Cluster
from tests.real.rounds import STATE_SETTING
from tools.real.pair import Pair
from tools.real.state import PairFolder

BUNDLE = "wordcount.sab"
INSTANCES_SETTING = "MILLRACE_INSTANCES"


@pytest.fixture
def pair() -> Pair:
    """The pair of this run, with its processes; skips where it is not ours to stop."""
    state = os.environ.get(STATE_SETTING, "")
    if not state:
        pytest.skip(f"{STATE_SETTING} is not set: faults need a pair whose parts may be stopped")
    folder = PairFolder(Path(state))
    plan = folder.plan()
    assert plan is not None, f"no pair in {state}"
    return Pair(folder.kubeconfig, plan.bootstrap_servers, folder)


@pytest.fixture
async def cluster(pair: Pair, tmp_path: Path) -> AsyncIterator[Cluster]:
    """A system of this test alone, with topics of its own, and the example in its bundle root."""
    with up(tmp_path, real=True) as system:
        (system.bundles / BUNDLE).write_bytes(pack(example_adl()))
        async with Api.of(system.kubeconfig) as api:
            yield Cluster(api, system)


@pytest.fixture
async def doubled(pair: Pair, tmp_path: Path) -> AsyncIterator[Cluster]:
    """Like `cluster`, with two instances of every service."""
    assert pair.folder is not None
    with up(tmp_path, real=True, settings={INSTANCES_SETTING: "2"}) as system:
        (system.bundles / BUNDLE).write_bytes(pack(example_adl()))
        async with Api.of(system.kubeconfig) as api:
            yield Cluster(api, system)
