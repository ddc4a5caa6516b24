"""What a PE saves: the state of its operators, where its inputs stand, what its outputs still owe.

A saved state is a line of text, a checksum, and msgpack. A file that is damaged, or that another
version wrote, is refused with a sentence; it is never loaded in part.

`merged` gives the owner of some groups what several PEs saved of them, each group exactly once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from millrace.runtime.barriers import Origin, Route
from millrace.runtime.endings import StateRefused
from millrace.runtime.lives import Taken
from millrace.runtime.resuming import Peer, Positions, SavedSender
from millrace.runtime.splitting import channel_of

VERSION: Final = 2
LeftKind = Literal["take", "give", "window"]
Channels = tuple[tuple[int, int], ...]
"""The channel and the width of each region around an instance, innermost first."""
_BEGIN: Final = b"millrace state "
_DIGEST_BYTES: Final = hashlib.sha256().digest_size


class SavedOperator(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of an operator in a channel: `groups` of keys, of so many, or a `single` value.

    `left`: what it has not done, in order, as its function failed at the first tuple of it.
    `ended`: it is a source that was read to its end.
    """

    groups: dict[int, bytes] | None = None
    groups_of: int = 0
    single: bytes | None = None
    left: tuple[tuple[LeftKind, bytes], ...] = ()
    ended: bool = False


class SavedPe(msgspec.Struct, frozen=True, kw_only=True):
    """All that one launch of a PE saved.

    `operators`: by path and channels, such as `2`, `0,1` or nothing. `positions`: what inputs took
    in. `outboxes`: what outputs did not hand on. `ended`: origins that have ended. `taken`: how
    many tuples its `life` took in, which is empty where an older runtime saved it. `former`:
    what lives before took in of origins that this one has not heard. `instances`: those that the PE
    had, by path; None: an older runtime saved it. `plan`: the generation of its content.
    `unrecorded`: lost tuples by cause that only a launch that begins with this state counts.
    """

    job: int
    pe: int
    launch: int
    generation: int = 0
    operators: dict[str, dict[str, SavedOperator]] = {}
    positions: Positions = ()
    outboxes: tuple[tuple[Route, SavedSender], ...] = ()
    ended: tuple[Origin, ...] = ()
    taken: tuple[tuple[Origin, int], ...] = ()
    instances: dict[str, tuple[Channels, ...]] | None = None
    plan: int | None = None
    life: str = ""
    former: tuple[tuple[Origin, Taken], ...] = ()
    unrecorded: dict[str, int] = {}

    def took(self, origin: Origin) -> Taken:
        """How many tuples of an origin are in this state, and which life took them in."""
        own = Taken(dict(self.taken).get(origin, 0), Peer(self.launch, self.life))
        return dict(self.former).get(origin, own)

    @property
    def shown(self) -> str:
        """For messages: which PE and launch saved it."""
        return f"PE {self.pe} (launch {self.launch})"


def numbers_of(channels: Channels) -> tuple[int, ...]:
    """The channels alone, without the widths."""
    return tuple(channel for channel, _ in channels)


def encoded(state: SavedPe) -> bytes:
    """The bytes of a state."""
    body = msgspec.msgpack.encode(state)
    return _BEGIN + b"%d\n" % VERSION + hashlib.sha256(body).digest() + body


def decoded(data: bytes, name: str) -> SavedPe:
    """The state in these bytes; `name` is for messages. Raises StateRefused."""
    line, separator, rest = data.partition(b"\n")
    if not separator or not line.startswith(_BEGIN) or len(line) > 40:
        raise StateRefused(f"{name} is no saved state: it begins as another file")
    version = line.removeprefix(_BEGIN)
    if version != b"%d" % VERSION:
        raise StateRefused(
            f"{name} was saved in version {version.decode('ascii', 'replace')!a} of the "
            f"format, and this runtime reads version {VERSION}"
        )
    digest, body = rest[:_DIGEST_BYTES], rest[_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        raise StateRefused(f"{name} is damaged: its checksum differs ({len(data)} bytes)")
    try:
        return msgspec.msgpack.decode(body, type=SavedPe)
    except msgspec.MsgspecError as problem:
        raise StateRefused(f"{name} has other content than a saved state: {problem}") from None


def merged(
    seals: Iterable[SavedPe],
    operator: str,
    channel: int,
    width: int,
    groups: int,
    *,
    fallbacks: Iterable[SavedPe] = (),
) -> dict[int, bytes]:
    """What a channel of a keyed operator owns now, of `groups` in all.

    A group that nobody saved has no keys. What PEs sealed wins over `fallbacks`, the last states of
    PEs that are gone. Raises StateRefused if two states have one group, or if their number of
    groups is another.
    """
    wanted = {group for group in range(groups) if channel_of(group, width, groups) == channel}
    found = _gathered(seals, operator, groups, wanted)
    missing = wanted - found.keys()
    found |= _gathered(fallbacks, operator, groups, missing)
    return {group: _data(saved, group) for group, (_, saved) in sorted(found.items())}


def of_channel(states: Iterable[SavedPe], operator: str, channel: str) -> SavedOperator | None:
    """What was saved of one channel of an operator whose state does not follow the width.

    None if nothing was. Raises StateRefused if two states have it.
    """
    found: tuple[SavedPe, SavedOperator] | None = None
    for state in states:
        saved = state.operators.get(operator, {}).get(channel)
        if saved is None:
            continue
        if found is not None:
            raise StateRefused(
                f"operator {operator}: channel {channel} was saved by both {found[0].shown} and "
                f"{state.shown}"
            )
        found = (state, saved)
    return None if found is None else found[1]


def _gathered(
    states: Iterable[SavedPe], operator: str, groups: int, wanted: Iterable[int]
) -> dict[int, tuple[SavedPe, SavedOperator]]:
    """Who saved each of these groups."""
    found: dict[int, tuple[SavedPe, SavedOperator]] = {}
    looked_for = set(wanted)
    for state, saved in _of_operator(states, operator, groups):
        assert saved.groups is not None
        for group in looked_for & saved.groups.keys():
            if group in found:
                raise StateRefused(
                    f"operator {operator}: group {group} was saved by both "
                    f"{found[group][0].shown} and {state.shown}"
                )
            found[group] = (state, saved)
    return found


def _of_operator(
    states: Iterable[SavedPe], operator: str, groups: int
) -> Iterator[tuple[SavedPe, SavedOperator]]:
    for state in states:
        for saved in state.operators.get(operator, {}).values():
            if saved.groups is None:
                raise StateRefused(
                    f"operator {operator}: {state.shown} saved no groups of keys, as it has to"
                )
            if saved.groups_of != groups:
                raise StateRefused(
                    f"operator {operator}: {state.shown} saved {saved.groups_of} groups of keys, "
                    f"and the job has {groups}"
                )
            yield state, saved


def _data(saved: SavedOperator, group: int) -> bytes:
    assert saved.groups is not None
    return saved.groups[group]
