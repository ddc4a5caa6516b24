"""The rules of lost tuples: when what PEs reported as lost enters the status of their Job.

The first rule that holds decides (services/chassis/running/rules.py). What PEs of a job lose at
once is one write: reports wait `LOSSES_SETTLE_S` for others, also those that come during a write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final

from contracts.losses import Losses
from contracts.reasons import Reason
from services.chassis.running.rules import Rule, always
from services.pe_gateway.core.effects import DropLosses, SetLosses
from services.pe_gateway.core.losses import with_reported
from services.pe_gateway.core.snapshot import JobLosses, LossesSnapshot, ReportedLosses

LOSSES_SETTLE_S: Final = 0.5


class LossObservation(Enum):
    """What a Job and the losses of its PEs show; a rule has one each."""

    UNREPORTED = "no loss is reported"
    JOB_GONE = "the Job of the PEs is deleted, or is being deleted"
    RECORDED = "the status of the Job has what was reported"
    UNSETTLED = "the first report, or the last write, is younger than LOSSES_SETTLE_S"
    LOST = "the status of the Job does not have what was reported"


@dataclass(frozen=True)
class LossSituation:
    """A snapshot and the time (unix seconds)."""

    snapshot: LossesSnapshot
    now: float

    @property
    def reported(self) -> ReportedLosses:
        """What was reported. It exists where a rule asks for it."""
        assert self.snapshot.reported is not None, "observed: there is a report"
        return self.snapshot.reported

    @property
    def job(self) -> JobLosses:
        """The Job. It exists where a rule asks for it."""
        assert self.snapshot.job is not None, "observed: the Job is there"
        return self.snapshot.job

    @cached_property
    def losses(self) -> Losses:
        """What the status is to have."""
        job = self.job
        launches, living = self.reported.launches, self.snapshot.living
        return with_reported(job.losses, launches, living, job.retention_s, self.now)

    @property
    def settles_at(self) -> float:
        """When it counts (unix seconds)."""
        return self.reported.since + LOSSES_SETTLE_S


LossAction = Callable[[LossSituation], SetLosses | DropLosses | None]


def leave_job(_at: LossSituation) -> None:
    """Leave the status as it is."""


def drop_losses(at: LossSituation) -> DropLosses:
    """Forget what was reported."""
    return DropLosses(at.snapshot.key.name, at.reported.job_uid, at.reported.launches, at.now)


def set_losses(at: LossSituation) -> SetLosses:
    """Write what was reported into the status of the Job."""
    job, launches = at.job, at.reported.launches
    return SetLosses(at.snapshot.key.name, job.uid, job.losses, at.losses, launches, at.now)


def _is_gone(at: LossSituation) -> bool:
    job = at.snapshot.job
    return job is None or job.is_deleting or job.uid != at.reported.job_uid


def _is_unsettled(at: LossSituation) -> bool:
    """A clock that was set back makes nothing wait longer."""
    return 0.0 <= at.now - at.reported.since < LOSSES_SETTLE_S


_O = LossObservation
LOSS_RULES: Final[tuple[Rule[LossSituation, LossAction], ...]] = (
    Rule(
        _O.UNREPORTED,
        lambda at: at.snapshot.reported is None,
        leave_job,
        Reason.NOTHING_TO_CHANGE,
    ),
    Rule(_O.JOB_GONE, _is_gone, drop_losses, Reason.OWNER_DELETED),
    Rule(
        _O.RECORDED,
        lambda at: at.losses == at.job.losses,
        drop_losses,
        Reason.NOTHING_TO_CHANGE,
    ),
    Rule(_O.UNSETTLED, _is_unsettled, leave_job, Reason.WAITING),
    Rule(_O.LOST, always, set_losses, Reason.TUPLES_LOST),
)
