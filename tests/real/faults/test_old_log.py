"""A log that is seven days old delays no start: a restore reads what exists, not what was."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contracts.bundle_format import pack
from loadtest.api import Api
from tests.e2e.following import WIDER, WIDTH, ordeal
from tests.e2e.killing import pids_of
from tests.e2e.running import up
from tests.e2e.test_bad_input import example_adl
from tests.e2e.watching import Cluster, System
from tests.patience import patient
from tests.real.faults.conftest import BUNDLE
from tests.real.faults.log_contents import log_at, resource_partitions
from tests.real.faults.old_log import topics_of_last_week
from tests.real.faults.processes import POLL_S, STAGES, metrics_of
from tools.real.pair import Pair

COVERS = (
    "services/chassis/log/kafka_reading.py",
    "services/chassis/table/restoring.py",
    "services/chassis/table/tombstones.py",
)

pytestmark = [pytest.mark.real, pytest.mark.e2e, pytest.mark.timeout(patient(600))]
OLD_RECORDS = 300_000
READ_MAX = OLD_RECORDS // 100
PREFIX_SETTING = "MILLRACE_TOPIC_PREFIX"
RECORDS_READ = "millrace_records_read_total"
PATIENCE_S = patient(60.0)


@contextmanager
def _started(folder: Path, prefix: str = "") -> Iterator[tuple[System, float]]:
    """A system, and the seconds until it was ready."""
    folder.mkdir()
    began_s = time.monotonic()
    settings = {PREFIX_SETTING: prefix} if prefix else {}
    with up(folder, real=True, settings=settings) as system:
        yield system, time.monotonic() - began_s


async def test_a_start_on_a_log_of_a_week_reads_what_a_start_on_an_empty_one_reads(
    pair: Pair, tmp_path: Path
) -> None:
    """Readers begin where the newest complete resync began, however much is before it."""
    with _started(tmp_path / "empty") as (system, empty_s):
        read_of_empty = await _records_read(system)
    servers = pair.bootstrap_servers
    async with topics_of_last_week(servers, OLD_RECORDS) as prefix:
        async with log_at(servers) as bus:
            ends = await bus.end_offsets(resource_partitions(prefix))
            assert sum(ends.values()) == OLD_RECORDS
        with _started(tmp_path / "old", prefix) as (system, old_s):
            read = await _records_read(system)
            sys.stdout.write(
                f"ready after {old_s:.1f} s with {OLD_RECORDS} old records, {empty_s:.1f} s with "
                f"none: ratio {old_s / empty_s:.2f}; records read {read}, {read_of_empty}\n"
            )
            assert all(0 < each < READ_MAX for each in read.values())
            (system.bundles / BUNDLE).write_bytes(pack(example_adl()))
            async with (
                Api.of(system.kubeconfig) as api,
                ordeal(Cluster(api, system), "on-an-old-log") as job,
            ):
                pes = len(job.job.of("pes"))
                await job.resize(WIDER)
                await job.converge("a resize on an old log", WIDER, pes + WIDER - WIDTH)


async def _records_read(system: System) -> dict[str, float]:
    """How many records each stage has read so far."""
    found = {}
    for service in STAGES:
        (pid,) = pids_of(system, service)
        async with asyncio.timeout(PATIENCE_S):
            while RECORDS_READ not in (metrics := await metrics_of(pid)):  # noqa: ASYNC110 - polled
                await asyncio.sleep(POLL_S)
        found[service] = metrics[RECORDS_READ]
    return found
