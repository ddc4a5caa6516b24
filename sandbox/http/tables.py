"""Objects as `Table`: what kubectl asks for to print columns it knows nothing about.

Lives here: the columns of a resource (built-in ones from columns.py, those of custom resources
from their CRD) and rendering of lists, single objects and watch events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from sandbox.http.columns import AGE, BUILTIN, NAME, Cell, Column
from sandbox.http.durations import age
from sandbox.http.json_paths import find_all
from sandbox.http.negotiation import META_API_VERSION, PARTIAL, as_partial
from sandbox.store import resources
from sandbox.store.errors import bad_request
from sandbox.store.folding import written
from sandbox.store.resources import ResourceType
from sandbox.store.watching import WatchEvent

INCLUDE_OBJECT = frozenset({"", "Metadata", "Object", "None"})


@lru_cache(maxsize=256)
def columns_of(rt: ResourceType) -> tuple[Column, ...]:
    """The columns of a resource. A CRD that names none gets the age."""
    if not rt.custom:
        return BUILTIN.get(rt.key, (NAME, AGE))
    if not rt.columns:
        return (NAME, AGE)
    return (NAME, *(_custom_column(column) for column in rt.columns))


def table(
    rt: ResourceType,
    objects: Iterable[Mapping[str, Any]],
    metadata: Mapping[str, Any],
    now: float,
    *,
    include: str = "",
    definitions: bool = True,
) -> dict[str, Any]:
    """A Table of objects; `include` says how much of each object comes along."""
    if include not in INCLUDE_OBJECT:
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    columns = columns_of(rt)
    return {
        "kind": "Table",
        "apiVersion": META_API_VERSION,
        "metadata": metadata,
        "columnDefinitions": [_definition(column) for column in columns] if definitions else None,
        "rows": [_row(columns, obj, now, include) for obj in objects],
    }


def table_of_one(rt: ResourceType, obj: Mapping[str, Any], now: float, include: str) -> Any:
    version = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
    return table(rt, [obj], version, now, include=include)


def in_version(shown: dict[str, Any], api_version: str) -> dict[str, Any]:
    """The same Table in the version of the API that was requested."""
    if api_version == META_API_VERSION:
        return shown
    for row in shown["rows"]:
        obj = row["object"]
        if obj is not None and obj.get("kind") == PARTIAL:
            row["object"] = {**obj, "apiVersion": api_version}
    return {**shown, "apiVersion": api_version}


def table_lines(
    rt: ResourceType, now: Callable[[], float], include: str, api_version: str
) -> Callable[[WatchEvent], bytes]:
    """Renders the events of one watch; only its first table says what the columns are.

    A bookmark is a row, too: of an object that has nothing but its version.
    """
    sent: list[WatchEvent] = []

    def line(event: WatchEvent) -> bytes:
        if event.type == "ERROR":
            return event.frame
        shown = {"resourceVersion": event.object["metadata"].get("resourceVersion", "")}
        body = table(rt, [event.object], shown, now(), include=include, definitions=not sent)
        if not sent:
            sent.append(event)
        body = in_version(body, api_version)
        return written({"type": event.type, "object": body}) + b"\n"

    return line


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(
    columns: tuple[Column, ...], obj: Mapping[str, Any], now: float, include: str
) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": [column.cell(obj, now) for column in columns]}
    row["object"] = None
    if include != "None":
        row["object"] = obj if include == "Object" else as_partial(obj)
    return row


def _custom_column(column: resources.Column) -> Column:
    return Column(
        column.name,
        _custom_cell(column.json_path, column.type),
        column.type,
        column.priority,
        column.format,
        column.description,
    )


def _custom_cell(path: str, kind: str) -> Cell:
    def cell(obj: Mapping[str, Any], now: float) -> Any:
        found = find_all(path, obj)
        if not found or found[0] is None:
            return None
        if kind == "string":
            return _as_text(found[0])
        return _typed(found[0], kind, now)

    return cell


def _typed(value: Any, kind: str, now: float) -> Any:
    """A cell of the type that the column declares; null where the value has another one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "date":
        return age(value, now) if isinstance(value, str) else None
    if kind == "integer":
        return int(value) if is_number else None
    if kind == "number":
        return float(value) if is_number else None
    return value if isinstance(value, bool) else None


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return written(value).decode()
