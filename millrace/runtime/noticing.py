"""What a PE notices: what it takes and has in hand, what was lost, and whom it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from millrace.runtime.marks import Origin
from millrace.runtime.quiescing import Parts
from millrace.runtime.reports import Trouble


def in_hand_of(parts: Parts) -> int:
    """Tuples that this PE took in, or made of those, and that nobody else has for certain."""
    queued = sum(e.queue.tuples + e.at_work for e in parts.engine.nodes if e.queue is not None)
    return queued + sum(each.unacknowledged for each in parts.senders)


def lost_by(parts: Parts, saved: Mapping[Origin, int] | None) -> Iterator[tuple[str, int]]:
    """At most how many tuples were lost so far, by cause.

    `OnTheWay`: sent to a launch of a peer that was killed. `InHand`: our last launch had them when
    it was killed. `OutOfState`: it took them in after it saved its state, which lacks them; `saved`
    has how many of each origin it had taken in then, and is None for a PE without state.
    """
    before = parts.receivers.before()
    yield "OnTheWay", sum(each.counts.lost for each in parts.senders)
    yield "InHand", max((each.in_hand for each in before.values()), default=0)
    if saved is not None:
        yield (
            "OutOfState",
            sum(
                max(each.acknowledged - saved.get(origin, 0), 0) for origin, each in before.items()
            ),
        )


def trouble_of(parts: Parts) -> Trouble:
    """What keeps a PE, some of whose connections are missing, from its peers."""
    if problems := parts.receivers.problems():
        origin = min(problems, key=lambda each: (each.pe, each.port, each.at))
        return Trouble("PeerRefused", problems[origin])
    if missing := [each for each in parts.senders if not each.is_connected]:
        first = min(missing, key=lambda each: each.route.receiver)
        return Trouble("PeerMissing", first.trouble or f"waits for PE {first.route.receiver}")
    silent = [e.pe for e in parts.inlets.origins if not parts.receivers.is_connected(e)]
    return Trouble("PeerMissing", f"waits for PE {min(silent)} to connect") if silent else Trouble()


def counting(
    decode: Callable[[Any], list[Any]], taken: dict[int, int], port: int
) -> Callable[[Any], list[Any]]:
    """Decode, and count in `taken` how many bytes a port takes."""
    taken[port] = 0

    def counted(data: Any) -> list[Any]:
        taken[port] += len(data)
        return decode(data)

    return counted
