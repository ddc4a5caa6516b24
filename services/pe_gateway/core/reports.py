"""Reports of PEs: how two that wait become one, and what one changes of a status.

A PE reports its connections, and its runtime what became of its state. Until both are in the
status they are one report, so that they cost one write.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from contracts.losses import LaunchLoss
from contracts.resources import Connectivity
from contracts.showing import agreeing, counted
from millrace.protocol import RESTS_AGAIN_S, RESTS_S
from services.pe_gateway.core.effects import AnnounceLoss
from services.pe_gateway.core.snapshot import Pe, Report, Values

LAUNCH: Final = "launch"
SEALED: Final = "sealed"
ENDED: Final = "ended"
LOST: Final = "lostTuples"
SKIPPED: Final = "skippedTuples"
READS_AGAIN: Final = "readsAgain"
RESTS_SECONDS: Final = "restsSeconds"
HEARS_S: Final = float(RESTS_S + RESTS_AGAIN_S)
"""An instance that has answered for so long has heard each PE that says something: one that had no
answer before tries again within 5 s, and what it says is in its status 2 s later."""
_NAME: Final = "name"
_RISING: Final = frozenset({SEALED, LOST, SKIPPED})
"""Numbers that never fall in the life of a launch."""


def joined(waiting: Report | None, new: Report) -> Report:
    """The report that counts instead of one that waits; that of another launch does not."""
    if waiting is None or (waiting.pe_uid, waiting.launch) != (new.pe_uid, new.launch):
        return new
    is_of_connections = new.connectivity is not None
    replaced = waiting.replaced
    if is_of_connections and waiting.connectivity is not None:
        replaced |= {waiting.connectivity.value}
    return replace(
        new,
        connectivity=new.connectivity if is_of_connections else waiting.connectivity,
        before=new.before if is_of_connections else waiting.before,
        at=min(waiting.at, new.at),
        runtime=_laid_over(dict(waiting.runtime), new.runtime, keeps_none=True),
        lost_why=new.lost_why or waiting.lost_why,
        replaced=replaced,
    )


def runtime_after(report: Report, pe: Pe) -> Values:
    """`status.runtime` with a report in it; that of another launch begins again."""
    if not report.runtime:
        return pe.runtime
    known = dict(pe.runtime)
    if known.get(LAUNCH) != report.launch:
        known = {LAUNCH: report.launch}
    return _laid_over(known, report.runtime, keeps_none=False)


def is_recorded(report: Report, pe: Pe) -> bool:
    """Whether the status has what was reported."""
    if runtime_after(report, pe) != pe.runtime:
        return False
    return report.connectivity is None or pe.connectivity == report.connectivity


def loss_after(report: Report, pe: Pe) -> tuple[int, str]:
    """How many tuples a launch lost so far, and a sentence on it; nothing without more than before.

    The status of another launch counts none of this one.
    """
    known, after = dict(pe.runtime), dict(runtime_after(report, pe))
    before = int(known.get(LOST) or 0) if known.get(LAUNCH) == report.launch else 0
    total = int(after.get(LOST) or 0)
    if total <= before:
        return 0, ""
    return total, _sentence(total, report.launch, report.lost_why)


def reads_again_after(report: Report, pe: Pe) -> str:
    """Which sources may give tuples again, if the status does not say so of the launch yet."""
    known, after = dict(pe.runtime), dict(runtime_after(report, pe))
    is_known = known.get(LAUNCH) == report.launch and known.get(READS_AGAIN)
    return "" if is_known else str(after.get(READS_AGAIN) or "")


def heard_values(values: Values, hears_s: float) -> Values:
    """The same without how long a PE has waited, where this instance has not answered for long.

    `hears_s`: for how long it has. What others reported may not have come to the instance before.
    """
    if hears_s >= HEARS_S:
        return values
    return tuple((name, None if name == RESTS_SECONDS else each) for name, each in values)


def counting_values(values: Values, pe: Pe, launch: int, *, reads_from_start: bool) -> Values:
    """The fields of the status that a report of a launch has.

    Sources that begin again give nothing again where no launch before has reported its start: one
    that never did, such as one whose application cannot be imported, gave no tuple.
    """
    known = dict(pe.runtime)
    has_run = 0 < int(known.get(LAUNCH) or 0) < launch and _NAME in known
    if not reads_from_start or has_run:
        return values
    return tuple(each for each in values if each[0] != READS_AGAIN)


def loss_of_former(name: str, loss: LaunchLoss) -> AnnounceLoss:
    """What a launch of a PE lost that the status of the PE has no place for any more.

    Its PE has a newer launch by then, or is deleted.
    """
    total, launch = loss.tuples, loss.launch
    return AnnounceLoss(name, loss.uid, launch, total, _sentence(total, launch, loss.reason))


def _sentence(total: int, launch: int, why: str) -> str:
    last = f"; the last ones: {why}" if why else ""
    lost = f"{counted(total, 'tuple')} {agreeing(total, 'are')} lost"
    return f"At most {lost} so far, as launch {launch} reports{last}."


def is_urgent(report: Report, pe: Pe) -> bool:
    """Whether the write may not wait: all connections are up, a state is saved, tuples are lost,
    all streams have ended, or a PE has waited for others for long.

    A launch that lost tuples may soon have a successor, whose status has no place for them.
    """
    if loss_after(report, pe)[0]:
        return True
    is_full = report.connectivity is Connectivity.FULL
    values = dict(report.runtime)
    return is_sealed(report, pe) or ENDED in values or is_full or bool(values.get(RESTS_SECONDS))


def is_sealed(report: Report, pe: Pe) -> bool:
    """Whether a report says of a state that it is saved, and the status does not."""
    after, now = dict(runtime_after(report, pe)), dict(pe.runtime)
    return after.get(SEALED) is not None and after.get(SEALED) != now.get(SEALED)


def _laid_over(known: dict[str, Any], values: Values, *, keeps_none: bool) -> Values:
    for name, value in values:
        if value is not None and name in _RISING:
            known[name] = max(value, known.get(name) or 0)
        else:
            known[name] = value
    return tuple(
        sorted((name, value) for name, value in known.items() if keeps_none or value is not None)
    )
