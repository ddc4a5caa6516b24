"""What a scenario plays on: a running system, its jobs, and a small application.

Jobs have few PEs and the log few partitions, so that a recording stays small enough to be read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from contracts.bundle_format import pack
from tests.e2e.watching import Cluster, JobObjects
from tests.histories.releases import Bug, Tree
from tests.patience import patient
from tests.unit.planner.adl_writing import Adl

BUNDLE = "shop.sab"
REGION = "Count"
PARTITIONS = 2
QUIET_S = patient(6.0)
"""Before it is recorded; longer than the 5 s for which the status of a PE waits."""


def bundle() -> bytes:
    """One operator, which is parallel: a PE a channel."""
    adl = Adl("shop::Main").operator(REGION, 0, 0).value("width", '"1"', composite="shop::Main")
    return pack(adl.region(REGION, "width").text().encode())


@dataclass
class Stage:
    """A running system and its jobs, which are deleted when the recording is made.

    `spare` is the tree of the release that a rolling upgrade turns to.
    """

    cluster: Cluster
    open_ones: AsyncExitStack
    spare: Tree | None = None

    async def job(self, name: str = "shop") -> JobObjects:
        """A job of that name, followed."""
        return await self.open_ones.enter_async_context(self.cluster.job(name))

    async def submit(self, job: JobObjects, width: int, **more: object) -> None:
        """Create the Job of the small application, with `more` in its spec."""
        path = self.cluster.system.bundles / BUNDLE
        if not path.exists():
            path.write_bytes(bundle())
        spec = {
            "bundle": {"name": BUNDLE},
            "fusion": {"legacy": True},
            "submissionTimeValues": {"width": str(width)},
            **more,
        }
        await self.cluster.submit(job.job, spec)

    async def run(self, job: JobObjects, width: int, **more: object) -> None:
        """Create the Job and wait until it runs."""
        await self.submit(job, width, **more)
        await until_width(job, width)

    async def resize(self, job: JobObjects, width: int) -> None:
        """Set the width of its region."""
        await self.cluster.resize(job, REGION, width)

    def scratch(self) -> Path:
        """A folder for what a command leaves behind."""
        return Path(self.open_ones.enter_context(tempfile.TemporaryDirectory()))


async def until_width(job: JobObjects, width: int) -> None:
    """Wait until a width is in force, one pod a PE runs, and everything about it is written."""
    await job.until(
        f"width {width}",
        lambda: (
            job.width_in_force(REGION) == width and len(job.of("pes")) == width and job.is_settled()
        ),
    )


Play = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is played and recorded, in a sentence; `is_real`: on Kafka and a real control plane.

    `settings` are variables of the environment of all services. `bug` names the one that is planted
    in the tree that the services run from.
    """

    name: str
    what: str
    play: Play
    is_real: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    bug: Bug | None = None
    has_next_release: bool = False
