"""What a run ends with, in words that are the same in every run: no uids, versions or times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from contracts import labels
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.watching_all import PLURALS, stable_name

OF_THE_RUN = frozenset(
    {"resourceVersion", "creationTimestamp", "managedFields", "uid", "selfLink"}
    | {"clusterIP", "clusterIPs", "podIP", "podIPs", "hostIP", "hostIPs", "nodeName", "node"}
    | {"containerID", "generateName", "attempts", "healthReportedAt"}
)
"""Values of the cluster that differ in each run; uids outside of metadata are masked, too.

Pods that come up fast enough are not reported: `healthReportedAt` depends on the time that a run
takes.
"""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_POD = re.compile(r"[a-z0-9-]+-[0-9a-f]{10}\b")


def end_state(world: FaultedWorld) -> dict[str, Any]:
    """Every object that matters by its stable name; Events are only counted."""
    assert world.changes is not None
    names = world.changes.names
    return {
        stable_name(plural, item): _stable(_comparable(item), names)
        for plural in PLURALS
        if plural != "events"
        for item in world.store.list(world.kind(plural), None).items
    }


def _comparable(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object without data that may differ between two runs that both end as they should."""
    data = item.get("data") or {}
    if item["kind"] == "Secret":  # keys are different ones in each run; that they exist matters
        return {**item, "data": {name: "text" if text else "empty" for name, text in data.items()}}
    if item["metadata"]["name"] == labels.JOB_IDS_NAME:
        # An instance that starts forgets the ids that Jobs have in their statuses.
        return {**item, "data": {"next": data.get("next")}}
    return item


def _stable(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            _stable(key, names): _stable(each, names)
            for key, each in value.items()
            if key not in OF_THE_RUN
        }
    if isinstance(value, list):
        return [_stable(each, names) for each in value]
    if isinstance(value, str):
        text = _UID.sub(lambda found: f"<uid of {names.get(found[0], 'somebody')}>", value)
        text = _TIME.sub("<time>", text)
        return _POD.sub(lambda found: names.get(found[0], found[0]), text)
    return value


def differences(wanted: Any, found: Any, path: str = "") -> Iterator[str]:
    """Where two end states differ, one line each."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted.keys() | found.keys()):
            if key not in found:
                yield f"{path}/{key} is missing"
            elif key not in wanted:
                yield f"{path}/{key} should not be there"
            else:
                yield from differences(wanted[key], found[key], f"{path}/{key}")
    elif wanted != found:
        yield f"{path}: {_short(found)}, and undisturbed {_short(wanted)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
