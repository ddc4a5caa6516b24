"""The rules of a report: when what a PE reported of its connections enters its status.

The first rule that holds decides (services/chassis/running/rules.py).

Properties: a report of an older launch never counts, nor does one that is older than what the
status has. A PE that connects within `settle_s` costs one write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from contracts.reasons import Reason
from contracts.resources import Connectivity
from services.chassis.running.rules import Rule, always
from services.pe_gateway.core.effects import DropReport, SetConnectivity
from services.pe_gateway.core.snapshot import Pe, PeSnapshot, Report


class ReportObservation(Enum):
    """What a PE and its report show; a rule has one each."""

    UNREPORTED = "there is no report"
    PE_GONE = "the PE that reported is deleted, or is being deleted"
    LAUNCHED_AGAIN = "the report is of an older launch"
    AHEAD = "the report is of a launch that the status does not have yet"
    RECORDED = "the status has what was reported"
    OVERTAKEN = "the status has changed since the report: a newer one was recorded"
    UNSETTLED = "not every connection is up, and the report is younger than settle_s"
    REPORTED = "the status does not have what was reported"


@dataclass(frozen=True, slots=True)
class ReportSituation:
    """A snapshot and the time; a report of fewer connections settles at `settles_at`."""

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
        """When a report that is not Full counts (unix seconds)."""
        return self.report.at + self.settle_s if self.report is not None else 0.0


ReportAction = Callable[[ReportSituation], SetConnectivity | DropReport | None]


def leave_status(_at: ReportSituation) -> None:
    """Leave the status as it is."""


def drop_report(at: ReportSituation) -> DropReport:
    """Forget the report."""
    assert at.report is not None, "observed: there is a report"
    return DropReport(at.snapshot.key.name, at.report.pe_uid)


def set_connectivity(at: ReportSituation) -> SetConnectivity:
    """Write the connectivity into the status of the PE."""
    assert at.report is not None, "observed: there is a report"
    return SetConnectivity(at.snapshot.key.name, at.report.pe_uid, at.report.connectivity)


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
    return report is not None and pe is not None and pe.connectivity == report.connectivity


def _is_overtaken(at: ReportSituation) -> bool:
    report, pe = at.report, at.pe
    return report is not None and pe is not None and pe.connectivity != report.before


def _is_unsettled(at: ReportSituation) -> bool:
    report = at.report
    is_full = report is not None and report.connectivity is Connectivity.FULL
    return not is_full and at.now < at.settles_at


_O = ReportObservation
REPORT_RULES: Final[tuple[Rule[ReportSituation, ReportAction], ...]] = (
    Rule(_O.UNREPORTED, lambda at: at.report is None, leave_status, Reason.NOTHING_TO_CHANGE),
    Rule(_O.PE_GONE, _is_gone, drop_report, Reason.OWNER_DELETED),
    Rule(_O.LAUNCHED_AGAIN, _is_older, drop_report, Reason.NOTHING_TO_CHANGE),
    Rule(_O.AHEAD, _is_ahead, leave_status, Reason.WAITING),
    Rule(_O.RECORDED, _is_recorded, drop_report, Reason.NOTHING_TO_CHANGE),
    Rule(_O.OVERTAKEN, _is_overtaken, drop_report, Reason.NOTHING_TO_CHANGE),
    Rule(_O.UNSETTLED, _is_unsettled, leave_status, Reason.WAITING),
    Rule(_O.REPORTED, always, set_connectivity, Reason.CONNECTIVITY_REPORTED),
)
