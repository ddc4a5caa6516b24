"""The requests of millrace's own runtime: what a PE waits for, what it reports, and its bundle.

Their paths begin with `/api/runtime`; those of the original are in `requests.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qs

import orjson

from contracts.resources import Connectivity
from contracts.resources.fields import COUNT_MAX
from contracts.resources.runtime_status import AWAITED_MAX, SOURCES_MAX
from contracts.showing import shown
from services.pe_gateway.core.answers import bad_request
from services.pe_gateway.core.snapshot import Values

WAIT_S_MAX: Final = 30.0
PEERS_MAX: Final = 2_000
TUPLES_MAX: Final = COUNT_MAX
"""What a status can have: the API server would refuse one more, again and again."""
NUMBER_MAX: Final = 2**31 - 1
WORD_CHARS_MAX: Final = 64
SENTENCE_CHARS_MAX: Final = 1024
NAME_CHARS_MAX: Final = 256
_QUERY_FIELDS_MAX: Final = 10
_WORD: Final = re.compile(f"[A-Za-z][A-Za-z0-9]{{0,{WORD_CHARS_MAX - 1}}}")


@dataclass(frozen=True, slots=True)
class ReadRuntime:
    """What a PE needs of its job; it waits up to `wait_s` while the version is `seen`.

    `former`: PEs that it has found states of; which of them does the job not have any more?
    """

    job: str
    pe: int
    peers: tuple[int, ...] = ()
    seen: str = ""
    wait_s: float = 0.0
    former: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportRuntime:
    """What the runtime of a launch reports: its connections, or fields of `status.runtime`.

    `why` is why the last of the tuples was lost, where it reports lost ones. `reads_from_start`:
    its sources may give again all that earlier launches gave, if there were any.
    """

    job: str
    pe: int
    launch: int
    values: Values = ()
    why: str = ""
    reads_from_start: bool = False
    connectivity: Connectivity | None = None


@dataclass(frozen=True, slots=True)
class ReadBundle:
    """The bundle of a job."""

    job: str


def read_runtime(job: str, pe: int, query: str) -> ReadRuntime:
    """A request by its query string. Raises Refused: 400."""
    try:
        found = parse_qs(query, strict_parsing=bool(query), max_num_fields=_QUERY_FIELDS_MAX)
    except ValueError:
        raise bad_request("the query string cannot be read") from None
    words = {name: values[-1] for name, values in found.items()}
    return ReadRuntime(
        job,
        pe,
        _peers(words.get("peers", "")),
        words.get("seen", "")[:WORD_CHARS_MAX],
        _wait_s(words.get("wait", "0")),
        _peers(words.get("former", "")),
    )


def _peers(text: str) -> tuple[int, ...]:
    names = text.split(",") if text else []
    if len(names) > PEERS_MAX:
        raise bad_request(f"a PE has at most {PEERS_MAX} peers")
    if not all(each.isascii() and each.isdecimal() and len(each) < 10 for each in names):
        raise bad_request("peers are ids of PEs, with commas between")
    return tuple(sorted(set(map(int, names))))


def _wait_s(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= WAIT_S_MAX:
        raise bad_request(f"wait is a number of seconds from 0 to {WAIT_S_MAX:g}")
    return seconds


# --------------------------------------------------------------------------- reports


def report_runtime(job: str, pe: int, body: bytes) -> ReportRuntime:
    """A report by its body. Raises Refused: 400."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise bad_request(f"the body is no JSON: {problem}") from None
    known = ", ".join(_READ)
    names = [name for name in value if name != "launch"] if isinstance(value, Mapping) else []
    if len(names) != 1 or names[0] not in _READ:
        raise bad_request(f'the body has to be an object with "launch" and one of {known}')
    launch = _number(value, "launch", 1, NUMBER_MAX)
    name = names[0]
    return _READ[name](ReportRuntime(job, pe, launch), value[name])


def _started(report: ReportRuntime, value: Any) -> ReportRuntime:
    found = _object("started", value)
    name, hands_over = found.get("runtime"), found.get("handsOver", False)
    if not isinstance(name, str) or not name or type(hands_over) is not bool:
        raise bad_request('"started" has "runtime", a text, and "handsOver", true or false')
    values = [("handsOver", hands_over), ("name", shown(name, WORD_CHARS_MAX))]
    if "sources" in found:
        values.append(("sources", _sources(found)))
    again = found.get("readsAgain")
    if again is None:
        return _with(report, values)
    again = _object("readsAgain", again)
    is_new = again.get("launch") is None
    before = 0 if is_new else _number(again, "launch", 1, NUMBER_MAX)
    values.append(("readsAgain", _reads_again(report.launch, before, _sources(again))))
    return replace(_with(report, values), reads_from_start=is_new)


