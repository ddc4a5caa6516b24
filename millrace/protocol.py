"""What the runtime of a PE and pe-gateway tell each other: paths, queries, answers and reports.

Both ends import this module, and a name or default stands nowhere else. They may be of different
releases, so:

* a name on the wire keeps its meaning. A new field has a default, which says what was before;
* a field that the receiver does not know is ignored;
* a report of a kind that pe-gateway does not know is answered 400, and the PE gives it up.

A PE reads `path_of_pe` with a `Look`, and is answered `Seen`, or 304. It puts reports there, each
`encoded`: 204 says that one is recorded, 202 that it is taken, 409 and 410 that the launch is over.
"""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qs, quote, urlencode

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

JOBS: Final = ("api", "runtime", "job")
"""The begin of all paths."""
HAND_OVER_S: Final = 30
"""How long a hand-over may last, where a job does not say it."""
WAIT_S_MAX: Final = 30.0
"""How long pe-gateway keeps a request until something changes."""
RESTS_S: Final = 8
RESTS_AGAIN_S: Final = 4
"""After eight seconds, and each four from then on, a PE that comes to rest says again whom it waits
for: that it can shows that pe-gateway hears PEs, and only then a PE that says nothing is silent."""
AWAITED_MAX: Final = 20
"""How many PEs it names then."""
SOURCES_MAX: Final = 20
"""How many of its sources a PE names."""
PEERS_MAX: Final = 2_000
VERSION_CHARS_MAX: Final = 64
NUMBER_MAX: Final = 2**31 - 1
TUPLES_MAX: Final = 2**53 - 1
"""What a status can have: the API server would refuse one more, again and again."""
_QUERY_FIELDS_MAX: Final = 10

Natural = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]
Positive = Annotated[int, Meta(ge=1, le=NUMBER_MAX)]
Tuples = Annotated[int, Meta(ge=1, le=TUPLES_MAX)]
Word = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9]{0,63}\Z")]
Names = Annotated[
    tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1, max_length=SOURCES_MAX)
]


def path_of_pe(job: str, pe: int) -> str:
    """Where a PE looks, and reports."""
    return f"/{'/'.join(JOBS)}/{quote(job, safe='')}/pe/{pe}"


def path_of_bundle(job: str) -> str:
    """Where the bundle of a job is."""
    return f"/{'/'.join(JOBS)}/{quote(job, safe='')}/bundle"


# --------------------------------------------------------------------------- what a PE requests


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a PE looks at. It waits up to `wait_s` while the version is still the one `seen`.

    `peers`: the PEs whose addresses it needs. `former`: which of these does the job not have?
    """

    peers: tuple[int, ...] = ()
    seen: str = ""
    wait_s: float = 0.0
    former: tuple[int, ...] = ()

    @property
    def query(self) -> str:
        """As the query of a URL; empty where it asks for nothing."""
        wait = f"{self.wait_s:g}" if self.wait_s else ""
        fields = {"peers": _ids(self.peers), "seen": self.seen, "wait": wait}
        fields["former"] = _ids(self.former)
        return urlencode({name: value for name, value in fields.items() if value}, safe=",")


def look_of(query: str) -> Look:
    """What the query of a URL looks at. Raises ValueError, with a sentence."""
    try:
        found = parse_qs(query, strict_parsing=bool(query), max_num_fields=_QUERY_FIELDS_MAX)
    except ValueError:
        raise ValueError("the query string cannot be read") from None
    words = {name: values[-1] for name, values in found.items()}
    return Look(
        peers=_ids_in(words.get("peers", "")),
        seen=words.get("seen", "")[:VERSION_CHARS_MAX],
        wait_s=_wait_s(words.get("wait", "0")),
        former=_ids_in(words.get("former", "")),
    )


def _ids(pes: tuple[int, ...]) -> str:
    return ",".join(map(str, sorted(pes)))


def _ids_in(text: str) -> tuple[int, ...]:
    names = text.split(",") if text else []
    if len(names) > PEERS_MAX:
        raise ValueError(f"a PE has at most {PEERS_MAX} peers")
    if not all(each.isascii() and each.isdecimal() and len(each) < 10 for each in names):
        raise ValueError("peers are ids of PEs, with commas between")
    return tuple(sorted(set(map(int, names))))


def _wait_s(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= WAIT_S_MAX:
        raise ValueError(f"wait is a number of seconds from 0 to {WAIT_S_MAX:g}")
    return seconds


# --------------------------------------------------------------------------- what a PE sees


class Peer(msgspec.Struct, frozen=True):
    """A running launch of another PE. `address`: the IP of its pod."""

    address: str
    launch: int

    def __post_init__(self) -> None:
        """Raises ValueError if the address is no IP."""
        ipaddress.ip_address(self.address)


class HandOver(msgspec.Struct, frozen=True, kw_only=True):
    """The newest hand-over of the job, under way or `complete`.

    `pes`: the PEs that hand over, with their launches then. `sealed`: those of them that have
    saved all of their state, `gone`: those that never will. `deadline`: seconds since 1970.
    `former`: those before it, from the newest, since which PEs had not begun; all are complete.
    """

    generation: int
    pes: dict[int, int]
    deadline: float = 0.0
    sealed: dict[int, int] = {}
    gone: frozenset[int] = frozenset()
    complete: bool = False
    former: tuple[HandOver, ...] = ()

    @property
    def all(self) -> tuple[HandOver, ...]:
        """This one, and those before it, each with its own former ones."""
        every = enumerate(self.former, 1)
        return (self, *(replace(each, former=self.former[after:]) for after, each in every))

    @property
    def not_sealed(self) -> dict[int, int]:
        """Those of its PEs that have saved nothing for it, with their launches."""
        return {pe: launch for pe, launch in self.pes.items() if pe not in self.sealed}

    def is_over_for(self, pe: int, launch: int) -> bool:
        """Whether it is complete, and others take the place of a launch that it names."""
        return self.complete and self.pes.get(pe) == launch

    def is_over_without(self, pe: int, launch: int) -> bool:
        """Whether it ended before a launch that it names had sealed."""
        return self.is_over_for(pe, launch) and pe not in self.sealed


class Levels(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Names of trace levels, or None where nothing is requested."""

    app: str | None = None
    runtime: str | None = None


