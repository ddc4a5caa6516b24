"""Removes bundles from the store that no Job names and that nobody used for a long time.

1. Ask the API server for every Job: its status names the bundle that it was planned from. Where one
   is old and its status names none, nobody knows what it needs, and nothing is removed.
2. Of the bundles that no Job names, take those that were used for the last time before the limit.
   A bundle is marked as used before it is stored, and before a plan is made from it.
3. Rename it, look at the mark again, and only then remove it: one that is used after all goes back.

So a job that is being submitted keeps its bundle by its mark, and one that runs by its status: its
resizes never need the source. A crash leaves a renamed bundle, which the next start names back. Two
instances on one volume may do this at a time. A volume belongs to one cluster.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from contracts.moments import unix_s_of
from contracts.resources import JOB, JobPhase
from services.chassis.kube.port import KubeClient
from services.chassis.kube.resources import resource_of
from services.chassis.process.clock import Clock
from services.chassis.process.errors import ChassisError
from services.chassis.process.log_lines import log_of
from services.chassis.process.metrics import Metrics
from services.fusion_backend.adapters.bundles.incoming import FETCHED, INCOMING, LEAVING
from services.fusion_backend.adapters.bundles.root import SUFFIX

FIRST_AFTER_S: Final = 3600.0
EVERY_S: Final = 24 * 3600.0


class UnusedBundles:
    """Removes them now and then: `unused_s` is how long nobody has used them; 0 is never.

    Jobs of other `namespaces` than those that the service works in count as absent; none: all.
    """

    def __init__(
        self,
        store: Path,
        kube: KubeClient,
        clock: Clock,
        *,
        metrics: Metrics,
        unused_s: float,
        namespaces: tuple[str, ...] = (),
        in_threads: bool = True,
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._kube = kube
        self._clock = clock
        self._metrics = metrics
        self._unused_s = unused_s
        self._in_threads = in_threads
        self._due = clock.now() + FIRST_AFTER_S
        self._removing: asyncio.Task[None] | None = None
        self._log = log_of("bundle_store")

    def remove_if_due(self) -> None:
        """Begin, some time after the start and once a day; a store grows where jobs are planned."""
        if self._unused_s and self._clock.now() >= self._due:
            self._due = self._clock.now() + EVERY_S
            self._removing = asyncio.create_task(self._remove(), name="removal of unused bundles")

    async def _remove(self) -> None:
        try:
            removed = await self.remove()
        except (ChassisError, OSError) as problem:
            self._log.warning("unused_bundles_not_removed", problem=str(problem))
        except Exception:  # noqa: BLE001 - a defect delays only the removal, and nobody awaits it
            self._metrics.count("millrace_crashes_total", where="unused_bundles")
            self._log.exception("removal_of_unused_bundles_crashed")
        else:
            self._log.info("unused_bundles_removed", bundles=removed)

    async def remove(self) -> int:
        """How many were removed. Raises ChassisError and OSError."""
        before = self._clock.now() - self._unused_s
        named: set[str] = set()
        for namespace in self._namespaces or (None,):
            async for page in self._kube.list_pages(resource_of(JOB.kind), namespace):
                for job in page.items:
                    if _needs_unknown(job, before):
                        return 0
                    named.add((job.get("status") or {}).get("bundleDigest") or "")
        if not self._in_threads:
            return removed_of(self._store, named, before)
        return await asyncio.to_thread(removed_of, self._store, named, before)


def _needs_unknown(job: dict[str, Any], before: float) -> bool:
    """Whether its bundle may be so old that no mark keeps it, and no status names it."""
    status = job.get("status") or {}
    phase = status.get("phase")
    if phase == JobPhase.FAILED or (status.get("bundleDigest") and phase != JobPhase.SUBMITTING):
        return False
    began = status.get("startedAt") or job["metadata"]["creationTimestamp"]
    return unix_s_of(began) < before


def removed_of(store: Path, named: Collection[str], before: float) -> int:
    """Remove bundles that are not named and were last used before that; how many they were."""
    removed = 0
    for path in store.glob(f"[!.]*{SUFFIX}"):
        with suppress(FileNotFoundError):
            if path.stem not in named and _removed(path, before):
                removed += 1
    for note in (store / FETCHED).glob("*"):
        with suppress(FileNotFoundError):
            is_old = note.stat().st_mtime < before and not note.name.startswith(INCOMING)
            if is_old and not (store / f"{note.read_text('ascii', 'replace')}{SUFFIX}").exists():
                note.unlink()
    return removed


def _removed(path: Path, before: float) -> bool:
    if path.stat().st_mtime >= before:
        return False
    leaving = path.with_name(f"{LEAVING}{path.name}")
    os.replace(path, leaving)
    if leaving.stat().st_mtime >= before:
        os.replace(leaving, path)  # somebody marked it after we had looked
        return False
    leaving.unlink()
    return True
