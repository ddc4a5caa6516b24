"""SIGKILL to processes of a job that runs, in each place where it may hurt.

What is missing at the sink is held against what metrics, statuses and Events report: numbers there
are upper bounds. Nothing comes twice, but behind a source (docs/guarantees.md).
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.watching import Cluster
from tests.numbered.processes import caught, id_of, kill, pes_of, pid_of, pids_of
from tests.numbered.sandboxed import states_of
from tests.numbered.scenes import (
    HEADER,
    Scene,
    Stopwatch,
    scene,
    show,
    skip_where_pods_are_played,
)
from tests.patience import patient

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(patient(400)),
    pytest.mark.flaky(reruns=0),
    pytest.mark.skipif(
        "MILLRACE_CRASHES" not in os.environ,
        reason="each crash takes about a minute of both cores: `make crash`",
    ),
]
COUNT: Final = 8_000
RATE: Final = 1_200
SLOW_S: Final = 0.005
"""Channels are slower than the source, so that tuples wait everywhere when a PE is killed."""
START: Final = 3
FLOWS: Final = 1_500
"""So many lines are at the sink before a PE is killed."""


Place = Callable[[Scene], Awaitable[Sequence[str]]]
"""Kills PEs, and returns their names."""


def of(*operators: str) -> Place:
    """PEs of these operators at once, while all is well; of the middle channel if it has some."""

    async def killed(here: Scene) -> Sequence[str]:
        found = [pes_of(here.job, each) for each in operators]
        pes = [each[len(each) // 2] for each in found]
        kill(pids_of(here.job, pes))
        return pes

    return killed


async def before_its_seal(here: Scene) -> Sequence[str]:
    """A channel that a hand-over waits for."""
    pe = here.pe("Passed")
    await here.resized(5)
    assert here.is_awaited(pe)
    kill([pid_of(here.job, pe)])
    return [pe]


async def after_its_seal(here: Scene) -> Sequence[str]:
    """The splitter has sealed; the others have not, so it is not launched again yet."""
    pe = here.pe("Handed")
    await here.resized(5)
    await here.job.until("its seal", lambda: here.has_sealed(pe))
    assert here.is_awaited(here.pe("Report")), "the hand-over is over too soon"
    kill([pid_of(here.job, pe)])
    return [pe]


async def leaving(here: Scene) -> Sequence[str]:
    """A channel that the resize takes away, before it has sealed."""
    pe = here.pe("Passed", 2)
    await here.resized(2)
    assert here.is_awaited(pe)
    kill([pid_of(here.job, pe)])
    return [pe]


async def new_owner(here: Scene) -> Sequence[str]:
    """It has loaded what was handed over, and saves that as its own state."""
    await here.resized(5)
    await here.job.until("its process", lambda: _is_there(here, "Counted", 4))
    pe = here.pe("Counted", 4)
    pid = pid_of(here.job, pe)
    await caught(pid, lambda: is_writing(here, pe, "checkpoint-0", or_wrote=True))
    kill([pid])
    return [pe]


def is_writing(here: Scene, pe: str, kind: str, *, or_wrote: bool = False) -> bool:
    """Whether a PE writes a state of a kind at this moment, or did where that is as good."""
    folder = states_of(here.cluster) / f"{here.job.job}-{here.job.uid}" / f"pe-{id_of(pe)}"
    written = or_wrote and any(folder.glob(f"launch-*/{kind}*"))
    return written or any(folder.glob(f"launch-*/.{kind}*"))


def _is_there(here: Scene, operator: str, channel: int) -> bool:
    found = pes_of(here.job, operator)
    return len(found) > channel and bool(pid_of(here.job, found[channel]))


async def source_in_a_checkpoint(here: Scene) -> Sequence[str]:
    """Its state is written, and has no name yet."""
    pe = here.pe("Numbers")
    pid = pid_of(here.job, pe)
    await caught(pid, lambda: is_writing(here, pe, "checkpoint-"))
    kill([pid])
    return [pe]


PLACES: Final[Mapping[str, Place]] = {
    "source": of("Numbers"),
    "splitter": of("Handed"),
    "channel": of("Passed"),
    "keyed count": of("Counted"),
    "merger and sink": of("Report"),
    "channel and sink at once": of("Passed", "Report"),
    "channel before its seal": before_its_seal,
    "splitter after its seal": after_its_seal,
    "leaving channel": leaving,
    "new owner while it loads": new_owner,
    "source in a checkpoint": source_in_a_checkpoint,
}
AGAIN: Final = frozenset({"source", "source in a checkpoint"})
"""A source gives again what it gave since its last checkpoint."""


@pytest.mark.parametrize("place", PLACES)
async def test_what_a_crash_costs_is_reported_and_the_job_becomes_healthy(
    cluster: Cluster,
    tmp_path: Path,
    place: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In metrics, in statuses and in Events; nothing comes twice."""
    skip_where_pods_are_played(request)
    values = {"count": COUNT, "rate": RATE, "slow_s": SLOW_S, "width": START}
    async with scene(cluster, tmp_path, f"crash-{place.replace(' ', '-')}", values) as here:
        await here.flows(FLOWS)
        pes = await PLACES[place](here)
        watch = Stopwatch()
        await here.until_healthy(pes)
        healthy_s = watch.seconds
        cost = await here.cost()
    show(capsys, HEADER, cost.row(place, healthy_s))
    cost.check(may_double=place in AGAIN)
