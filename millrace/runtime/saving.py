"""From the parts of a PE to what it saves, and back into the PEs that own it next."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from millrace.errors import worded
from millrace.runtime.assembling import Placed
from millrace.runtime.barriers import Barrier, Origin, Place, Route
from millrace.runtime.endings import StateRefused, StateUnfit, StoreFailed
from millrace.runtime.inheriting import inherited, saved_left
from millrace.runtime.lives import Taken
from millrace.runtime.loading import Loaded
from millrace.runtime.nodes import Node
from millrace.runtime.quiescing import Parts
from millrace.runtime.receiving import Receivers
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.splitting import channel_of
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import StateDiffers, StateStore
from millrace.runtime.states import (
    Channels,
    LeftKind,
    SavedOperator,
    SavedPe,
    encoded,
    merged,
    numbers_of,
    of_channel,
)
from millrace.runtime.stores import Keyed, Saved, Single
from millrace.state import KEY_GROUPS

LOG = logging.getLogger("millrace.runtime.saving")
NONE: Final[Mapping[str, int]] = {}


def restore(placed: Sequence[Placed], loaded: Loaded) -> dict[str, int]:
    """Give operators the state that they own, and what the last launch left to do.

    Returns how many tuples nobody will process, or no state has, by cause. Raises StateRefused.
    """
    for each in placed:
        try:
            _restore(each, loaded)
        except msgspec.MsgspecError as problem:
            raise StateRefused(
                f"operator {each.instance.path}: its saved state has another type than "
                f"{_type_of(each)}: {problem}"
            ) from None
    estate = loaded.estate
    has_state = any(each.operator.has_state for each in placed)
    shares = [inherited(each, estate, has_state=has_state) for each in placed]
    for each, share in zip(placed, shares, strict=True):
        each.node.restore(share.left)
    lost = Counter(loaded.own.unrecorded if loaded.own is not None else NONE)
    lost["LeftBehind"] += sum(each.lost for each in shares)
    lost["WentBack"] += sum(each.went_back for each in shares)
    return dict(+lost)


def _type_of(placed: Placed) -> str:
    state = placed.operator.state
    return "its window" if state is None else state.type.__name__


def _restore(placed: Placed, loaded: Loaded) -> None:
    node = placed.node
    if isinstance(node, SourceNode):
        saved = _of_channel(placed, loaded)
        if saved is not None and saved.single is not None:
            node.load(saved.single)
        if saved is not None and saved.ended:
            node.load_end()
        return
    assert node.execution is not None, "what is no source is executed"
    store = node.execution.store
    if isinstance(store, Keyed):
        _restore_keys(placed, store, loaded)
        node.execution.resume()
    elif isinstance(store, Single):
        saved = _of_channel(placed, loaded)
        if saved is not None and saved.single is not None:
            store.load(saved.single)


def _of_channel(placed: Placed, loaded: Loaded) -> SavedOperator | None:
    """What was saved of the channel of an operator: a seal, else the state of a PE that is gone."""
    where = (placed.instance.path, placed.channels)
    found = of_channel(loaded.states, *where) or of_channel(loaded.fallbacks, *where)
    if found is not None or loaded.former is None:
        return found
    late = loaded.estate.not_begun(placed.instance.path)
    now = numbers_of(tuple(placed.instance.channels.values()))
    is_late = late is None or now in map(numbers_of, late)
    return _of_channel(placed, loaded.former) if is_late else None


def _restore_keys(placed: Placed, store: Keyed[object], loaded: Loaded) -> None:
    path = placed.instance.path
    if not placed.operator.key or not placed.operator.follows_width:
        saved = _of_channel(placed, loaded)
        for data in (saved.groups or {}).values() if saved else ():
            store.load(data)
        return
    if placed.whole_groups is not None:
        for data in _groups(path, placed.whole_groups, loaded).values():
            store.load(data)
        return
    for data in _parts(path, loaded):
        store.load(data)
    store.values = {key: value for key, value in store.values.items() if placed.owns(key)}


def _parts(path: str, loaded: Loaded) -> list[bytes]:
    """All groups of an operator, the oldest first; several channels may each have a part of one."""
    found = [] if loaded.former is None else _parts(path, loaded.former)
    for state in (*loaded.fallbacks, *loaded.states):
        for saved in state.operators.get(path, {}).values():
            found += (saved.groups or {}).values()
    return found


def _groups(path: str, at: tuple[int, int], loaded: Loaded) -> dict[int, bytes]:
    """The groups of a channel, as (channel, width).

    Those of a PE that has not begun since the hand-over before are in what was saved for that.
    """
    found = merged(loaded.states, path, *at, KEY_GROUPS, fallbacks=loaded.fallbacks)
    if loaded.former is None:
        return found
    late = loaded.estate.not_begun(path)
    older = _groups(path, at, loaded.former)
    return {group: each for group, each in older.items() if _is_of(group, late)} | found


def _is_of(group: int, instances: Sequence[Channels] | None) -> bool:
    """Whether instances had a group; any had if they are not known, or in nested regions."""
    return instances is None or any(
        len(each) != 1 or channel_of(group, each[0][1], KEY_GROUPS) == each[0][0]
        for each in instances
    )


@dataclass(frozen=True, slots=True)
class Identity:
    """Who saves."""

    job: int
    pe: int
    launch: int
    generation: int = 0
    plan: int | None = None


def saved_at(
    who: Identity,
    placed: Iterable[Placed],
    barrier: Barrier,
    parts: Parts,
    places: Mapping[Route, Place],
    live: Collection[int] = (),
    unrecorded: Mapping[str, int] = NONE,
) -> SavedPe:
    """What a PE saves that passed a barrier on. `places`: who takes what connections bring.

    `live`: PEs of a hand-over whose next launch may need the barrier again; else nothing is sent
    behind what is saved, unless the PE goes on after a checkpoint. Raises StateUnfit.
    """
    placed = tuple(placed)
    is_last = barrier.kind != "checkpoint"
    return SavedPe(
        job=who.job,
        pe=who.pe,
        launch=who.launch,
        generation=who.generation,
        plan=who.plan,
        instances=_instances(placed),
        operators=_operators((each, _state_at(barrier, each.node)) for each in placed),
        positions=parts.receivers.positions(),
        life=parts.receivers.life,
        former=_former(parts.receivers),
        taken=tuple(
            (each, parts.receivers.tuples(each))
            for each in sorted(parts.inlets.origins, key=_order)
        ),
        outboxes=tuple(
            (each.route, replace(each.save(final=final), to=places.get(each.route)))
            for each in parts.senders
            for final in (is_last and each.route.receiver not in live,)
        ),
        ended=tuple(sorted(parts.inlets.ended, key=_order)),
        unrecorded=dict(unrecorded),
    )


def saved_at_begin(
    who: Identity,
    placed: Iterable[Placed],
    loaded: Loaded,
    receivers: Receivers,
    unrecorded: Mapping[str, int] = NONE,
) -> SavedPe:
    """What a PE saves before it takes anything in, so that its next launch needs no other PE."""
    placed = tuple(placed)
    return SavedPe(
        job=who.job,
        pe=who.pe,
        launch=who.launch,
        plan=who.plan,
        instances=_instances(placed),
        operators=_operators((each, each.node.state()) for each in placed),
        positions=loaded.positions,
        life=receivers.life,
        former=_former(receivers),
        outboxes=tuple((route, each.in_use) for route, each in loaded.outboxes.items()),
        ended=loaded.ended,
        unrecorded=dict(unrecorded),
    )


def without_losses(state: SavedPe) -> SavedPe:
    """The same, once pe-gateway has recorded what is lost."""
    return msgspec.structs.replace(state, unrecorded={})


async def copy(store: StateStore, name: StateName, own: StateName) -> None:
    """Make the state of an earlier launch that of this one."""
    if name != own:
        await store.write(own, await store.read(name))


async def leave_late_seal(store: StateStore, name: StateName, job: int) -> None:
    """Say that a PE was late for a hand-over that is over, and counts itself what it had in hand.

    Nobody reads what is in it.
    """
    late = SavedPe(job=job, pe=name.pe, launch=name.launch, generation=name.number)
    try:
        await store.write(name, encoded(late))
    except StateDiffers:
        return  # it sealed, and was late to report it
    except StoreFailed as problem:
        LOG.warning("what is in hand counts twice: %s", problem)


def _instances(placed: Iterable[Placed]) -> dict[str, tuple[Channels, ...]]:
    found: dict[str, tuple[Channels, ...]] = {}
    for each in placed:
        known = found.get(each.instance.path, ())
        found[each.instance.path] = (*known, tuple(each.instance.channels.values()))
    return found


def _state_at(barrier: Barrier, node: Node) -> Saved | None:
    """The state at a barrier; that of now where it had ended before the barrier came."""
    return node.saved[barrier] if barrier in node.saved else node.state()


def _operators(
    states: Iterable[tuple[Placed, Saved | None]],
) -> dict[str, dict[str, SavedOperator]]:
    """What is saved of each operator. Raises StateUnfit: nothing is kept in part."""
    found: dict[str, dict[str, SavedOperator]] = {}
    for placed, state in states:
        if isinstance(state, StateUnfit):
            raise StateUnfit(f"operator {placed.operator.name}: {state}") from state
        left = _left(placed)
        ended = isinstance(placed.node, SourceNode) and placed.node.is_over
        if state is None and not left and not ended:
            continue
        if isinstance(state, Mapping):
            saved = SavedOperator(groups=dict(state), groups_of=KEY_GROUPS, left=left)
        else:
            saved = SavedOperator(single=state, left=left, ended=ended)
        found.setdefault(placed.instance.path, {})[placed.channels] = saved
    return found


def _left(placed: Placed) -> tuple[tuple[LeftKind, bytes], ...]:
    """What an operator has left. Raises StateUnfit where its function changed a tuple before."""
    try:
        return tuple(saved_left(each, placed.operator) for each in placed.node.left)
    except Exception as problem:
        raise StateUnfit(
            f"operator {placed.operator.name}: the tuples that it has left cannot be saved:"
            f" {worded(problem)}"
        ) from problem


def _former(receivers: Receivers) -> tuple[tuple[Origin, Taken], ...]:
    found = receivers.former()
    return tuple((each, found[each]) for each in sorted(found, key=_order))


def _order(origin: Origin) -> tuple[int, int, int]:
    return origin.pe, origin.port, origin.at
