"""Log lines of services as people read them: time, level, service, job, and what happened.

A line is one JSON object (`services/chassis/process/log_lines.py`). What libraries and crashes
write is plain text, and belongs to the line before it. `service_logs.py` reads them.
"""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from contracts.moments import micro_moment_of, unix_s_of
from contracts.showing import json_text, one_line, printable

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_HEAD: Final = frozenset(
    {"timestamp", "level", "service", "part", "event", "namespace", "job", "pe", "trace"}
)
_OF_EFFECTS: Final = ("object", "effect", "outcome", "rule", "reason", "seconds")
_LEVEL_CHARS: Final = 7
_SERVICE_CHARS: Final = 17


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an instance: `time_s` is unix seconds; a text that is no JSON has no fields.

    `about` is the namespace and the name of a job; of a plain text, those of the line before.
    """

    time_s: float
    instance: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    about: tuple[str, str] = ("", "")

    def is_of(self, job: tuple[str, str] | None, since_s: float | None = None) -> bool:
        """Whether it is of that job (None: of any, or of none), and not older than that time."""
        if since_s is not None and self.time_s < since_s:
            return False
        return job is None or self.about == job

    @property
    def document(self) -> dict[str, Any]:
        """The line for a program: its fields, or its text."""
        if self.fields:
            return {"instance": self.instance, **self.fields}
        known = micro_moment_of(self.time_s) if self.time_s else None
        return {"instance": self.instance, "timestamp": known, "text": self.text}


def duration_s(text: str) -> float:
    """The seconds of a duration such as 90s, 10m, 2h or 1h30m; raises ValueError for another."""
    parts = _DURATION.findall(text)
    if not parts or "".join(f"{number}{unit}" for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no duration such as 90s, 10m, 2h or 1h30m")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def lines_of(instance: str, texts: Iterable[str]) -> Iterator[Line]:
    """The lines of one instance in their order."""
    before = None
    for text in texts:
        line = line_of(instance, text, before)
        if line is not None:
            before = line
            yield line


def line_of(instance: str, text: str, before: Line | None = None) -> Line | None:
    """One line; None for an empty one. A plain text has the time and the job of that before."""
    text = text.rstrip("\r\n")
    if not text.strip():
        return None
    try:
        fields = orjson.loads(text) if text.startswith("{") else None
        if isinstance(fields, dict):
            about = str(fields.get("namespace", "")), str(fields.get("job", ""))
            return Line(unix_s_of(str(fields["timestamp"])), instance, text, fields, about)
    except (ValueError, KeyError):
        pass  # cut off, or of another program: it is shown as it is
    if before is None:
        return Line(0.0, instance, text)
    return Line(before.time_s, instance, text, about=before.about)


def merged(
    logs: Iterable[Iterable[Line]],
    *,
    job: tuple[str, str] | None = None,
    since_s: float | None = None,
    tail: int | None = None,
) -> Iterable[Line]:
    """Lines of several logs by time, each log in its order; of all, the last `tail`."""
    ordered = heapq.merge(*logs, key=lambda line: line.time_s)
    chosen = (line for line in ordered if line.is_of(job, since_s))
    return chosen if tail is None else deque(chosen, maxlen=tail)


def readable(line: Line) -> str:
    """A line for a person."""
    fields = line.fields
    if not fields:
        return f"{line.instance}  {printable(line.text)}"
    time = str(fields["timestamp"])[:23].replace("T", " ")
    level = str(fields.get("level", ""))
    whom = "/".join(str(fields[key]) for key in ("namespace", "job") if fields.get(key))
    head = f"{time}  {level:{_LEVEL_CHARS}}  {line.instance:{_SERVICE_CHARS}}"
    return printable("  ".join(each for each in (head, whom, _words(fields)) if each))


def _words(fields: Mapping[str, Any]) -> str:
    event = str(fields.get("event", ""))
    if event in ("effect", "effect_failed", "effect_crashed"):
        return _effect_words(fields)
    if event == "spec_changed":
        return f"{fields.get('object')} was changed: generation {fields.get('generation')}"
    rest = {key: value for key, value in fields.items() if key not in _HEAD}
    return " ".join([event.replace("_", " "), *(_pair(key, value) for key, value in rest.items())])


def _effect_words(fields: Mapping[str, Any]) -> str:
    words = f"{fields.get('effect')} {fields.get('object')}: {fields.get('outcome')}"
    if "problem" in fields:
        words += f": {fields['problem']}"
    because = ", ".join(str(fields[key]) for key in ("rule", "reason") if fields.get(key))
    known = (*_HEAD, *_OF_EFFECTS, "problem", "meaning")
    rest = [_pair(key, value) for key, value in fields.items() if key not in known]
    took = f"{float(fields.get('seconds') or 0.0):.3f} s"
    return " ".join([words, f"({because})" if because else "", *rest, took]).replace("  ", " ")


def _pair(key: str, value: object) -> str:
    text = json_text(value) if isinstance(value, list | dict) else one_line(value)
    return f"{key}={text}"
