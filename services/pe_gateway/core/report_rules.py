"""The rules of a report: when what a PE reported of itself enters its status.

The first rule that holds decides (services/chassis/running/rules.py).

Properties: a report of an older launch never counts, nor does a connectivity that is older than
what the status has. A PE that starts and connects within `settle_s` costs one write, which also
says that it runs (docs/adr/0070).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final

from contracts.reasons import Reason
from contracts.resources import Connectivity, PePhase
from services.chassis.running.rules import Rule, always
from services.launching.core.owners import LaunchStatus
from services.launching.core.running import status_of_running
from services.pe_gateway.core.effects import DropReport, SetReported
from services.pe_gateway.core.reports import (
    is_recorded,
    is_sealed,
    is_urgent,
    loss_after,
    reads_again_after,
    runtime_after,
)
from services.pe_gateway.core.snapshot import Pe, PeSnapshot, Report, Values

_STARTS: Final = (PePhase.WAITING, PePhase.STARTING)


class ReportObservation(Enum):
    """What a PE and its report show; a rule has one each."""

    UNREPORTED = "there is no report"
    PE_GONE = "the PE that reported is deleted, or is being deleted"
    LAUNCHED_AGAIN = "the report is of an older launch"
    AHEAD = "the report is of a launch that the status does not have yet"
    RECORDED = "the status has what was reported"
    OVERTAKEN = "the connectivity has changed since the report, and nothing else was reported"
    UNSETTLED = "nobody waits for what was reported, and the report is younger than settle_s"
    NOT_RUNNING = "its pod does not run yet, and the report is younger than settle_s"
    REPORTED = "the status does not have what was reported"


@dataclass(frozen=True)
class ReportSituation:
    """A snapshot and the time; a report for which nobody waits settles at `settles_at`."""

    snapshot: PeSnapshot
    now: float
    settle_s: float

    @property
    def pe(self) -> Pe | None:
        """The PE."""
        return self.snapshot.pe

    @property
    def report(self) -> Report | None:
        """What it reported."""
        return self.snapshot.report

    @property
    def settles_at(self) -> float:
        """When a report for which nobody waits counts (unix seconds)."""
        return self.report.at + self.settle_s if self.report is not None else 0.0

    @property
    def runtime(self) -> Values:
        """What the status is to have of the runtime; nothing where it has it."""
        if self.report is None or self.pe is None:
            return ()
        after = runtime_after(self.report, self.pe)
        return after if after != self.pe.runtime else ()

    @property
    def connectivity(self) -> Connectivity | None:
        """What the status is to have of connections; None where it has it, or a newer one."""
        report, pe = self.report, self.pe
        if report is None or pe is None or report.connectivity in (None, pe.connectivity):
            return None
        return report.connectivity if report.is_newer_than(pe.connectivity) else None

    @cached_property
    def running(self) -> LaunchStatus | None:
        """The status that says that the PE runs; None where it says so, or the PE does not run."""
        owner, report = self.snapshot.owner, self.report
        if owner is None or report is None:
            return None
        status = status_of_running(owner, self.snapshot.pods, self.now)
        is_of_launch = status is not None and report.launch in (0, status.launch_count)
        return status if is_of_launch else None


ReportAction = Callable[[ReportSituation], SetReported | DropReport | None]


def leave_status(_at: ReportSituation) -> None:
    """Leave the status as it is."""


def drop_report(at: ReportSituation) -> DropReport:
    """Forget the report."""
    assert at.report is not None, "observed: there is a report"
    return DropReport(at.snapshot.key.name, at.report.pe_uid)


def set_reported(at: ReportSituation) -> SetReported:
    """Write what was reported into the status of the PE."""
    report, pe = at.report, at.pe
    assert report is not None, "observed: there is a report"
    assert pe is not None, "observed: the PE is there"
    lost, loss = loss_after(report, pe)
    name = at.snapshot.key.name
    version = at.snapshot.owner.resource_version if at.snapshot.owner and at.running else 0
    return SetReported(
        name,
        report.pe_uid,
        at.connectivity,
        at.runtime,
        loss,
        lost,
        at.running,
        version,
        again=reads_again_after(report, pe),
    )


def _is_gone(at: ReportSituation) -> bool:
    report, pe = at.report, at.pe
    return report is not None and (pe is None or pe.is_deleting or pe.uid != report.pe_uid)


def _is_older(at: ReportSituation) -> bool:
    report, pe = at.report, at.pe
    return report is not None and pe is not None and 0 < report.launch < pe.launch


def _is_ahead(at: ReportSituation) -> bool:
    """The status of an older launch: what it has of connections was not reported by this one."""
    report, pe = at.report, at.pe
    return report is not None and pe is not None and 0 < pe.launch < report.launch


def _is_recorded(at: ReportSituation) -> bool:
    report, pe = at.report, at.pe
    return report is not None and pe is not None and is_recorded(report, pe)


def _is_overtaken(at: ReportSituation) -> bool:
    report, pe = at.report, at.pe
    if report is None or pe is None or at.runtime:
        return False
    return not report.is_newer_than(pe.connectivity)


def _is_unsettled(at: ReportSituation) -> bool:
    report, pe = at.report, at.pe
    is_awaited = report is not None and pe is not None and is_urgent(report, pe)
    return not is_awaited and at.now < at.settles_at


def _does_not_run(at: ReportSituation) -> bool:
    """The status that says that it runs is written soon, and the report with it."""
    owner, report, pe = at.snapshot.owner, at.report, at.pe
    if owner is None or report is None or pe is None or is_sealed(report, pe):
        return False
    has_pod = any(
        each.phase != "Pending" and report.launch in (0, each.launch) for each in at.snapshot.pods
    )
    return owner.status.phase in _STARTS and not has_pod and at.now < at.settles_at


def _reason(at: ReportSituation) -> Reason:
    return Reason.RUNTIME_REPORTED if at.connectivity is None else Reason.CONNECTIVITY_REPORTED


_O = ReportObservation
REPORT_RULES: Final[tuple[Rule[ReportSituation, ReportAction], ...]] = (
    Rule(_O.UNREPORTED, lambda at: at.report is None, leave_status, Reason.NOTHING_TO_CHANGE),
    Rule(_O.PE_GONE, _is_gone, drop_report, Reason.OWNER_DELETED),
    Rule(_O.LAUNCHED_AGAIN, _is_older, drop_report, Reason.NOTHING_TO_CHANGE),
    Rule(_O.AHEAD, _is_ahead, leave_status, Reason.WAITING),
    Rule(_O.RECORDED, _is_recorded, drop_report, Reason.NOTHING_TO_CHANGE),
    Rule(_O.OVERTAKEN, _is_overtaken, drop_report, Reason.NOTHING_TO_CHANGE),
    Rule(_O.UNSETTLED, _is_unsettled, leave_status, Reason.WAITING),
    Rule(_O.NOT_RUNNING, _does_not_run, leave_status, Reason.WAITING),
    Rule(_O.REPORTED, always, set_reported, _reason),
)
