"""The logs of pods that are played: an annotation says what they log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.http.answers import Answer, WatchAnswer
from sandbox.http.requests import Call
from sandbox.store.errors import bad_request
from sandbox.store.steering import LOG
from sandbox.store.store import Store
from sandbox.store.watching import WatchEvent

FOLLOW_S_MAX = 86_400.0
_TEXT = {"content-type": "text/plain"}
_TRUE = frozenset({"true", "1"})
_ENDED = frozenset({"Succeeded", "Failed"})


def log_answer(call: Call, store: Store) -> Answer | WatchAnswer:
    """The log of a pod; with `follow` until the pod ends or is gone. Raises ApiError."""
    target = call.target
    pod = store.get(call.rt, target.namespace, target.name)
    if call.query.text("previous") in _TRUE:
        container = pod["spec"]["containers"][0]["name"]
        raise bad_request(
            f'previous terminated container "{container}" in pod "{target.name}" not found'
        )
    tail = call.query.text("tailLines")
    if call.query.text("follow") not in _TRUE:
        return Answer(200, _text(_last(_lines(pod), tail)), _TEXT)
    watch = store.watch(call.rt, target.namespace, fields=f"metadata.name={target.name}")
    seen: list[str] | None = None

    def line(event: WatchEvent) -> bytes:
        nonlocal seen
        before, seen = seen, _lines(event.object)
        if event.type == "DELETED" or event.object.get("status", {}).get("phase") in _ENDED:
            watch.close()
        if before is None:
            return _text(_last(seen, tail))
        return _text(seen[len(before) :] if seen[: len(before)] == before else seen)

    return WatchAnswer(watch, line, FOLLOW_S_MAX, bookmarks=False, headers=_TEXT)


def _lines(pod: Mapping[str, Any]) -> list[str]:
    return str((pod["metadata"].get("annotations") or {}).get(LOG, "")).splitlines()


def _last(lines: list[str], tail: str) -> list[str]:
    return lines[len(lines) - min(int(tail), len(lines)) :] if tail.isdecimal() else lines


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
