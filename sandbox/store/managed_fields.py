"""`metadata.managedFields`, as far as a client sends it: kube-apiserver keeps it, however deep.

There is no server-side apply here, so who owns what is not followed: nothing is entered by itself,
and an entry keeps the fields that its sender gave it. What is kept of what is sent is as there: all
of it or, where an entry cannot be read or nothing is sent, what was there before. A list with one
empty entry empties it; what is sent beside a status does not count.
https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox.store.folding import folded, is_deep, unfolded
from sandbox.store.resources import ResourceType

FIELD = "managedFields"
_OPERATIONS = frozenset({"Apply", "Update"})
ENTRY_FIELDS = (
    "manager",
    "operation",
    "apiVersion",
    "time",
    "fieldsType",
    "fieldsV1",
    "subresource",
)
_IDENTITY = ("manager", "operation", "apiVersion", "subresource")
_ENTRY_LEVELS = 4  # that an object puts around the fields of an entry


class _Refused(Exception):
    """An entry that kube-apiserver cannot read."""


def settle(
    rt: ResourceType,
    meta: dict[str, Any],
    old: Mapping[str, Any] | None,
    *,
    subresource: str = "",
) -> None:
    """Let the metadata of a write have the entries that are stored."""
    sent = meta.pop(FIELD, None)
    before = (old or {}).get(FIELD)
    kept = before if subresource else _kept(rt, sent, before)
    if kept:
        meta[FIELD] = kept


def _kept(rt: ResourceType, sent: Any, before: Any) -> Any:
    if not isinstance(sent, list) or sent == before:
        return before
    if not any(sent):
        resets = len(sent) == 1 or not (sent or rt.custom)
        return None if resets else before
    try:
        entries = [_entry(each) for each in sent]
    except _Refused:
        return before
    if not entries:
        return before
    owners = {tuple(entry.get(name) for name in _IDENTITY): entry for entry in entries}
    owning = [
        entry
        for entry in owners.values()
        if entry["fieldsV1"] and entry["apiVersion"] == rt.api_version
    ]
    return sorted(owning, key=_place)


def _place(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(entry.get(name) or "" for name in ("operation", "time", "manager"))


def _entry(sent: Any) -> dict[str, Any]:
    if (
        not isinstance(sent, dict)
        or sent.get("operation") not in _OPERATIONS
        or not sent.get("apiVersion")
        or sent.get("fieldsType") != "FieldsV1"
    ):
        raise _Refused
    fields = _fields(sent.get("fieldsV1"))
    return {name: sent[name] for name in ENTRY_FIELDS if sent.get(name)} | {"fieldsV1": fields}


def _fields(sent: Any) -> Any:
    """A set of paths, in which steps of an unknown kind are left out."""
    whole = unfolded(sent) if sent is not None else {}
    waiting = [whole]
    for fields in waiting:
        if not isinstance(fields, dict):
            raise _Refused
        for name in list(fields):
            if name == ".":
                fields[name] = {}
            elif not _is_step(name):
                del fields[name]
            else:
                waiting.append(fields[name])
    wrapped = whole
    for _ in range(_ENTRY_LEVELS):
        wrapped = [wrapped]
    if not is_deep(wrapped):
        return whole
    shown = folded(wrapped)
    for _ in range(_ENTRY_LEVELS):
        shown = shown[0]
    return shown


def _is_step(name: str) -> bool:
    """Whether it is one step of a path; raises for one that is written wrongly."""
    kind, colon, rest = name.partition(":")
    if len(kind) != 1 or not colon:
        raise _Refused
    if kind == "f":
        return True
    if kind not in {"i", "k", "v"}:
        return False
    try:
        value = json.loads(rest)
    except (ValueError, RecursionError) as problem:
        raise _Refused from problem
    if (kind == "k" and not isinstance(value, dict)) or (kind == "i" and type(value) is not int):
        raise _Refused
    return True
