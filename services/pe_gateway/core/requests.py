"""From an HTTP request to what it is about: the paths, the verbs and the bodies of the original.

Every request is one frozen value of this module, or is refused with a status code and a sentence.
What the answer is depends on what exists, and is decided in `answering.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal
from urllib.parse import unquote

import orjson

from contracts.names import NAME_RULE, is_name
from contracts.resources import Connectivity
from millrace.protocol import JOBS
from services.pe_gateway.core.answers import Refused, bad_request, not_found
from services.pe_gateway.core.runtime_requests import (
    ReadBundle,
    ReadRuntime,
    ReportRuntime,
    read_runtime,
    report_runtime,
)

PATH_CHARS_MAX: Final = 4096
ID_DIGITS_MAX: Final = 9
PORT_MAX: Final = 65_535
PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_ANY: Final = None
"""In a pattern: one part of the path, which is given to the maker."""


@dataclass(frozen=True, slots=True)
class ReadState:
    """Every job of the namespace with its PEs, operators and connections."""


@dataclass(frozen=True, slots=True)
class FindJobName:
    """The name of the job with an id."""

    job_id: int


@dataclass(frozen=True, slots=True)
class ReadConnectivity:
    """How many connections of a PE are up."""

    job: str
    pe: int


@dataclass(frozen=True, slots=True)
class ReportConnectivity:
    """A PE reports how many of its connections are up."""

    job: str
    pe: int
    connectivity: Connectivity


@dataclass(frozen=True, slots=True)
class ReadWidth:
    """The requested width of a parallel region."""

    job: str
    alias: str


@dataclass(frozen=True, slots=True)
class RequestWidth:
    """Another width of a parallel region."""

    job: str
    alias: str
    width: int


@dataclass(frozen=True, slots=True)
class ReadPorts:
    """The ports of a PE."""

    job: str
    pe: int


@dataclass(frozen=True, slots=True)
class FindEndpoint:
    """Where an endpoint of a job is."""

    job: str
    name: str


@dataclass(frozen=True, slots=True)
class AddEndpoint:
    """A PE serves a port for others."""

    job: str
    pe: int
    name: str
    port: int
    protocol: str


@dataclass(frozen=True, slots=True)
class RemoveEndpoint:
    """A PE serves a port no more."""

    job: str
    pe: int
    name: str


@dataclass(frozen=True, slots=True)
class ReadSubscriptions:
    """The exports and imports of a PE that are matched with others."""

    job: str
    pe: int


@dataclass(frozen=True, slots=True)
class UsePort:
    """A look at the export or import of a port of a PE, or a change of it."""

    job: str
    pe: int
    side: Literal["export", "import"]
    port: int
    is_change: bool


Request = (
    ReadRuntime
    | ReportRuntime
    | ReadBundle
    | ReadState
    | FindJobName
    | ReadConnectivity
    | ReportConnectivity
    | ReadWidth
    | RequestWidth
    | ReadPorts
    | FindEndpoint
    | AddEndpoint
    | RemoveEndpoint
    | ReadSubscriptions
    | UsePort
)


def request_of(method: str, path: str, body: bytes, query: str = "") -> Request:
    """What a request is about. Raises Refused: 404 for a path, 405 for a verb, 400 for a body.

    `path` is as it was sent, without the query string; `query` is what was after it.
    """
    parts = _parts(path)
    fitting = {
        each_method: (make, words)
        for each_method, pattern, make in _ROUTES
        if (words := _fit(pattern, parts)) is not None
    }
    if not fitting:
        raise not_found(f"nothing is served at {path[:200]}")
    if method not in fitting:
        allowed = ", ".join(sorted(fitting))
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"this path takes {allowed}")
    make, words = fitting[method]
    return make(words, query.encode() if method == "GET" else body)


def _parts(path: str) -> Sequence[str]:
    if len(path) > PATH_CHARS_MAX:
        raise not_found(f"a path has at most {PATH_CHARS_MAX} characters")
    parts = [unquote(part, errors="replace") for part in path.strip("/").split("/")]
    if any(not part.isprintable() for part in parts):
        raise not_found("a path has printable characters only")
    return parts


def _fit(pattern: Sequence[str | None], parts: Sequence[str]) -> Sequence[str] | None:
    """The parts that a pattern leaves open; None where it does not fit."""
    if len(pattern) != len(parts):
        return None
    pairs = list(zip(pattern, parts, strict=True))
    if any(word != part for word, part in pairs if word is not _ANY):
        return None
    return [part for word, part in pairs if word is _ANY]


# --------------------------------------------------------------------------- parts and bodies


def _number(what: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal() and len(value) <= ID_DIGITS_MAX):
        raise not_found(f"{value[:40]!r} is no {what}")
    return int(value)


def _pe(value: str) -> int:
    return _number("id of a PE", value)


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise bad_request(f"the body is no JSON: {problem}") from None


def _connectivity(body: bytes) -> Connectivity:
    value = _json(body)
    if not isinstance(value, str) or value not in [each.value for each in Connectivity]:
        allowed = ", ".join(f'"{each}"' for each in Connectivity)
        raise bad_request(f"a connectivity is one of {allowed}, and not {str(value)[:40]!r}")
    return Connectivity(value)


def _width(body: bytes) -> int:
    value = _json(body)
    if type(value) is not int:
        raise bad_request(f"a width is a whole number, and not {str(value)[:40]!r}")
    return value


def _job_id(words: Sequence[str]) -> FindJobName:
    value = words[0]
    if not (value.isascii() and value.isdecimal() and len(value) <= ID_DIGITS_MAX):
        raise bad_request(f"{value[:40]!r} is no id of a job")
    return FindJobName(int(value))


def _endpoint_name(value: str) -> str:
    if not is_name(f"usr-{value}"):
        raise bad_request(f"{value[:80]!r} is no name of an endpoint: {NAME_RULE}, with 'usr-'")
    return value


def _add_endpoint(words: Sequence[str], body: bytes) -> AddEndpoint:
    job, pe, name = words
    value = _json(body)
    if not isinstance(value, Mapping):
        raise bad_request('the body has to be an object with "port" and "protocol"')
    port, protocol = value.get("port"), value.get("protocol") or "TCP"
    if type(port) is not int or not 1 <= port <= PORT_MAX:
        raise bad_request(f"port {str(port)[:40]!r}: it has to be a number from 1 to {PORT_MAX}")
    if protocol not in PROTOCOLS:
        raise bad_request(f"protocol {str(protocol)[:40]!r}: it has to be {', '.join(PROTOCOLS)}")
    return AddEndpoint(job, _pe(pe), _endpoint_name(name), port, protocol)


def _use_port(side: Literal["export", "import"], *, is_change: bool) -> Make:
    def make(words: Sequence[str], _body: bytes) -> UsePort:
        port = _number("port", words[2])
        return UsePort(words[0], _pe(words[1]), side, port, is_change)

    return make


# --------------------------------------------------------------------------- routes

Make = Callable[[Sequence[str], bytes], Request]
"""From the open parts of a path and the body; of a GET the query string, since it has no body."""
Route = tuple[str, Sequence[str | None], Make]

_STATE: Final = ("api", "state")
_OF_PE: Final = ("job", _ANY, "pe", _ANY)
_ENDPOINTS: Final = ("api", "endpoints")
_BOARD: Final = ("api", "subscriptions", *_OF_PE)
_EXPORT: Final = (*_BOARD, "export", _ANY)
_IMPORT: Final = (*_BOARD, "import", _ANY)


def _of_ports() -> Sequence[Route]:
    """The paths of exports and imports, each with the verbs that change something and those not."""
    table: Sequence[tuple[Literal["export", "import"], Sequence[str | None], str, str]] = (
        ("export", _EXPORT, "GET", ""),
        ("export", (*_EXPORT, "properties"), "POST", "PUT PATCH DELETE"),
        ("export", (*_EXPORT, "property", _ANY), "GET", "PUT PATCH DELETE"),
        ("import", _IMPORT, "GET", ""),
        ("import", (*_IMPORT, "filter"), "GET", "PUT"),
        ("import", (*_IMPORT, "streams"), "GET", "PUT"),
    )
    return [
        (method, pattern, _use_port(side, is_change=is_change))
        for side, pattern, looks, changes in table
        for methods, is_change in ((looks, False), (changes, True))
        for method in methods.split()
    ]


_CONNECTIVITY: Final = (*_STATE, *_OF_PE, "connectivity")
_WIDTH: Final = (*_STATE, "job", _ANY, "pr", _ANY, "width")
_ENDPOINT: Final = (*_ENDPOINTS, *_OF_PE, "endpoint", _ANY)
_RUNTIME: Final = (*JOBS, _ANY)
_RUNTIME_PE: Final = (*_RUNTIME, "pe", _ANY)
_ROUTES: Final[Sequence[Route]] = (
    ("GET", _RUNTIME_PE, lambda w, q: read_runtime(w[0], _pe(w[1]), q.decode())),
    ("PUT", _RUNTIME_PE, lambda w, b: report_runtime(w[0], _pe(w[1]), b)),
    ("GET", (*_RUNTIME, "bundle"), lambda w, _b: ReadBundle(w[0])),
    ("GET", _STATE, lambda _w, _b: ReadState()),
    ("GET", (*_STATE, "job", "by-id", _ANY, "name"), lambda w, _b: _job_id(w)),
    ("GET", _CONNECTIVITY, lambda w, _b: ReadConnectivity(w[0], _pe(w[1]))),
    ("PUT", _CONNECTIVITY, lambda w, b: ReportConnectivity(w[0], _pe(w[1]), _connectivity(b))),
    ("GET", _WIDTH, lambda w, _b: ReadWidth(w[0], w[1])),
    ("PUT", _WIDTH, lambda w, b: RequestWidth(w[0], w[1], _width(b))),
    ("GET", (*_ENDPOINTS, *_OF_PE), lambda w, _b: ReadPorts(w[0], _pe(w[1]))),
    ("GET", (*_ENDPOINTS, "job", _ANY, "endpoint", _ANY), lambda w, _b: FindEndpoint(w[0], w[1])),
    ("PUT", _ENDPOINT, _add_endpoint),
    ("DELETE", _ENDPOINT, lambda w, _b: RemoveEndpoint(w[0], _pe(w[1]), w[2])),
    ("GET", _BOARD, lambda w, _b: ReadSubscriptions(w[0], _pe(w[1]))),
    *_of_ports(),
)
