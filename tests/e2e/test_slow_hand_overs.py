"""Hand-overs that take long: a channel drains for 20 s, and a former owner that is frozen."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.watching import Cluster
from tests.numbered.processes import frozen, id_of, pid_of, until_over
from tests.numbered.scenes import HEADER, Stopwatch, scene, show, skip_where_pods_are_played
from tests.patience import patient

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(patient(400)),
    pytest.mark.flaky(reruns=0),
    pytest.mark.skipif(
        "MILLRACE_CRASHES" not in os.environ,
        reason="each hand-over takes about a minute of both cores: `make crash`",
    ),
]
SLOW_S: Final = 0.01
DRAIN: Final = {3: (1_000, 2_200), 5: (1_600, 4_000)}
"""By the width: tuples a second, and lines at the sink when a channel has tuples for 20 s."""
GRACE_S: Final = 30.0


@pytest.mark.parametrize(("before", "after", "hand_over_s"), [(3, 5, 90), (5, 2, 90), (3, 5, 5)])
async def test_a_channel_that_drains_for_long_is_awaited_up_to_the_deadline(
    cluster: Cluster,
    tmp_path: Path,
    before: int,
    after: int,
    hand_over_s: int,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is lost in time; what a deadline before its end costs is reported."""
    skip_where_pods_are_played(request)
    rate, lines = DRAIN[before]
    values = {"count": 10 * rate, "rate": rate, "slow_s": SLOW_S, "width": before}
    name = f"slow-{before}-{after}-{hand_over_s}"
    async with scene(cluster, tmp_path, name, values, hand_over_s) as here:
        await here.flows(lines)
        watch = Stopwatch()
        await here.resized(after)
        await here.until_handed_over(hand_over_s + patient(60.0))
        handed_s = watch.seconds
        is_in_time = here.hand_over["sealed"].keys() == here.hand_over["pes"].keys()
        await here.until_healthy()
        healthy_s = watch.seconds
        cost = await here.cost()
    what = f"{before} → {after}, deadline {hand_over_s} s"
    show(capsys, HEADER, cost.row(what, healthy_s), f"  handed over in {handed_s:.1f} s")
    cost.check()
    assert is_in_time == (hand_over_s > 60)
    if is_in_time:
        assert cost.found.is_exact, cost
        assert not cost.status, cost


@pytest.mark.parametrize(
    ("operator", "channel", "width"), [("Counted", 1, 5), ("Passed", 1, 5), ("Counted", 2, 2)]
)
async def test_a_former_owner_that_wakes_after_the_hand_over_changes_nothing(
    cluster: Cluster,
    tmp_path: Path,
    operator: str,
    channel: int,
    width: int,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It ends, and what it saves or sends then is not taken."""
    skip_where_pods_are_played(request)
    values = {"count": 8_000, "rate": 1_200, "slow_s": SLOW_S / 2, "width": 3}
    name = f"frozen-{operator.lower()}-{channel}-{width}"
    async with scene(cluster, tmp_path, name, values, 5) as here:
        await here.flows(1_500)
        pe = here.pe(operator, channel)
        pid = pid_of(here.job, pe)
        watch = Stopwatch()
        await here.resized(width)
        assert here.is_awaited(pe)
        async with frozen(pid):
            await here.until_handed_over(patient(30.0))
            handed_s = watch.seconds
            await asyncio.sleep(2.0)
        woken_s = watch.seconds
        over_s = await until_over(pid, GRACE_S + patient(10.0))
        await here.until_healthy([pe])
        healthy_s = watch.seconds
        cost = await here.cost()
        assert str(id_of(pe)) not in here.hand_over["sealed"]
        late = {each["reason"] for each in await cluster.events(name)}
    show(
        capsys,
        HEADER,
        cost.row(name, healthy_s),
        f"  handed over in {handed_s:.1f} s, woken at {woken_s:.1f}, over {over_s:.1f} s later",
    )
    assert "HandOverTimedOut" in late
    cost.check()