def _sources(found: Mapping[str, Any]) -> tuple[str, ...]:
    names = found.get("sources")
    names = names if isinstance(names, list) else []
    is_bounded = 0 < len(names) <= SOURCES_MAX
    if not is_bounded or not all(isinstance(each, str) and each for each in names):
        raise bad_request(f'"sources" has to be a list of at most {SOURCES_MAX} names')
    return tuple(shown(each, NAME_CHARS_MAX) for each in names)


def _reads_again(launch: int, before: int, sources: tuple[str, ...]) -> str:
    """A sentence; `before` is the launch that saved the state, 0: none did."""
    word = "source" if len(sources) == 1 else "sources"
    state = f"the state that launch {before} saved before it went on"
    begins = f"Launch {launch} begins with {state if before else 'no state of those before it'}"
    since = " since then" if before else ""
    return f"{begins}: what {word} {', '.join(sources)} gave{since} may come twice."


def _sealed(report: ReportRuntime, value: Any) -> ReportRuntime:
    generation = _number(_object("sealed", value), "generation", 0, NUMBER_MAX)
    return _with(report, (("sealed", generation),))


def _resting(report: ReportRuntime, value: Any) -> ReportRuntime:
    found = _object("resting", value)
    generation, awaited = _number(found, "generation", 0, NUMBER_MAX), found.get("waitsFor", [])
    is_list = isinstance(awaited, list) and len(awaited) <= AWAITED_MAX
    if not is_list or not all(type(pe) is int and 0 <= pe <= NUMBER_MAX for pe in awaited):
        raise bad_request(f'"waitsFor" has to be a list of at most {AWAITED_MAX} ids of PEs')
    seconds = _number(found, "seconds", 1, NUMBER_MAX) if "seconds" in found else None
    rests = ("restsFor", generation), ("restsSeconds", seconds)
    return _with(report, (*rests, ("waitsFor", tuple(sorted(awaited)))))


def _ended(report: ReportRuntime, value: Any) -> ReportRuntime:
    if value is not True:
        raise bad_request('"ended" has to be true')
    return _with(report, (("ended", True),))


def _lost(report: ReportRuntime, value: Any) -> ReportRuntime:
    found = _object("lost", value)
    tuples, why = _number(found, "tuples", 1, TUPLES_MAX), found.get("why", "")
    if not isinstance(why, str):
        raise bad_request('"why" has to be a text')
    values = (("lostTuples", tuples),)
    return ReportRuntime(
        report.job, report.pe, report.launch, values, shown(why, SENTENCE_CHARS_MAX)
    )


def _skipped(report: ReportRuntime, value: Any) -> ReportRuntime:
    tuples = _number(_object("skipped", value), "tuples", 1, TUPLES_MAX)
    return _with(report, (("skippedTuples", tuples),))


def _trouble(report: ReportRuntime, value: Any) -> ReportRuntime:
    if value is None:
        return _with(report, (("message", None), ("reason", None)))
    found = _object("trouble", value)
    reason, message = found.get("reason"), found.get("message", "")
    if not isinstance(reason, str) or not _WORD.fullmatch(reason):
        raise bad_request('"reason" has to be one word of letters and digits')
    if not isinstance(message, str):
        raise bad_request('"message" has to be a text')
    return _with(report, (("message", shown(message, SENTENCE_CHARS_MAX)), ("reason", reason)))


def _connectivity(report: ReportRuntime, value: Any) -> ReportRuntime:
    known = {each.value: each for each in Connectivity}
    if not isinstance(value, str) or value not in known:
        raise bad_request(f'"connectivity" has to be one of {", ".join(known)}')
    return replace(report, connectivity=known[value])


_READ: Final[Mapping[str, Callable[[ReportRuntime, Any], ReportRuntime]]] = {
    "started": _started,
    "connectivity": _connectivity,
    "sealed": _sealed,
    "resting": _resting,
    "ended": _ended,
    "lost": _lost,
    "skipped": _skipped,
    "trouble": _trouble,
}


def _with(report: ReportRuntime, values: Sequence[tuple[str, Any]]) -> ReportRuntime:
    return ReportRuntime(report.job, report.pe, report.launch, tuple(values))


def _object(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise bad_request(f'"{name}" has to be an object')
    return value


def _number(found: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = found.get(name)
    if type(value) is not int or not least <= value <= most:
        raise bad_request(f'"{name}" has to be a number from {least} to {most}')
    return value
