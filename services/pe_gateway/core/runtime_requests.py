"""The requests of millrace's own runtime: what a PE waits for, what it reports, and its bundle.

Their form is that of `millrace.protocol`; the requests of the original are in `requests.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from contracts.resources import Connectivity
from contracts.showing import shown
from millrace import protocol
from services.pe_gateway.core.answers import bad_request
from services.pe_gateway.core.snapshot import Values

WORD_CHARS_MAX: Final = 64
SENTENCE_CHARS_MAX: Final = 1024
NAME_CHARS_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class ReadRuntime:
    """What a PE needs of its job."""

    job: str
    pe: int
    look: protocol.Look


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
        return ReadRuntime(job, pe, protocol.look_of(query))
    except ValueError as problem:
        raise bad_request(str(problem)) from None


def report_runtime(job: str, pe: int, body: bytes) -> ReportRuntime:
    """A report by its body. Raises Refused: 400."""
    try:
        launch, report = protocol.decoded_report(body)
    except ValueError as problem:
        raise bad_request(str(problem)) from None
    if isinstance(report, protocol.Connectivity):
        return ReportRuntime(job, pe, launch, connectivity=Connectivity(report.state))
    why = shown(report.why, SENTENCE_CHARS_MAX) if isinstance(report, protocol.Lost) else ""
    again = report.reads_again if isinstance(report, protocol.Started) else None
    is_new = again is not None and again.launch is None
    return ReportRuntime(job, pe, launch, tuple(_values(report, launch)), why, is_new)


def _values(report: protocol.Report, launch: int) -> Values:
    """The fields of `status.runtime` that say what a report does, by their names."""
    match report:
        case protocol.Started():
            return _started(report, launch)
        case protocol.Sealed(generation):
            return (("sealed", generation),)
        case protocol.Resting(generation, waits_for, seconds):
            rests = ("restsFor", generation), ("restsSeconds", seconds or None)
            return (*rests, ("waitsFor", tuple(sorted(waits_for))))
        case protocol.Ended():
            return (("ended", True),)
        case protocol.Lost(tuples):
            return (("lostTuples", tuples),)
        case protocol.Skipped(tuples):
            return (("skippedTuples", tuples),)
        case protocol.Trouble(""):
            return ("message", None), ("reason", None)
        case protocol.Trouble(reason, message):
            return ("message", shown(message, SENTENCE_CHARS_MAX)), ("reason", reason)
    return ()


def _started(report: protocol.Started, launch: int) -> Values:
    name = shown(report.runtime, WORD_CHARS_MAX)
    values: Values = ("handsOver", report.hands_over), ("name", name)
    if report.sources:
        values += (("sources", _names(report.sources)),)
    if (again := report.reads_again) is not None:
        values += (("readsAgain", _reads_again(launch, again.launch, _names(again.sources))),)
    return values


def _names(sources: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(shown(each, NAME_CHARS_MAX) for each in sources)


def _reads_again(launch: int, before: int | None, sources: tuple[str, ...]) -> str:
    """A sentence; `before` is the launch that saved the state, None: none did."""
    word = "source" if len(sources) == 1 else "sources"
    state = f"the state that launch {before} saved before it went on"
    begins = f"Launch {launch} begins with {state if before else 'no state of those before it'}"
    since = " since then" if before else ""
    return f"{begins}: what {word} {', '.join(sources)} gave{since} may come twice."
