"""What a launch lost is reported, also when its PE has a newer launch by then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from contracts.losses import LaunchLoss, Losses
from millrace.protocol import Look
from services.chassis.table.entries import Entry
from services.pe_gateway.adapters.carry_out import CarryOut
from services.pe_gateway.adapters.runtime_answers import RuntimeAnswers
from services.pe_gateway.core import answers
from services.pe_gateway.core.answers import Answer, Refused
from services.pe_gateway.core.deciding import decide
from services.pe_gateway.core.effects import AnnounceLoss, Effect
from services.pe_gateway.core.runtime_requests import ReadRuntime, ReportRuntime
from services.pe_gateway.core.snapshot import LossesKey, Pe, PeKey, PeSnapshot, Report
from services.pe_gateway.core.trusting import Departed, Sender

JOB_UID = "job"
PE = Pe("ns", "shop-3", "uid", 3, "shop", launch=2, job_uid=JOB_UID)
LOST = (("lostTuples", 17),)
SAYS = "At most 17 tuples are lost so far, as launch 1 reports; the last ones: StoppedLate."


@dataclass
class Around:
    """A table with one PE, the time, what is written, and what is reported of the job."""

    written: list[Effect | None] = field(default_factory=list)
    counted: list[LaunchLoss] = field(default_factory=list)

    def pe(self, *_: object) -> Pe:
        """The PE."""
        return PE

    def losses(self, _namespace: str, _job: str, uid: str) -> Losses | None:
        """The losses of its Job, which has lost none."""
        return Losses() if uid == JOB_UID else None

    def now(self) -> float:
        """The time."""
        return 1_800_000_000.0

    def enter_loss(self, _key: LossesKey, _uid: str, loss: LaunchLoss, _now: float) -> None:
        """Remember what is to be counted."""
        self.counted.append(loss)

    async def loss_recorded(self, _key: LossesKey, launch: tuple[str, int]) -> None:
        """It is recorded at once."""
        assert launch in [each.key for each in self.counted]

    async def write(self, _namespace: str, decide: Callable[[], Effect | None]) -> Answer:
        """Remember an effect."""
        self.written.append(decide())
        return answers.done()


async def reported(sender: Sender, request: ReportRuntime) -> list[Effect | None]:
    """What the report of an older launch writes at once."""
    return (await answered(lambda to: to.report(sender, request))).written


async def answered(ask: Callable[[RuntimeAnswers], Awaitable[Answer]]) -> Around:
    """What a request leads to."""
    around: Any = Around()
    unused = cast(Any, None)
    await ask(RuntimeAnswers(around, around, around, unused, unused, around.write))
    return cast(Around, around)


async def test_a_launch_that_ends_reports_what_it_lost_though_the_next_one_is_intended() -> None:
    request = ReportRuntime("shop", 3, 1, LOST, "StoppedLate")
    expected = [AnnounceLoss("shop-3", "uid", 1, 17, SAYS)]
    assert await reported(Sender("ns", PE, 1), request) == expected


@pytest.mark.parametrize(
    ("sender", "request_"),
    [
        (Sender("ns", PE, 1), ReportRuntime("shop", 3, 1, (("sealed", 5),))),
        (Sender("ns", PE, 2), ReportRuntime("shop", 3, 1, LOST)),
        (Sender("ns"), ReportRuntime("shop", 3, 1, LOST)),
    ],
)
async def test_nothing_else_of_a_launch_with_a_successor_counts(
    sender: Sender, request_: ReportRuntime
) -> None:
    """No seal; nor what another launch, or an anonymous sender, reports of it."""
    with pytest.raises(Refused) as refused:
        await reported(sender, request_)
    assert refused.value.status == 409


async def of_departed(request: object, *, has_job: bool = True) -> list[Effect | None]:
    """What a report of a launch whose PE is deleted writes."""
    sender = Departed("ns", "shop-3", "uid", 1, has_job, JOB_UID)
    return (await answered(lambda to: to.of_departed(sender, request))).written


async def test_a_launch_whose_pe_is_deleted_reports_what_it_lost() -> None:
    request = ReportRuntime("shop", 3, 1, LOST, "StoppedLate")
    assert await of_departed(request) == [AnnounceLoss("shop-3", "uid", 1, 17, SAYS)]


@pytest.mark.parametrize(
    ("request_", "has_job", "status"),
    [
        (ReadRuntime("shop", 3, Look()), True, 409),
        (ReportRuntime("shop", 3, 1, (("sealed", 5),)), True, 409),
        (ReportRuntime("shop", 3, 2, LOST), True, 409),
        (ReportRuntime("shop", 4, 1, LOST), True, 409),
        (ReportRuntime("shop", 3, 1, LOST), False, 410),
        (ReadRuntime("shop", 3, Look()), False, 410),
    ],
)
async def test_everything_else_tells_it_that_its_pe_or_its_job_is_deleted(
    request_: object, has_job: bool, status: int
) -> None:
    with pytest.raises(Refused) as refused:
        await of_departed(request_, has_job=has_job)
    assert refused.value.status == status


@pytest.mark.parametrize(
    "ask",
    [
        lambda to: to.report(Sender("ns", PE, 1), ReportRuntime("shop", 3, 1, LOST, "x" * 999)),
        lambda to: to.of_departed(
            Departed("ns", "shop-3", "uid", 1, True, JOB_UID),
            ReportRuntime("shop", 3, 1, LOST, "x" * 999),
        ),
    ],
    ids=["former", "departed"],
)
async def test_what_a_launch_loses_that_is_over_counts_for_its_job(ask: Any) -> None:
    """A cause is short there: a thousand launches have one each."""
    (loss,) = (await answered(ask)).counted
    assert (loss.pe, loss.key, loss.tuples) == (3, ("uid", 1), 17)
    assert len(loss.reason) <= 64


async def test_what_a_pe_of_another_job_of_the_same_name_lost_does_not_count() -> None:
    former = replace(PE, job_uid="former")
    request = ReportRuntime("shop", 3, 1, LOST, "StoppedLate")
    around = await answered(lambda to: to.report(Sender("ns", former, 1), request))
    assert len(around.written) == 1
    around = await answered(
        lambda to: to.of_departed(Departed("ns", "shop-3", "uid", 1, True, "former"), request)
    )
    assert (len(around.written), around.counted) == (1, [])


def test_a_loss_enters_the_status_at_once() -> None:
    """The next launch may be intended before reports settle; the status is then that of it."""
    report = Report("uid", None, 2, "", 100.0, LOST, "PeerGone")
    decision = decide(PeSnapshot(PeKey("ns", "shop-3"), PE, report), 100.1, settle_s=2.0)
    assert decision.rules["report"] == "REPORTED"


class Table:
    """It has the PE."""

    def get(self, *_: object) -> Entry:
        """The PE's entry."""
        return Entry("ProcessingElement", "ns", "shop-3", "uid", 5, {"status": {}})


class Writer:
    """Remembers the numbers by which Events differ."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    async def emit_event(self, _entry: Entry, *, generation: int, **_: object) -> None:
        """Remember the number."""
        self.numbers.append(generation)


async def test_two_launches_that_lose_as_many_tuples_have_an_event_each() -> None:
    writer = Writer()
    carry_out = CarryOut(cast(Any, Table()), cast(Any, writer), cast(Any, None))
    for launch in (1, 2):
        await carry_out.run("ns", AnnounceLoss("shop-3", "uid", launch, 17, SAYS))
    assert len(set(writer.numbers)) == 2
