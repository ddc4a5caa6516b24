"""Every metric of the services: its type, its labels, and the HELP text that Prometheus shows.

A name that is not here cannot be counted, so no metric exists without a description. Labels are for
small sets (kinds, outcomes), never for names of objects. Durations are in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; `help` is one sentence."""

    type: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


METRICS: Final[Mapping[str, Metric]] = {
    "millrace_api_requests_total": Metric(
        "counter", "Requests to the API server, by their answer.", ("verb", "resource", "code")
    ),
    "millrace_api_request_seconds": Metric(
        "histogram", "Time of a request to the API server, from the first try on.", ("verb",)
    ),
    "millrace_crashes_total": Metric(
        "counter", "Exceptions that no code expected, by the part that raised them.", ("where",)
    ),
    "millrace_decisions_dropped_total": Metric(
        "counter", "Decision records that were not written to the log."
    ),
    "millrace_observations_dropped_total": Metric(
        "counter", "Observations that were not published whole, so that a replay has a gap."
    ),
    "millrace_effects_total": Metric(
        "counter", "Effects that were carried out, by their outcome.", ("effect", "outcome")
    ),
    "millrace_keys_waiting": Metric("gauge", "Dirty keys in the work queue."),
    "millrace_leading": Metric("gauge", "1 while this instance holds the Lease of its service."),
    "millrace_live": Metric("gauge", "1 when the restore is complete and decisions are made."),
    "millrace_records_malformed_total": Metric(
        "counter", "Records of the log that could not be decoded and were skipped."
    ),
    "millrace_records_read_total": Metric("counter", "Records that were read from the log."),
    "millrace_resyncs_completed_total": Metric(
        "counter", "Full resyncs after which every key was reconciled."
    ),
    "millrace_sleeps_total": Metric("counter", "How often the process was suspended and resumed."),
    "millrace_spans_dropped_total": Metric(
        "counter", "Spans that the collector did not take, or that found no room to wait for it."
    ),
    "millrace_spans_sent_total": Metric("counter", "Spans that the collector took."),
    "millrace_stage_seconds": Metric(
        "histogram",
        "Time between a write and the decisions that follow from it, by stage.",
        ("stage",),
    ),
    "millrace_table_entries": Metric("gauge", "Objects in the table."),
    "millrace_unreadable_inputs_total": Metric(
        "counter", "Decisions that were not made, because an object could not be read."
    ),
    "hostpool_manager_jobs_waiting": Metric("gauge", "Placements that wait for capacity."),
    "hostpool_manager_search_seconds": Metric("histogram", "Time of one search for a placement."),
    "hostpool_manager_searches_total": Metric(
        "counter", "Searches for a placement, by their answer.", ("answer",)
    ),
    "hostpool_manager_unreadable_objects": Metric(
        "gauge", "Unreadable objects that count as they were last read."
    ),
    "pe_gateway_requests_total": Metric(
        "counter",
        "Requests of PEs, by what they are about and the status code of the answer.",
        ("request", "code"),
    ),
    "watch_ingest_notices_dropped_total": Metric(
        "counter", "Notices about unreadable objects that were dropped, because too many waited."
    ),
    "watch_ingest_notices_refused_total": Metric(
        "counter", "Notices about unreadable objects that the API server refused."
    ),
    "watch_ingest_passed_over_total": Metric(
        "counter", "Objects without a name that can be read, by source.", ("source",)
    ),
    "watch_ingest_produce_retries_total": Metric(
        "counter", "Appends to the log that failed and were sent again."
    ),
    "watch_ingest_records_total": Metric("counter", "Records that were appended to the log."),
    "watch_ingest_resyncs_total": Metric("counter", "Resyncs, by their cause.", ("why",)),
    "watch_ingest_unreadable_objects_total": Metric(
        "counter", "Facts about objects that cannot be read, by kind.", ("kind",)
    ),
}
