"""Which PEs hold up a hand-over that goes on without them.

A PE that comes to rest for more than two seconds reports whom it waits for, or that it has work of
its own. One that reports neither that nor a seal is silent: it hangs, or has never begun.

1. PEs that wait for others hold up nothing. What holds up the others is silent, or at work.
2. While a PE is at work, nobody is given up: the others would wait all the same.
3. A silent PE that others wait for is given up after `SILENT_S`. pe-gateway may be away: it is
   given up only once another PE says that it has waited for so long, which pe-gateway writes if it
   has heard PEs for long enough. A launch that started lately may not have come to report that:
   a. One that has begun, as it has reported its start, or as a PE that waits for it is fully
      connected, has its time until 4 if its container started in the hand-over, or `STARTS_S`
      before it: others know of tuples that it took in.
   b. One that has not begun `BEGUN_S` after its container started has taken nothing in, and is
      silent.
   c. One has no more time where the launch before it failed without a report: that fails again,
      and each of its launches would begin in the hand-over.
4. So that the others have time left, what they wait for is given up `SPARED_S` before the deadline,
   whether it is silent or at work.

Property: a PE that has reported a seal is never given up, nor is one that nobody waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.resources.processing_element import Connectivity
from millrace.protocol import RESTS_S

SILENT_S: Final = float(RESTS_S)
"""Since the begin of the hand-over. The first report of a PE comes after two seconds, and is in its
status at most two seconds later. PEs say after so long, and each four seconds from then on, that
they still wait."""
STARTS_S: Final = 12.0
"""A launch needs eight seconds on a busy machine to report its start. A kubelet gives the start of
a container in whole seconds."""
BEGUN_S: Final = 10.0
"""So long after its container started, a launch has reported its start, or is connected."""
SPARED_S: Final = 5.0
"""At most; never more than a sixth of the time of the hand-over."""


@dataclass(frozen=True, slots=True)
class Unsealed:
    """A PE that has not sealed. `waits_for`: what it reports; None: nothing.

    `rests_s`: how long it had waited for others when it last reported so (seconds). `started`:
    since when its container runs (unix seconds), None: it does not, or nobody knows. `fails`: the
    launch before it failed and had reported nothing. `has_begun`: it has reported its start.
    `is_connected`: all of its connections are up.
    """

    waits_for: frozenset[int] | None
    started: float | None
    fails: bool = False
    rests_s: int = 0
    has_begun: bool = False
    is_connected: bool = False


def unsealed_of(
    status: Mapping[str, Any], launch: int, generation: int, started: float | None
) -> Unsealed:
    """What the status of a PE has of a launch in the hand-over of a generation."""
    runtime = status.get("runtime") or {}
    reported = int(runtime.get("launch") or 0)
    is_of_this = reported == launch and runtime.get("restsFor") == generation
    waits_for = frozenset(map(int, runtime.get("waitsFor") or ())) if is_of_this else None
    rests_s = int(runtime.get("restsSeconds") or 0) if is_of_this else 0
    fails = launch - reported > 1 and bool(status.get("restarts"))
    is_connected = is_of_this and status.get("connectivity") == Connectivity.FULL
    return Unsealed(waits_for, started, fails, rests_s, reported == launch, is_connected)


@dataclass(frozen=True, slots=True)
class Times:
    """When a hand-over began, and when it ends at the latest (unix seconds)."""

    begun: float
    deadline: float

    @property
    def spared_from(self) -> float:
        """From when on the time belongs to those that wait."""
        return self.deadline - min(SPARED_S, (self.deadline - self.begun) / 6)

    def silent_from(self, awaited: Unsealed, *, has_begun: bool) -> float | None:
        """When a PE that reports nothing is silent; None: it has time until others need it."""
        silent = self.begun + SILENT_S
        if awaited.fails:
            return silent
        if awaited.started is None:
            return None
        if not has_begun:
            return max(silent, awaited.started + BEGUN_S)
        return silent if awaited.started <= self.begun - STARTS_S else None


def given_up(awaited: Mapping[int, Unsealed], times: Times, now: float) -> frozenset[int]:
    """The PEs without which the hand-over goes on, of those that have not sealed."""
    return frozenset(pe for pe, at in _due(awaited, times) if now >= at)


def given_up_next(awaited: Mapping[int, Unsealed], times: Times, now: float) -> float | None:
    """When the next one will be, if nothing is reported until then."""
    return min((at for _, at in _due(awaited, times) if at > now), default=None)


def _due(awaited: Mapping[int, Unsealed], times: Times) -> list[tuple[int, float]]:
    """Each PE that holds up others, and when it is given up."""
    waiting = {pe: (each.waits_for or frozenset()) & awaited.keys() for pe, each in awaited.items()}
    named = frozenset().union(*waiting.values())
    holding = [pe for pe in awaited if not waiting[pe]]
    is_one_at_work = any(awaited[pe].waits_for is not None for pe in holding)
    heard_until = times.begun + max((each.rests_s for each in awaited.values()), default=0)
    found = []
    connected = [waiting[pe] for pe, each in awaited.items() if each.is_connected]
    begun = frozenset().union(*connected, (pe for pe, each in awaited.items() if each.has_begun))
    for pe in named.intersection(holding):
        has_begun = pe in begun
        silent = None if is_one_at_work else times.silent_from(awaited[pe], has_begun=has_begun)
        if silent is None or silent > heard_until:
            silent = times.spared_from
        found.append((pe, min(silent, times.spared_from)))
    return found
