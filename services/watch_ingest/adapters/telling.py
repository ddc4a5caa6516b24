"""The log lines of what is seen: specs that somebody changed, and resyncs."""

from __future__ import annotations

from typing import Final

from services.chassis.process.log_lines import log_of
from services.chassis.process.spans import AddSpan, root_span
from services.watch_ingest.core.publishing import Publication

HOURLY: Final = "hourly"
"""Why a resync begins in which nothing happens on a healthy system."""
_log = log_of("watch-ingest")


def tell_of_root(saying: Publication, now: float, add_span: AddSpan | None) -> None:
    """A spec was changed: everything with the trace of this fact follows from it."""
    fact = saying.fact
    fields: dict[str, str | int] = {
        "namespace": fact.namespace,
        "job": fact.job,
        "object": f"{fact.kind}/{fact.name}",
        "generation": saying.begins,
    }
    _log.info("spec_changed", **fields, trace=saying.trace_id)
    if add_span is not None:
        add_span(root_span(f"change of {fact.kind}", saying.trace_id, now, now, fields))


def tell_of_resync(event: str, why: str, incarnation: int, number: int) -> None:
    """A resync began or is complete; of that of every hour the line is of level debug."""
    tell = _log.debug if why == HOURLY else _log.info
    tell(event, why=why, incarnation=incarnation, number=number)