class Seen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All that a PE sees of its job. `peers`: those requested whose pod runs and has an IP.

    `in_force`: the generation of the plan in force. `left`: PEs that the job does not have any
    more, of those requested as former ones. `has_ended`: the job has nothing left to do.
    """

    version: str
    job_id: int
    job_uid: str
    launch: int
    peers: dict[int, Peer] = {}
    hand_over: HandOver | None = None
    left: frozenset[int] = frozenset()
    trace: Levels = Levels()
    in_force: int = 0
    has_ended: bool = False

    def is_handed_over(self, generation: int) -> bool:
        """Whether the hand-over for a generation is complete."""
        news = self.hand_over
        return news is not None and news.complete and news.generation == generation

    def is_over_for(self, pe: int, launch: int) -> bool:
        """As of the newest hand-over; false without one."""
        return self.hand_over is not None and self.hand_over.is_over_for(pe, launch)

    def is_late(self, pe: int, launch: int) -> bool:
        """Whether the newest hand-over ended before a launch that it names had sealed."""
        return self.hand_over is not None and self.hand_over.is_over_without(pe, launch)

    @property
    def body(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(self)


def decoded_seen(body: bytes) -> Seen:
    """What an answer shows. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(body, type=Seen)


# --------------------------------------------------------------------------- what a PE reports


class _Reported(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One thing that a PE reports; its name on the wire is that of its class."""


State = Literal["Full", "Partial", "None"]


class Connectivity(_Reported, frozen=True):
    """How many of the connections of the PE are up."""

    state: State


class ReadsAgain(_Reported, frozen=True):
    """Sources that may give tuples again. `launch`: which saved their state; None: none did."""

    sources: Names
    launch: Positive | None = None


class Started(_Reported, frozen=True):
    """The PE runs. `runtime`: its name and version. `hands_over`: whether it takes part.

    `sources`: those of it that have not ended.
    """

    runtime: Annotated[str, Meta(min_length=1)]
    hands_over: bool = False
    sources: Names = ()
    reads_again: ReadsAgain | None = None


class Sealed(_Reported, frozen=True):
    """The PE has saved all of its state for a hand-over."""

    generation: Natural


class Resting(_Reported, frozen=True):
    """The PE comes to rest for a hand-over, which takes long, and waits for these PEs.

    For none while it has work of its own. A PE that says neither this nor `Sealed` is silent.
    `seconds`: how long it has come to rest by now, where it waits for others.
    """

    generation: Natural
    waits_for: Annotated[tuple[Natural, ...], Meta(max_length=AWAITED_MAX)] = ()
    seconds: Positive = 0


class Ended(_Reported, frozen=True):
    """All streams of the PE have ended: it has only to hand on what it gave."""


class Lost(_Reported, frozen=True):
    """How many tuples this launch has counted as lost so far, and why the last of them."""

    tuples: Tuples
    why: str = ""


class Skipped(_Reported, frozen=True):
    """How many tuples functions of this launch failed at so far, and skipped."""

    tuples: Tuples


class Trouble(_Reported, frozen=True):
    """What keeps the PE from its work; the empty reason: nothing does any more."""

    reason: Word = ""
    message: str = ""


Report = Connectivity | Started | Sealed | Resting | Ended | Lost | Skipped | Trouble
"""A total or the newest state each: one that is sent twice counts once."""


class _Body(msgspec.Struct, frozen=True, kw_only=True):
    launch: Positive
    connectivity: State | UnsetType = UNSET
    started: Started | UnsetType = UNSET
    sealed: Sealed | UnsetType = UNSET
    resting: Resting | UnsetType = UNSET
    ended: bool | UnsetType = UNSET
    lost: Lost | UnsetType = UNSET
    skipped: Skipped | UnsetType = UNSET
    trouble: Trouble | UnsetType | None = UNSET


_KINDS: Final = _Body.__struct_fields__[1:]


def encoded(report: Report, launch: int) -> bytes:
    """The JSON of a report of a launch."""
    value: Any = report
    match report:
        case Connectivity():
            value = report.state
        case Ended():
            value = True
        case Trouble(reason=""):
            value = None
    return msgspec.json.encode({"launch": launch, type(report).__name__.lower(): value})


def decoded_report(body: bytes) -> tuple[int, Report]:
    """The launch that reports, and what. Raises ValueError, with a sentence."""
    try:
        found = msgspec.json.decode(body, type=_Body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise ValueError(f"the body is no report: {problem}") from None
    values = [each for each in map(found.__getattribute__, _KINDS) if each is not UNSET]
    if len(values) != 1 or values[0] is False:
        raise ValueError(f'the body has "launch" and one of {", ".join(_KINDS)}')
    if found.connectivity is not UNSET:
        return found.launch, Connectivity(found.connectivity)
    return found.launch, Ended() if found.ended is True else values[0] or Trouble()
