"""A job of the numbered application to which something happens, and what it reports of it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.watching import Cluster, JobObjects, Obj
from tests.numbered.checking import Found
from tests.numbered.losses import Losses
from tests.numbered.processes import id_of, pes_of
from tests.numbered.sandboxed import CRASHING, REGION, Numbered, prepared, spec_of
from tests.patience import patient

FLOWS_S: Final = patient(120.0)
LOOK_S: Final = 0.05
_COLUMNS: Final = ("missing", "status", "Events", "metrics", "doubled")
HEADER: Final = f"{'what':<30}" + "".join(f"{each:>8}" for each in _COLUMNS) + "  s to Healthy"


@dataclass
class Scene:
    """A job whose tuples flow. `width`: the one that it has in the end."""

    cluster: Cluster
    job: JobObjects
    numbered: Numbered
    losses: Losses
    width: int
    launches: dict[str, int] = field(default_factory=dict)

    def pe(self, operator: str, channel: int = 0) -> str:
        """The PE of an operator."""
        return pes_of(self.job, operator)[channel]

    async def flows(self, lines: int) -> None:
        """Return when so many lines are at the sink; the launches until then are remembered."""
        await asyncio.wait_for(self._have_come(lines), FLOWS_S)
        self.launches = {pe: has for pe, (_, has) in self.numbered.launches().items()}

    async def _have_come(self, lines: int) -> None:
        while self.numbered.lines < lines:  # noqa: ASYNC110 - it is a file
            await asyncio.sleep(LOOK_S)

    # ------------------------------------------------------------------ a hand-over

    async def resized(self, width: int) -> None:
        """Begin a resize; return when its hand-over has begun."""
        before = self.generation
        self.width = width
        await self.numbered.resize(width, waits=False)
        await self.job.until("a hand-over", lambda: self.generation > before)

    @property
    def hand_over(self) -> Mapping[str, Any]:
        """The newest hand-over; empty before the first."""
        found: Mapping[str, Any] = self.job.status.get("handOver") or {}
        return found

    @property
    def generation(self) -> int:
        """Its generation."""
        return int(self.hand_over.get("generation", -1))

    def is_awaited(self, pe: str) -> bool:
        """Whether the hand-over that goes on lists a PE that has not sealed."""
        assert not self.hand_over.get("complete"), f"too late: {self.hand_over}"
        return str(id_of(pe)) in self.hand_over["pes"] and not self.has_sealed(pe)

    def has_sealed(self, pe: str) -> bool:
        """Whether a PE has sealed for the newest hand-over."""
        runtime = (self.job.of("pes")[pe].get("status") or {}).get("runtime") or {}
        return bool(runtime.get("sealed") == self.generation)

    async def until_handed_over(self, wait_s: float) -> None:
        """Return when the hand-over is over, in time or not."""
        await self.job.until("its end", lambda: bool(self.hand_over.get("complete")), wait_s)

    # ------------------------------------------------------------------ the end

    async def until_healthy(self, pes: Collection[str] = ()) -> None:
        """Return when all is well again, and these PEs were launched again, if they still exist."""

        def is_well() -> bool:
            launches = self.numbered.launches()
            return (
                all(has == due for due, has in launches.values())
                and all(p not in launches or launches[p][1] > self.launches.get(p, 0) for p in pes)
                and self.job.width_in_force(REGION) == self.width
                and self.job.is_settled()
            )

        await self.job.until("Healthy", is_well)

    async def cost(self) -> Cost:
        """What it cost, once nothing comes at the sink any more."""
        found = await self.numbered.found_still()
        events = await self.losses.by_events()
        return Cost(found, self.losses.by_status, events, dict(self.losses.by_cause))


@dataclass(frozen=True, slots=True)
class Cost:
    """What is missing at the sink, and what statuses, Events and metrics report.

    Events are all. A launch that ends soon after a loss may take its metrics along, and the status
    is that of the next launch by then.
    """

    found: Found
    status: int
    events: int
    causes: Mapping[str, int]

    @property
    def metrics(self) -> int:
        """Tuples that metrics count."""
        return sum(self.causes.values())

    def row(self, what: str, healthy_s: float) -> str:
        """A line of the table."""
        counts = (self.status, self.events, self.metrics, len(self.found.doubled))
        numbers = "".join(f"{each:>8}" for each in (len(self.found.missing), *counts))
        return f"{what:<30}{numbers}  {healthy_s:.1f}  {dict(self.causes)}"

    def check(self, *, may_double: bool = False) -> None:
        """What is missing is reported, and nothing came twice."""
        assert len(self.found.missing) <= self.events, self
        if not may_double:
            assert not self.found.doubled, self
            assert not self.found.unordered, self


@asynccontextmanager
async def scene(
    cluster: Cluster, folder: Path, name: str, values: Mapping[str, object], hand_over_s: int = 30
) -> AsyncIterator[Scene]:
    """A job that runs; `values` are submission-time values of the application."""
    around = await prepared(cluster, folder, CRASHING)
    async with cluster.job(name) as job, Losses(cluster, job).following() as losses:
        spec: Obj = spec_of(name, {"legacy": True}, values, CRASHING)
        spec |= {"scaling": {"handOverSeconds": hand_over_s}}
        await cluster.submit(name, spec)
        await job.until("running", job.all_running)
        width, count = int(str(values["width"])), int(str(values["count"]))
        yield Scene(cluster, job, Numbered(around, job, count), losses, width)


def skip_where_pods_are_played(request: pytest.FixtureRequest) -> None:
    """On the real pair."""
    if request.node.callspec.params["system"] == "real":
        pytest.skip("kwok plays the pods of the real pair: no tuple flows there")


def show(capsys: pytest.CaptureFixture[str], *lines: str) -> None:
    """Write lines of a report, whatever becomes of the test."""
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(lines) + "\n")


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """So many."""
        return time.monotonic() - self._began
