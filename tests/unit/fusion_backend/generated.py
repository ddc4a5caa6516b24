"""Snapshots of a job drawn at random, so that every rule is met; also ones that cannot be.

A walk leads one world through what people, faults and time do to a job. Beside each snapshot that
it passes stand variants of it, changed in one or two places, contradictions included.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from services.chassis.running.rules import RuleDefect
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.snapshot import Snapshot
from tests.unit.fusion_backend import generated_events as events
from tests.unit.fusion_backend.generated_events import A_LONG_TIME_S, EVENTS, SPECS, Event
from tests.unit.fusion_backend.generated_variants import CHANGES
from tests.unit.fusion_backend.hosted_world import HostedWorld
from tests.unit.fusion_backend.shop import APART, IN_POOL

STEADY_AFTER: Final = 10
"""Steps after which a submission, and a resize, are complete."""
STEPS_OF_A_WALK: Final = 6
VARIANTS_OF_A_MOMENT: Final = 25
VARIANTS_OF_A_SNAPSHOT: Final = 14
EVENTS_A_STEP: Final = 0.4
OFTEN: Final = (events.resize, events.resize, events.answered, events.pods_run)

Found = tuple[Snapshot, float]
"""A snapshot, and the time at which it is decided on."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a walk begins: after this event, once one of the decisions observes this.

    `hosts`: how many have the tag that the job asks for, from the event on.
    """

    observation: str
    event: Event | None = None
    is_hosted: bool = False
    hosts: int = 4


MOMENTS: Final = (
    Moment("NOT_BEGUN"),
    Moment("NOT_BEGUN", is_hosted=True),
    Moment("CURRENT", events.resize),
    Moment("CURRENT", events.pods_run),
    Moment("HEALTH_CHANGED", events.stop),
    Moment("HEALTH_CHANGED", events.stop),
    Moment("UNPLANNED", events.resize),
    Moment("UNPLACED", events.resize, is_hosted=True, hosts=1),
    Moment("CURRENT", events.complete),
    Moment("CURRENT", events.complete),
    Moment("LEFTOVERS", events.resize),
    Moment("PLACING", events.unanswer, is_hosted=True),
    Moment("PLACING", events.unanswer, is_hosted=True),
    Moment("PLACEMENT_REFUSED", is_hosted=True, hosts=1),
    Moment("UNPLACED", events.resize, is_hosted=True, hosts=1),
    Moment("STAYS_UNPLACED", events.lose_records, is_hosted=True, hosts=1),
    Moment("PLANNED", events.resize, is_hosted=True),
    Moment("GATHERING", events.resize_in_a_row),
    Moment("STATE_LOADING", events.resize_after_a_hand_over),
    Moment("PLACEMENT_REFUSED", is_hosted=True, hosts=1),
    Moment("PLACEMENT_REFUSED", is_hosted=True, hosts=1),
)


def snapshots(walks: int, seed: int) -> Iterator[Found]:
    """What the first walks of a seed pass, with the variants."""
    draw = random.Random(seed)
    for _ in range(walks):
        yield from _walk(draw)


def _walk(draw: random.Random) -> Iterator[Found]:
    """Few kinds of events in each walk: one that deletes the Job would else end most of them."""
    moment = draw.choice(MOMENTS)
    world = _at(moment, draw)
    happening = [*OFTEN, *draw.sample(EVENTS, 3)]
    for number in range(STEPS_OF_A_WALK):
        if number and draw.random() < EVENTS_A_STEP:
            draw.choice(happening)(world, draw)
        snapshot = world.snapshot()
        yield snapshot, world.now
        for _ in range(VARIANTS_OF_A_SNAPSHOT if number else VARIANTS_OF_A_MOMENT):
            yield _variant(draw, snapshot, world.now)
        _step(world, draw, lost=0.1)


def _at(moment: Moment, draw: random.Random) -> HostedWorld:
    """A world that is at the moment."""
    world = HostedWorld(
        width=draw.choice((2, 3)),
        asking=IN_POOL + APART if moment.is_hosted else "",
        **draw.choice(SPECS),
    )
    world.has_bundle_folder = True
    if moment.event is not None:
        for _ in range(STEADY_AFTER):
            _step(world, draw, lost=0.0)
        moment.event(world, draw)
    world.counting = moment.hosts
    for _ in range(STEADY_AFTER):
        if moment.observation in _observations(world):
            break
        _step(world, draw, lost=0.0)
    return world


def _observations(world: HostedWorld) -> Iterable[str]:
    try:
        decision = decide(world.snapshot(), world.now)
    except RuleDefect:
        return ()
    return list(decision.rules.values())


def _step(world: HostedWorld, draw: random.Random, *, lost: float) -> None:
    """One decision that loses some of its effects."""
    world.now += 0.5
    try:
        world.step(lambda _: draw.random() < lost)
    except RuleDefect:
        world.crash()


def _variant(draw: random.Random, snapshot: Snapshot, now: float) -> Found:
    """The snapshot, changed in one or two places, maybe at a later time."""
    for change in draw.sample(CHANGES, draw.choice((1, 1, 2))):
        snapshot = change(snapshot, draw)
    return snapshot, now + draw.choice((0.0, 0.0, 10.0, A_LONG_TIME_S))
