"""Errors, ended watches and cancellation: the controllers keep on, or stop cleanly."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from sandbox.controllers.settings import Settings
from sandbox.controllers.work_queue import Pace, WorkQueue
from sandbox.store.resources import CONFIG_MAP, POD
from sandbox.store.watching import Watch
from tests.unit.sandbox.controllers.living import (
    LivingCluster,
    config_map,
    names,
    owned_by,
    pod,
)

pytestmark = pytest.mark.looptime


async def test_a_key_that_fails_is_logged_and_retried_with_back_off_beside_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    attempts: list[tuple[str, float]] = []

    def reconcile(key: str) -> None:
        attempts.append((key, round(loop.time(), 3)))
        if key == "bad" and len(attempts) < 5:
            raise RuntimeError("no luck")

    work = WorkQueue("test work", reconcile, Settings(retry_min_s=1.0, retry_max_s=3.0))
    running = asyncio.create_task(work.run())
    work.add("bad")
    work.add("good")
    with caplog.at_level(logging.ERROR):
        await asyncio.sleep(60)
    running.cancel()
    await asyncio.wait([running])
    assert attempts == [("bad", 0), ("good", 0), ("bad", 1), ("bad", 3), ("bad", 6)]
    assert "test work failed for bad" in caplog.text
    assert "no luck" in caplog.text


async def test_the_same_key_added_often_is_worked_on_once() -> None:
    seen: list[str] = []
    work = WorkQueue("test work", seen.append, Settings())
    running = asyncio.create_task(work.run())
    for _ in range(10):
        work.add("key")
        work.add_after("key", 1.0)
        work.add_after("key", 5.0)
    await asyncio.sleep(60)
    running.cancel()
    await asyncio.wait([running])
    assert seen == ["key", "key"]


def test_a_pace_allows_a_burst_and_then_its_rate() -> None:
    pace = Pace(20.0, 30)
    assert pace.wait_s(0.0) == 0.0
    for _ in range(30):
        pace.spend()
    assert pace.wait_s(0.0) == pytest.approx(0.05)
    assert pace.wait_s(0.05) == pytest.approx(0.0)


async def test_a_watch_that_ended_is_made_up_for_by_a_new_list(
    cluster: LivingCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    watches: list[Watch] = []
    open_watch = cluster.store.watch

    def watch_and_remember(*args: Any, **kwargs: Any) -> Watch:
        watches.append(open_watch(*args, **kwargs))
        return watches[-1]

    monkeypatch.setattr(cluster.store, "watch", watch_and_remember)
    async with cluster.living():
        owner = cluster.create(CONFIG_MAP, config_map("owner"))
        cluster.create(CONFIG_MAP, config_map("child", owned_by(owner)))
        await asyncio.sleep(1)
        cluster.delete(CONFIG_MAP, "owner")
        cluster.create(POD, pod("p"))
        assert len(watches) > 1
        for watch in tuple(watches):
            watch.take()
            watch.close()
        await asyncio.sleep(1)
        assert names(cluster) == set()
        assert cluster.phase("p") == "Running"


async def test_stopped_controllers_write_nothing_and_new_ones_go_on(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("first"))
        await asyncio.sleep(1)
    version = cluster.store.version
    cluster.create(POD, pod("second"))
    cluster.delete(POD, "first")
    await asyncio.sleep(600)
    assert cluster.store.version == version + 2
    async with cluster.living(nodes=0):
        await asyncio.sleep(1)
        assert cluster.find(POD, "first") is None
        assert cluster.phase("second") == "Running"
