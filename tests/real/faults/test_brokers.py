"""Three brokers: the leader of a partition dies during a resize, and comes back later."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.bundle_format import pack
from contracts.facts import project
from contracts.topics import PARTITIONS, RESOURCES, partition_of
from loadtest.api import Api
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_offsets import see_topics
from tests.e2e.following import WIDER, WIDTH, ordeal
from tests.e2e.running import up
from tests.e2e.test_bad_input import example_adl
from tests.e2e.watching import Cluster
from tests.patience import patient
from tests.real.faults.conftest import BUNDLE
from tests.real.faults.log_contents import (
    everything_said,
    last_said,
    log_at,
    out_of_order,
    said_twice,
)
from tests.real.rounds import STATE_SETTING
from tools.real.pair import (
    BROKERS_SETTING,
    KUBECONFIG_SETTING,
    Pair,
    PairOptions,
    running_pair,
    start_part,
    stop_part,
)
from tools.real.parts import broker_name
from tools.real.progress import Progress

COVERS = (
    "services/chassis/log/kafka_producing.py",
    "services/chassis/log/kafka_metadata.py",
    "tools/real/*",
)

BROKERS = 3
JOB = "led"
PE = "ProcessingElement"
PATIENCE_S = patient(60.0)
POLL_S = 0.5
pytestmark = [pytest.mark.real, pytest.mark.e2e, pytest.mark.timeout(patient(600))]


@pytest.fixture
async def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    """A pair of this test alone, with three brokers."""
    if not os.environ.get(STATE_SETTING):
        pytest.skip(f"{STATE_SETTING} is not set: brokers of others are not ours to kill")
    for setting in (KUBECONFIG_SETTING, BROKERS_SETTING):
        monkeypatch.delenv(setting, raising=False)
    options = PairOptions(tmp_path / "pair", brokers=BROKERS)
    with Progress() as progress:
        async with running_pair(options, progress) as pair:
            monkeypatch.setenv(KUBECONFIG_SETTING, str(pair.kubeconfig))
            monkeypatch.setenv(BROKERS_SETTING, pair.bootstrap_servers)
            yield pair


async def leader_of(pair: Pair, topic: str, partition: int) -> int:
    """The number of the broker that leads a partition now."""
    brokers = Brokers(pair.bootstrap_servers)
    try:
        seen = await brokers.ask("topics", lambda client: see_topics(client, [topic]))
    finally:
        await brokers.close()
    return seen[topic].leaders[partition]


async def test_a_leader_that_dies_during_a_resize_and_comes_back_loses_and_doubles_nothing(
    three: Pair, tmp_path: Path
) -> None:
    """The resize converges on the brokers that are left; the next one on all of them."""
    with up(tmp_path, real=True) as system:
        (system.bundles / BUNDLE).write_bytes(pack(example_adl()))
        topic, partition = RESOURCES.name(system.prefix), partition_of("default", JOB, PARTITIONS)
        async with Api.of(system.kubeconfig) as api, ordeal(Cluster(api, system), JOB) as job:
            pes = len(job.job.of("pes"))
            leader = await leader_of(three, topic, partition)
            await job.resize(WIDER)
            await stop_part(three, broker_name(leader), grace_s=0)
            job.mark_fault_over()
            await job.converge(f"leader {leader} of {BROKERS} lost", WIDER, pes + WIDER - WIDTH)
            assert await leader_of(three, topic, partition) not in (leader, -1)
            await job.resize(WIDTH)
            await start_part(three, broker_name(leader))
            job.mark_fault_over()
            await job.converge(f"broker {leader} back", WIDTH, pes)
            await _check_log(three, job.job.of("pes"), system.prefix)


async def _check_log(pair: Pair, pes: dict[str, dict[str, object]], prefix: str) -> None:
    """Nothing is in the log twice or in another order, and it ends with what exists."""
    async with log_at(pair.bootstrap_servers) as bus, asyncio.timeout(PATIENCE_S):
        while True:
            said = await everything_said(bus, prefix)
            assert said_twice(said) == []
            assert out_of_order(said) == []
            last = last_said(said, PE)
            if all(last[name].data == project(PE, pe) for name, pe in pes.items()):
                return
            await asyncio.sleep(POLL_S)  # what is written last is on its way
