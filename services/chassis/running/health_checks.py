"""The health check of a container, which has no shell: `python -m …running.health_checks`.

Asks a service in the same container at `MILLRACE_METRICS_PORT`, compares with what the check before
saw, and ends with 0 (it makes progress) or 1 and a sentence. A container engine that calls it every
few seconds starts a process each time: nothing but parts of the standard library is imported. The
server of what is read here is `probes.py`. A kubelet asks `/healthz` and `/readyz` itself.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

HOST = "127.0.0.1"
PORT_SETTING = "MILLRACE_METRICS_PORT"
ANSWER_S_MAX = 3.0
ANSWER_BYTES_MAX = 16 * 2**20
SEEN_FILE = "/tmp/millrace-health.json"  # noqa: S108 - a container's own, which nobody else enters
OK = 200
NOT_FOUND = 404

_WAITING = "millrace_keys_waiting"
_REQUESTS = "millrace_api_requests_total"
_UNANSWERED = 'code="none"'
_WORK = (
    "millrace_effects_total",
    "millrace_records_read_total",
    "millrace_stage_seconds_count",
    "watch_ingest_records_total",
)


class Sample(NamedTuple):
    """What one check saw: counters since the start of the service, and keys that wait now."""

    waiting: float = 0
    work: float = 0
    answered: float = 0
    unanswered: float = 0

    def is_before(self, later: Sample) -> bool:
        """Whether the other one is of the same process, whose counters never fall."""
        return (
            self.work <= later.work
            and self.answered <= later.answered
            and self.unanswered <= later.unanswered
        )


def problem_of(ready: tuple[int, str], now: Sample, before: Sample | None) -> str:
    """What keeps a service from progress; empty if nothing does. The first rule that holds counts.

    `ready` is the answer of `/readyz`; `before` is None at the first check of a process.
    """
    status, text = ready
    if status != OK:
        return f"it is not ready ({status}): {text}"
    if before is None or not before.is_before(now):
        return ""
    if now.unanswered > before.unanswered and now.answered == before.answered:
        return "the API server has not answered since the check before"
    if now.waiting and before.waiting and now.work == before.work:
        return f"{now.waiting:.0f} keys wait, and nothing was done since the check before"
    return ""


def sample_of(metrics: str) -> Sample:
    """The sample in the text of `/metrics`."""
    found = list(_values(metrics.splitlines()))
    requests = [(labels, value) for name, labels, value in found if name == _REQUESTS]
    return Sample(
        waiting=sum(value for name, _, value in found if name == _WAITING),
        work=sum(value for name, _, value in found if name in _WORK),
        answered=sum(value for labels, value in requests if _UNANSWERED not in labels),
        unanswered=sum(value for labels, value in requests if _UNANSWERED in labels),
    )


def _values(lines: Iterable[str]) -> Iterable[tuple[str, str, float]]:
    for line in lines:
        series, _, value = line.rpartition(" ")
        name, _, labels = series.partition("{")
        if name in (_WAITING, _REQUESTS, *_WORK):
            yield name, labels, float(value)


# --------------------------------------------------------------------------- the world outside


def get(port: int, path: str) -> tuple[int, str]:
    """One GET over HTTP/1.0: status and body. Raises OSError, ValueError for another protocol."""
    with socket.create_connection((HOST, port), timeout=ANSWER_S_MAX) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
        answer = b""
        while part := connection.recv(2**16):
            answer += part
            if len(answer) > ANSWER_BYTES_MAX:
                raise ValueError(f"{path} has more than {ANSWER_BYTES_MAX} bytes")
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    return int(words[1]), body.decode(errors="replace").strip()


def last_seen(path: str) -> Sample | None:
    """What the check before saw; None if it left nothing that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return Sample(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


def note_seen(path: str, sample: Sample) -> None:
    """Leave what this check saw for the next one. Raises OSError."""
    with open(f"{path}.draft", "w", encoding="utf-8") as file:
        json.dump(sample._asdict(), file)
    os.replace(f"{path}.draft", path)


def main(arguments: list[str], environment: Mapping[str, str]) -> int:
    """Check once; returns the exit code. An argument is the port of an API server, not a service.

    That one has no metrics of ours, and answers `/readyz` only.
    """
    try:
        port = int(arguments[0] if arguments else environment[PORT_SETTING])
        ready = get(port, "/readyz")
        status, metrics = get(port, "/metrics") if not arguments else (NOT_FOUND, "")
        sample = sample_of(metrics) if status == OK else Sample()
        problem = problem_of(ready, sample, last_seen(SEEN_FILE))
        note_seen(SEEN_FILE, sample)
    except KeyError:
        problem = f"{PORT_SETTING} is not set: it has to be a port"
    except (OSError, ValueError) as trouble:
        problem = f"it does not answer: {trouble}"
    sys.stdout.write(f"{problem or 'ok'}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
