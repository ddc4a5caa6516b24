"""What a PE reports to pe-gateway, and in which order: a queue whose head is sent until answered.

Of connectivity, rest and trouble only the newest counts, so a waiting older one is left out. Lost
and skipped tuples are reported as a total, too: a request whose answer was lost is sent again, and
must not count twice. A report that pe-gateway has taken and not yet recorded is sent again later: a
gateway that ends meanwhile takes it along.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Connectivity:
    """How many of the connections of the PE are up."""

    state: Literal["Full", "Partial", "None"]


@dataclass(frozen=True, slots=True)
class ReadsAgain:
    """Sources that may give tuples again. `launch`: which saved their state; None: none did."""

    sources: tuple[str, ...]
    launch: int | None


@dataclass(frozen=True, slots=True)
class Started:
    """The PE runs. `runtime`: its name and version. `hands_over`: whether it takes part.

    `sources`: those of it that have not ended.
    """

    runtime: str
    hands_over: bool
    sources: tuple[str, ...] = ()
    reads_again: ReadsAgain | None = None


@dataclass(frozen=True, slots=True)
class Sealed:
    """The PE has saved all of its state for a hand-over."""

    generation: int


@dataclass(frozen=True, slots=True)
class Resting:
    """The PE comes to rest for a hand-over, which takes long, and waits for these PEs.

    For none while it has work of its own. A PE that says neither this nor `Sealed` is silent.
    `seconds`: how long it has come to rest by now, where it waits for others.
    """

    generation: int
    waits_for: tuple[int, ...] = ()
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """All streams of the PE have ended: it has only to hand on what it gave."""


@dataclass(frozen=True, slots=True)
class Lost:
    """How many tuples this launch has counted as lost so far, and why the last of them."""

    tuples: int
    why: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """How many tuples functions of this launch failed at so far, and skipped."""

    tuples: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """What keeps the PE from its work; the empty reason: nothing does any more."""

    reason: str = ""
    message: str = ""


Report = Connectivity | Started | Sealed | Resting | Ended | Lost | Skipped | Trouble
_NEWEST = (Connectivity, Resting, Lost, Skipped, Trouble)


def body_of(report: Report, launch: int) -> Any:
    """The JSON of a report of a launch."""
    match report:
        case Connectivity(state):
            return {"launch": launch, "connectivity": state}
        case Started():
            return {"launch": launch, "started": _started(report)}
        case Sealed(generation):
            return {"launch": launch, "sealed": {"generation": generation}}
        case Resting(generation, waits_for, seconds):
            resting: dict[str, Any] = {"generation": generation, "waitsFor": list(waits_for)}
            resting |= {"seconds": seconds} if seconds else {}
            return {"launch": launch, "resting": resting}
        case Ended():
            return {"launch": launch, "ended": True}
        case Lost(tuples, why):
            return {"launch": launch, "lost": {"tuples": tuples, "why": why}}
        case Skipped(tuples):
            return {"launch": launch, "skipped": {"tuples": tuples}}
        case Trouble(""):
            return {"launch": launch, "trouble": None}
        case Trouble(reason, message):
            return {"launch": launch, "trouble": {"reason": reason, "message": message}}


def _started(report: Started) -> Any:
    body: dict[str, Any] = {"runtime": report.runtime, "handsOver": report.hands_over}
    if report.sources:
        body["sources"] = report.sources
    if (again := report.reads_again) is not None:
        body["readsAgain"] = {"sources": again.sources, "launch": again.launch}
    return body


class Outgoing:
    """Reports that wait for their answer, and those that are not recorded yet."""

    def __init__(self) -> None:
        """Nothing waits."""
        self._waiting: deque[Report] = deque()
        self._is_head_sent = False
        self._taken: dict[type[Report], Report] = {}

    def add(self, report: Report) -> None:
        """Put a report at the end; it replaces a waiting one that it makes superfluous."""
        if isinstance(report, _NEWEST):
            kept = [
                each
                for place, each in enumerate(self._waiting)
                if type(each) is not type(report) or (place == 0 and self._is_head_sent)
            ]
            self._waiting = deque(kept)
        self._waiting.append(report)

    def head(self) -> Report | None:
        """The report to send, again until it is answered; None if nothing waits."""
        self._is_head_sent = bool(self._waiting)
        return self._waiting[0] if self._waiting else None

    def answered(self, *, is_recorded: bool = True) -> None:
        """The head is answered: it waits no more, or until `again`."""
        report = self._waiting.popleft()
        self._is_head_sent = False
        self._taken.pop(type(report), None)
        if not is_recorded:
            self._taken[type(report)] = report

    def keep(self, kind: type[Report]) -> None:
        """Forget what waits and is of another kind; what was taken of this one waits again."""
        self._taken = {each: report for each, report in self._taken.items() if each is kind}
        self.again()
        self._waiting = deque(each for each in self._waiting if isinstance(each, kind))
        self._is_head_sent = False

    @property
    def has_taken(self) -> bool:
        """Whether reports were answered that are not recorded, as far as we know."""
        return bool(self._taken)

    def again(self) -> None:
        """Let reports that were not recorded wait once more, but those that are out of date."""
        newer = {type(each) for each in self._waiting}
        taken, self._taken = self._taken, {}
        self._waiting.extend(each for kind, each in taken.items() if kind not in newer)

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)
