"""The logs of pods that are processes, as the kubelet answers for them.

Lives here: which log a request names, and which of its lines it wants. played_logs.py has the logs
of pods that are played.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from sandbox.containers.log_files import TIME_FORMAT, Line, LogFile, lines_of
from sandbox.http.answers import Answer, StreamAnswer
from sandbox.http.requests import Call
from sandbox.store.errors import bad_request
from sandbox.store.store import Store

PART_BYTES: Final = 256 * 1024
_TEXT = {"content-type": "text/plain"}
_TRUE = frozenset({"true", "1"})


class FindLog(Protocol):
    """The log of a container of the pod with this uid: of its newest run, or of the one before."""

    def __call__(self, uid: str, container: str, *, previous: bool = False) -> LogFile | None: ...


@dataclass(frozen=True)
class Wanted:
    """Which lines of a log, and how. `since` is a time as it stands in the log."""

    tail: int | None = None
    since: bytes = b""
    has_times: bool = False
    bytes_max: int | None = None

    def shown(self, lines: Sequence[Line]) -> bytes:
        """The lines that are wanted, with the ends of lines that are whole."""
        parts = []
        begins = True
        for line in lines:
            head = line.time + b" " if self.has_times and begins else b""
            parts.append(head + line.text + (b"\n" if line.is_whole else b""))
            begins = line.is_whole
        return b"".join(parts)


def kept_log_answer(
    call: Call, store: Store, logs: FindLog, now: Callable[[], float]
) -> Answer | StreamAnswer | None:
    """The log of a pod that is processes; None of one that is played. Raises ApiError."""
    target, query = call.target, call.query
    pod = store.get(call.rt, target.namespace, target.name)
    container = _container(pod, query.text("container"))
    is_previous = query.text("previous") in _TRUE
    log = logs(pod["metadata"]["uid"], container, previous=is_previous)
    if log is None:
        _refuse_waiting(pod, container, logs, is_previous=is_previous)
        return None
    wanted = _wanted(call, now)
    data, end = _whole(log)
    found = _last([line for line in lines_of(data) if line.time >= wanted.since], wanted.tail)
    body = wanted.shown(found)[: wanted.bytes_max]
    if query.text("follow") not in _TRUE:
        return Answer(200, body, _TEXT)
    return StreamAnswer(_followed(log, body, end, wanted), _TEXT)


def _container(pod: Mapping[str, Any], name: str) -> str:
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    inits = [each["name"] for each in spec.get("initContainers") or ()]
    mains = [each["name"] for each in spec["containers"]]
    if name and name not in [*inits, *mains]:
        raise bad_request(f"container {name} is not valid for pod {pod_name}")
    if not name and len(mains) > 1:
        also = f" or one of the init containers: [{' '.join(inits)}]" if inits else ""
        text = f"a container name must be specified for pod {pod_name}, choose one of: "
        raise bad_request(f"{text}[{' '.join(mains)}]{also}")
    return name or str(mains[0])


def _refuse_waiting(
    pod: Mapping[str, Any], container: str, logs: FindLog, *, is_previous: bool
) -> None:
    """Raises ApiError for a container that will have a log, or has no earlier one."""
    uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
    if is_previous and logs(uid, container) is not None:
        text = f'previous terminated container "{container}" in pod "{name}" not found'
        raise bad_request(text)
    status = pod.get("status") or {}
    shown = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    for each in shown:
        waiting = (each.get("state") or {}).get("waiting")
        if each["name"] == container and waiting:
            reason = waiting.get("reason", "")
            text = f'container "{container}" in pod "{name}" is waiting to start: {reason}'
            raise bad_request(text)


def _wanted(call: Call, now: Callable[[], float]) -> Wanted:
    query = call.query
    since = b""
    if seconds := query.text("sinceSeconds"):
        since = _stamp(now() - _number("sinceSeconds", seconds))
    elif time := query.text("sinceTime"):
        try:
            since = _stamp(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp())
        except ValueError:
            raise bad_request(f"sinceTime: {time} is not a time") from None
    tail, limit = query.text("tailLines"), query.text("limitBytes")
    return Wanted(
        _number("tailLines", tail) if tail else None,
        since,
        query.text("timestamps") in _TRUE,
        _number("limitBytes", limit) if limit else None,
    )


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise bad_request(f"{name}: {text} is not a number that is not negative")
    return int(text)


def _stamp(unix_s: float) -> bytes:
    return datetime.fromtimestamp(unix_s, UTC).strftime(TIME_FORMAT).encode()


def _whole(log: LogFile) -> tuple[bytes, int]:
    """Everything that is kept of a log, and the offset after it."""
    parts: list[bytes] = []
    offset = log.begin
    while True:
        data, offset = log.read(offset, PART_BYTES)
        if not data:
            return b"".join(parts), offset
        parts.append(data)


def _last(lines: list[Line], tail: int | None) -> list[Line]:
    if tail is None:
        return lines
    count = 0
    for index in range(len(lines) - 1, -1, -1):
        count += lines[index].is_whole
        if count > tail:
            return lines[index + 1 :]
    return lines if tail else []


async def _followed(
    log: LogFile, first: bytes, offset: int, wanted: Wanted
) -> AsyncIterator[bytes]:
    """What was there, and what is added until the container ends."""
    yield first
    rest = b""
    while True:
        await log.changed(offset)
        data, offset = log.read(offset, PART_BYTES)
        if not data:
            return
        *whole, rest = (rest + data).split(b"\n")
        yield wanted.shown(lines_of(b"\n".join(whole)))
