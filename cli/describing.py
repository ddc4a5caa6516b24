"""What `get` shows beside its table, and the text of `describe`: conditions in words, Events, ages.

Pure: objects and the time in, lines and tables out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cli.connecting import PLACEMENTS, POOLS, REGIONS
from cli.inspecting import JobObjects, count_of, time_of
from cli.live import job_table, pe_table, problems_of
from cli.noting import lost_of, tuples_of
from cli.showing import Line, Renderable, Rows, cell, joined, stacked
from contracts.moments import unix_s_of
from contracts.reasons import Reason, reason_of
from contracts.resources import JOB
from contracts.unreadable import is_whole
from services.chassis.kube.port import Json
from services.roster import OWNERS

EVENTS_SHOWN_MAX = 20
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
_NOT_WORTH_A_LINE = frozenset({Reason.ACCEPTED, Reason.RESIZING, Reason.SUBMITTING})
_NOTED_IF_FALSE = ("Accepted", "Placed", "Readable")
_NOTED_IF_TRUE = ("Stalled",)


def age_of(moment: object, now_s: float) -> str:
    """The time since a moment of the API in its largest unit, as kubectl: 45s, 3m, 2h, 4d."""
    try:
        passed_s = max(0, int(now_s - unix_s_of(str(moment))))
    except ValueError:
        return "-"
    size, unit = next((each for each in _UNITS if passed_s >= 2 * each[0]), _UNITS[-1])
    return f"{passed_s // size}{unit}"


def notes_of(objects: JobObjects, now_s: float) -> list[str]:
    """What a table of the job does not show and its author has to know, one line each."""
    view = objects.view
    notes = [*tuples_of(view, now_s), *problems_of(view), *lost_of(objects, now_s)]
    for condition in _conditions(objects.job):
        type_, status, reason = (condition.get(key, "") for key in ("type", "status", "reason"))
        is_worth = (
            (type_ in _NOTED_IF_FALSE and status == "False")
            or (type_ in _NOTED_IF_TRUE and status == "True")
            or (type_ == "Accepted" and reason not in _NOT_WORTH_A_LINE)
            or reason == Reason.PE_DELETED
        )
        message = condition.get("message") or ""
        is_repeated = bool(message) and message in view.message
        if is_worth and reason not in _NOT_WORTH_A_LINE and not is_repeated:
            notes.append(f"{type_} is {status}: {reason}: {message}")
    return [*notes, *objects.warning_lines]


def list_of(jobs: Sequence[JobObjects], now_s: float, *, wide: bool, all_of: bool) -> Renderable:
    """The table of jobs, and below it their notes; `all_of`: with their namespaces."""
    notes = [
        cell(f"{each.view.name}: {note}", "red") for each in jobs for note in notes_of(each, now_s)
    ]
    extra: dict[str, list[str]] = {}
    if all_of:
        extra["NAMESPACE"] = [each.job["metadata"]["namespace"] for each in jobs]
    if wide:
        for type_ in ("Accepted", "Healthy"):
            extra[type_.upper()] = [_status(each.job, type_) for each in jobs]
        created = [each.job["metadata"].get("creationTimestamp") for each in jobs]
        extra["AGE"] = [age_of(each, now_s) for each in created]
    return stacked(job_table([each.view for each in jobs], extra), *notes)


def _status(job: Json, type_: str) -> str:
    found = (each for each in _conditions(job) if each.get("type") == type_)
    return next((str(each.get("status")) for each in found), "-")


def _conditions(obj: Json) -> list[dict[str, Any]]:
    # Without a status until fusion-backend has seen it.
    status = obj.get("status") if is_whole(obj) else None
    return [dict(each) for each in (status or {}).get("conditions") or ()]


def wide_pes(objects: JobObjects, now_s: float) -> Renderable:
    """The table of PEs with restarts and ages."""
    return pe_table(objects.view, lambda pe: (str(pe.restarts), age_of(pe.created, now_s)))


# --------------------------------------------------------------------------- describe


def described_job(objects: JobObjects, events: Sequence[Json], now_s: float) -> Renderable:
    """Everything that is worth knowing of a job."""
    job, view = objects.job, objects.view
    spec = job["spec"] if is_whole(job) else {}
    parts: list[Renderable] = [
        *_head(job, now_s),
        _line("Bundle", str((spec.get("bundle") or {}).get("name", "-"))),
        _line("Phase", view.phase or f"waits for {OWNERS[JOB.kind]}"),
        *_why(view.reason, view.message),
        _line("Generation", "-" if view.generation is None else str(view.generation)),
        *(_line("Note", note) for note in notes_of(objects, now_s) if view.message not in note),
        *_conditions_shown(job, now_s),
        *_table_of("Parallel regions", _regions(objects)),
        *_table_of("Host pools", _plain(objects.of(POOLS), "members")),
        *_table_of("Placement", _plain(objects.of(PLACEMENTS), "phase")),
    ]
    if view.pes:
        parts += [cell(""), cell("Processing elements", "bold"), wide_pes(objects, now_s)]
    return stacked(*parts, *_events_shown(events, now_s))


def described_pe(objects: JobObjects, pe: Json, events: Sequence[Json], now_s: float) -> Renderable:
    """Everything that is worth knowing of a PE."""
    status = pe.get("status") or {}
    view = objects.view.pes[pe["spec"]["id"]]
    return stacked(
        *_head(pe, now_s),
        _line("Job", view_name(objects)),
        _line("Phase", view.phase),
        *_why(status.get("reason") or "", status.get("message") or ""),
        _line("Operators", ", ".join(view.operators) or "-"),
        _line("Pod", view.pod_name or "-"),
        _line("Node", view.node or "-"),
        _line("Launches", str(view.launch)),
        _line("Restarts in a row", str(view.restarts)),
        *_conditions_shown(pe, now_s),
        *_events_shown(events, now_s),
    )


def view_name(objects: JobObjects) -> str:
    """The name of the job."""
    return str(objects.job["metadata"]["name"])


def _head(obj: Json, now_s: float) -> Iterator[Line]:
    meta = obj["metadata"]
    yield _line("Name", meta["name"])
    yield _line("Namespace", meta["namespace"])
    yield _line("Age", age_of(meta.get("creationTimestamp"), now_s))


def _line(name: str, value: str) -> Line:
    return joined(cell(f"{name}:".ljust(20), "bold"), value)


def _why(reason: str, message: str) -> Iterator[Line]:
    """The reason as a word and as the sentence that explains it, and the message."""
    if reason:
        known = reason_of(reason)
        yield _line("Reason", f"{reason}: {known.sentence}" if known else reason)
    if message:
        yield _line("Message", message)


def _conditions_shown(obj: Json, now_s: float) -> Iterator[Renderable]:
    table = _rows("TYPE", "STATUS", "SINCE", "REASON", "MEANING")
    found = _conditions(obj)
    for each in found:
        known = reason_of(each.get("reason"))
        words = [each.get("message") or "", known.sentence if known else ""]
        table.add_row(
            str(each.get("type")),
            str(each.get("status")),
            age_of(each.get("lastTransitionTime"), now_s),
            str(each.get("reason")),
            next(filter(None, words), ""),
        )
    yield from _table_of("Conditions", table if found else None)


def _regions(objects: JobObjects) -> Rows | None:
    table = _rows("REGION", "WANTED", "IN FORCE", "REASON", "MESSAGE")
    found = [each for each in objects.of(REGIONS) if is_whole(each)]
    for each in found:
        spec, status = each["spec"], each.get("status") or {}
        words = [str(status.get(key) or "") for key in ("reason", "message")]
        table.add_row(spec["alias"], str(spec["width"]), str(status.get("width", "-")), *words)
    return table if found else None


def _plain(items: Iterable[Json], field: str) -> Rows | None:
    """Objects of a kind with one field of their status, and why."""
    table = _rows("NAME", field.upper(), "REASON", "MESSAGE")
    found = [each for each in items if is_whole(each)]
    for each in found:
        status = each.get("status") or {}
        value = status.get(field) or "-"
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        words = [str(status.get(key) or "") for key in ("reason", "message")]
        table.add_row(each["metadata"]["name"], shown, *words)
    return table if found else None


def _table_of(title: str, table: Rows | None) -> Iterator[Renderable]:
    if table is not None:
        yield from (cell(""), cell(title, "bold"), table)


def _events_shown(events: Sequence[Json], now_s: float) -> Iterator[Renderable]:
    yield from (cell(""), cell("Events", "bold"))
    if not events:
        yield cell("none; the API server keeps them for an hour", "dim")
        return
    more = len(events) - EVENTS_SHOWN_MAX
    if more > 0:
        yield cell(f"{more} older ones: `millrace events` shows all", "dim")
    yield events_table(events[-EVENTS_SHOWN_MAX:], now_s)


def events_table(events: Iterable[Json], now_s: float) -> Rows:
    """A table with one row for each Event."""
    table = _rows("AGE", "TYPE", "REASON", "OBJECT", "MESSAGE")
    for each in events:
        table.add_row(age_of(time_of(each), now_s), *event_cells(each))
    return table


def event_cells(event: Json) -> tuple[str, str, str, str]:
    """Type, reason, object and message of an Event; how often, if more than once."""
    about = event.get("involvedObject") or {}
    times = f" (x{count_of(event)})" if count_of(event) > 1 else ""
    return (
        str(event.get("type") or ""),
        str(event.get("reason") or ""),
        f"{about.get('kind')}/{about.get('name')}",
        f"{event.get('message') or ''}{times}",
    )


def _rows(*headings: str) -> Rows:
    table = Rows(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
