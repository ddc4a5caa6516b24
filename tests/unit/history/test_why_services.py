"""`why` blames each service that is stopped for what waits for it, as the rows say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from contracts.labels import NODE_CLAIMS_FINALIZER
from contracts.waits import WAITS_FOR_PLACEMENT, Wait, waits_for_claim
from history.why.answering import answer_of
from history.why.case import Case
from history.why.of_services import all_awaited
from history.why.rules import Trouble
from services.roster import SERVICES, writers
from tests.builders import a_host_pool, a_parallel_region, a_pe
from tests.unit.history.troubles import Scene, a_running_pod, a_submitted_job, healthy, ill
from tests.unit.history.why_cases import UNANSWERED
from tests.unit.history.why_connections import RESIZING, UNCONNECTED

WAITING: Final[Mapping[Wait, Scene]] = {
    Wait.SPEC: Scene((a_submitted_job(phase="", message=""),)),
    Wait.PROGRESS: Scene((a_submitted_job(phase="Submitting"),)),
    Wait.WIDTH: healthy().and_also(
        a_parallel_region()
        .at_generation(2)
        .with_spec(width=9)
        .with_status(width=3, observedGeneration=1)
    ),
    Wait.DELETION: Scene((a_submitted_job().deleting(),)),
    Wait.ANSWER: Scene((a_submitted_job(phase="Submitting"), UNANSWERED)),
    Wait.POOL: Scene((a_submitted_job(), a_host_pool().at_generation(2))).about(
        "HostPool", "shop-1-gpu"
    ),
    Wait.PLACE: ill(a_pe().with_status(phase="Waiting", message=f"It {WAITS_FOR_PLACEMENT}.")),
    Wait.CLAIM: ill(
        a_pe().with_status(phase="Waiting", message=f"It {waits_for_claim('node-1', 'gpu')}.")
    ),
    Wait.RELEASE: Scene(
        (a_submitted_job().deleting(), a_host_pool().with_finalizer(NODE_CLAIMS_FINALIZER))
    ),
    Wait.LAUNCH: ill(a_pe()),
    Wait.END: ill(a_pe().launched(1)),
    Wait.REPORT: Scene(UNCONNECTED),
}
"""What waits, by the wait that its service ends."""
PAIRS = [(row.name, wait) for row in SERVICES for wait in row.awaited]


def blamed(scene: Scene, *down: str) -> str:
    """The cause that `why` gives while these services are stopped; empty: none of them is one."""
    found = answer_of(replace(scene, down=dict.fromkeys(down, "")).gathered())
    return found.cause if found.trouble == Trouble.SERVICE_DOWN.name else ""


@pytest.mark.parametrize(("service", "wait"), PAIRS)
def test_a_stopped_service_is_blamed_for_what_waits_for_it(service: str, wait: Wait) -> None:
    assert f"{service} is stopped" in blamed(WAITING[wait], service)
    awaited = {each.service for each in all_awaited(Case(WAITING[wait].gathered()))}
    assert service in awaited
    others = [row.name for row in SERVICES if row.awaited and row.name not in awaited]
    assert blamed(WAITING[wait], *others) == ""


@pytest.mark.parametrize("wait", Wait)
def test_a_stopped_writer_of_facts_is_blamed_for_what_its_readers_do_not_see(wait: Wait) -> None:
    (reader,) = [row for row in SERVICES if wait in row.awaited]
    for topic in reader.reads:
        (writer,) = writers(topic)
        cause = blamed(WAITING[wait], writer.name)
        assert f"{writer.name} is stopped, by which {reader.name} sees what changes" in cause


def test_every_service_is_blamed_for_something() -> None:
    blamable = {row.name for row in SERVICES if row.awaited}
    blamable |= {each.name for row in SERVICES for topic in row.reads for each in writers(topic)}
    assert blamable == {row.name for row in SERVICES}


def test_a_stopped_gateway_is_blamed_for_a_hand_over_that_nobody_reports() -> None:
    job = UNCONNECTED[0].with_status(phase="Resizing", handOver=RESIZING)
    (gateway,) = [row.name for row in SERVICES if Wait.REPORT in row.awaited]
    scene = Scene((job, a_pe().launched(1), a_running_pod()))
    assert "report that they sealed their state" in blamed(scene, gateway)
    assert answer_of(scene.gathered()).trouble == Trouble.HANDING_OVER.name


def test_a_new_launch_that_has_not_reported_waits_for_the_gateway() -> None:
    """A runtime that never reports, such as that of the original, waits for nobody."""
    (gateway,) = [row.name for row in SERVICES if Wait.REPORT in row.awaited]
    silent = a_pe().launched(2)
    for runtime, is_blamed in (({"launch": 1}, True), ({"launch": 2}, False), (None, False)):
        pe = silent.with_status(runtime=runtime)
        scene = Scene((UNCONNECTED[0], pe, a_running_pod()))
        assert bool(blamed(scene, gateway)) is is_blamed, runtime
