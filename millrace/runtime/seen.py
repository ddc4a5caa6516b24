"""What pe-gateway shows to a PE, as frozen values decoded from its JSON.

Numbers of PEs are keys, which JSON has as text. Fields that are not known are ignored, so a newer
gateway can show more.
"""

from __future__ import annotations

import ipaddress

import msgspec
from msgspec.structs import replace

from millrace.runtime.tracing import TraceLevel


class Peer(msgspec.Struct, frozen=True, kw_only=True):
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


class Levels(msgspec.Struct, frozen=True, kw_only=True):
    """Names of trace levels, or None where nothing is requested."""

    app: str | None = None
    runtime: str | None = None

    @property
    def app_level(self) -> TraceLevel | None:
        """The level of the application; None if its name is not known."""
        return _level(self.app)

    @property
    def runtime_level(self) -> TraceLevel | None:
        """The level of the runtime; None if its name is not known."""
        return _level(self.runtime)


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


def decoded(body: bytes) -> Seen:
    """What an answer shows. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(body, type=Seen)


def _level(name: str | None) -> TraceLevel | None:
    try:
        return None if name is None else TraceLevel.parsed(name)
    except ValueError:
        return None
