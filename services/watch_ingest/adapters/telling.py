"""The log lines of what is seen: specs that somebody changed, and resyncs."""

from __future__ import annotations

from typing import Final

from services.chassis.process.log_lines import log_of
from services.watch_ingest.core.publishing import Publication

HOURLY: Final = "hourly"
"""Why a resync begins in which nothing happens on a healthy system."""
_log = log_of("watch-ingest")


def tell_of_root(saying: Publication) -> None:
    """A spec was changed: everything with the trace of this fact follows from it."""
    fact = saying.fact
    _log.info(
        "spec_changed",
        namespace=fact.namespace,
        job=fact.job,
        object=f"{fact.kind}/{fact.name}",
        generation=saying.begins,
        trace=saying.trace_id,
    )


def tell_of_resync(event: str, why: str, incarnation: int, number: int) -> None:
    """A resync began or is complete; of that of every hour the line is of level debug."""
    tell = _log.debug if why == HOURLY else _log.info
    tell(event, why=why, incarnation=incarnation, number=number)
