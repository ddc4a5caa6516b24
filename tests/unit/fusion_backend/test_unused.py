"""A bundle leaves the store when no Job names it and nobody has used it for long; no other does."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from contracts.moments import moment_of
from services.chassis.process.clock import SystemClock
from services.chassis.process.errors import Transient
from services.chassis.process.metrics import Metrics
from services.fusion_backend.adapters.bundles import unused
from services.fusion_backend.adapters.bundles.incoming import FETCHED
from services.fusion_backend.adapters.bundles.unused import UnusedBundles

NOW = 1_700_000_000.0
DAY_S = 24 * 3600.0
UNUSED_S = 30 * DAY_S
LONG_AGO = NOW - 31 * DAY_S
LATELY = NOW - 29 * DAY_S


class At(SystemClock):
    """A clock that stands."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> float:
        return self.time


@dataclass
class Page:
    items: list[dict[str, Any]]


@dataclass
class Jobs:
    """An API server with Jobs."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    away: bool = False
    asked: int = 0
    namespaces: list[str | None] = field(default_factory=list)

    async def list_pages(self, _: object, namespace: str | None) -> AsyncIterator[Page]:
        self.asked += 1
        self.namespaces.append(namespace)
        if self.away:
            raise Transient("away")
        for job in self.jobs:
            yield Page([job])


def job(digest: str = "", *, phase: str = "Submitted", created: float = LONG_AGO) -> dict[str, Any]:
    status = {"phase": phase, "startedAt": moment_of(created)}
    if digest:
        status["bundleDigest"] = digest
    return {"metadata": {"creationTimestamp": moment_of(created)}, "status": status}


def put(store: Path, name: str, used: float) -> None:
    (store / f"{name}.sab").write_bytes(b"bundle")
    os.utime(store / f"{name}.sab", (used, used))


def names(store: Path) -> set[str]:
    return {each.stem for each in store.glob("*.sab")}


def removal(
    store: Path, jobs: Jobs, clock: At | None = None, metrics: Metrics | None = None
) -> UnusedBundles:
    return UnusedBundles(
        store,
        jobs,  # type: ignore[arg-type]  # nothing but a list is asked
        clock or At(),
        metrics=metrics or Metrics(),
        unused_s=UNUSED_S,
        in_threads=False,
    )


async def test_what_is_named_or_was_used_lately_stays(tmp_path: Path) -> None:
    put(tmp_path, "named", LONG_AGO)
    put(tmp_path, "lately", LATELY)
    put(tmp_path, "old", LONG_AGO)
    jobs = Jobs([job("named"), job("gone"), job(phase="Failed"), job(phase="", created=LATELY)])
    assert await removal(tmp_path, jobs).remove() == 1
    assert names(tmp_path) == {"named", "lately"}


@pytest.mark.parametrize(
    "unknown", [job(), job(phase=""), job(phase="Submitting"), job("other", phase="Submitting")]
)
async def test_nothing_is_removed_while_nobody_knows_what_an_old_job_needs(
    tmp_path: Path, unknown: dict[str, Any]
) -> None:
    """Its plan record may name a bundle that no status does."""
    put(tmp_path, "old", LONG_AGO)
    assert await removal(tmp_path, Jobs([unknown])).remove() == 0
    assert names(tmp_path) == {"old"}


async def test_nothing_is_removed_unless_every_job_was_seen(tmp_path: Path) -> None:
    put(tmp_path, "old", LONG_AGO)
    with pytest.raises(Transient):
        await removal(tmp_path, Jobs(away=True)).remove()
    assert names(tmp_path) == {"old"}


async def test_one_that_is_used_while_it_is_being_removed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "old", LONG_AGO)
    rename = os.replace

    def marked_before(source: Path, target: Path) -> None:
        if source.name == "old.sab":
            os.utime(source, (NOW, NOW))
        rename(source, target)

    monkeypatch.setattr(os, "replace", marked_before)
    assert await removal(tmp_path, Jobs()).remove() == 0
    assert names(tmp_path) == {"old"}


async def test_old_notes_of_what_is_gone_go_and_others_stay(tmp_path: Path) -> None:
    notes = tmp_path / FETCHED
    notes.mkdir()
    put(tmp_path, "kept", LATELY)
    for name, digest, used in (("a", "kept", LONG_AGO), ("b", "x", LONG_AGO), ("c", "x", LATELY)):
        (notes / name).write_text(digest)
        os.utime(notes / name, (used, used))
    await removal(tmp_path, Jobs()).remove()
    assert sorted(each.name for each in notes.iterdir()) == ["a", "c"]


async def test_it_is_done_some_time_after_the_start_and_once_a_day(tmp_path: Path) -> None:
    clock, jobs = At(), Jobs()
    bundles = removal(tmp_path, jobs, clock)
    for after_s, asked in ((0, 0), (unused.FIRST_AFTER_S, 1), (60, 1), (unused.EVERY_S, 2)):
        clock.time += after_s
        bundles.remove_if_due()
        if bundles._removing is not None:
            await bundles._removing
        assert jobs.asked == asked


async def test_a_list_that_fails_is_no_crash(tmp_path: Path) -> None:
    clock = At()
    bundles = removal(tmp_path, Jobs(away=True), clock)
    clock.time += unused.FIRST_AFTER_S
    bundles.remove_if_due()
    assert bundles._removing is not None
    await bundles._removing


async def test_a_job_that_cannot_be_read_is_counted_and_the_next_day_is_another(
    tmp_path: Path,
) -> None:
    """Nobody awaits the removal, so nobody else would hear of it."""
    clock, metrics = At(), Metrics()
    jobs = Jobs([{"metadata": {}, "status": {"startedAt": "yesterday"}}])
    bundles = removal(tmp_path, jobs, clock, metrics)
    for asked in (1, 2):
        clock.time += max(unused.FIRST_AFTER_S, unused.EVERY_S)
        bundles.remove_if_due()
        assert bundles._removing is not None
        await bundles._removing
        assert jobs.asked == asked
        assert metrics.value("millrace_crashes_total", where="unused_bundles") == asked


async def test_jobs_are_listed_where_the_service_works(tmp_path: Path) -> None:
    """With Roles in some namespaces a list of all of them is refused."""
    put(tmp_path, "named", LONG_AGO)
    for namespaces, listed in (((), [None]), (("a", "b"), ["a", "b"])):
        jobs = Jobs([job("named")])
        unused = removal(tmp_path, jobs)
        unused._namespaces = namespaces
        assert await unused.remove() == 0
        assert jobs.namespaces == listed
