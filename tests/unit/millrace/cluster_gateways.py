"""What pe-gateway is to each launch of a cluster of tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from millrace.protocol import Ended, Lost, Report, Sealed, Seen
from millrace.runtime.endings import LaunchOver
from tests.unit.millrace.pods import Pod

if TYPE_CHECKING:
    from tests.unit.millrace.clusters import Cluster


class GatewayOfPod:
    """The gateway of one launch."""

    refused: ClassVar[Mapping[str, int]] = {}

    def __init__(self, cluster: Cluster, pe: int, launch: int) -> None:
        self._cluster = cluster
        self._pe = pe
        self._launch = launch
        self.pod: Pod | None = None
        self._kept: list[Report] = []

    async def watch(self, peers: Iterable[int] = ()) -> AsyncIterator[Seen]:
        """What the PE sees, now and at each change."""
        known = list(peers)
        before = None
        while True:
            async with self._cluster.changed:
                while self._cluster.is_gateway_away or (
                    not self._cluster.is_deleted
                    and (seen := self._cluster.seen_by(self._pe, known)) == before
                ):
                    await self._cluster.changed.wait()
            if self._cluster.is_deleted:
                raise LaunchOver("the job is deleted", is_job_deleted=True)
            if seen.launch > self._launch:
                raise LaunchOver(f"launch {seen.launch} is intended")
            before = seen
            yield seen

    async def left(self, former: Iterable[int]) -> frozenset[int]:
        """Those that the newest plan does not have."""
        return frozenset(former) - self._cluster.planned

    def report(self, report: Report) -> None:
        """Keep what the PE reports; a seal counts only if no newer launch is intended."""
        assert self.pod is not None, "it is launched"
        if isinstance(report, Sealed) and self._cluster.intended.get(self._pe, 0) > self._launch:
            return
        if isinstance(report, Lost) and self._cluster.is_deaf_to_losses:
            self._kept.append(report)
            return
        self.pod.reports.append(report)
        if isinstance(report, Ended):
            self._cluster.see_end()
        self._cluster.tell()

    async def recorded(self, within_s: float | None = None) -> bool:
        """Whether all is: not while the cluster is deaf to losses."""
        assert self.pod is not None, "it is launched"
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                async with self._cluster.changed:
                    await self._cluster.changed.wait_for(
                        lambda: not self._cluster.is_deaf_to_losses
                    )
                self.pod.reports += self._kept
                self._kept.clear()
                return True
        return False
