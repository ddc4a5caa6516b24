"""The position of an instance: how far it has read, and the number of its last observation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from contracts.decisions import Observation
from contracts.topics import TopicLayout
from services.chassis.log.bus import Partition
from services.chassis.running.decision_log import DecisionLog
from services.chassis.running.observations import Observations, Observed
from services.chassis.running.wiring import Runtime

ONE, TWO = Partition("millrace.resources", 1), Partition("millrace.cluster", 0)


def new() -> tuple[Observations, list[Observation]]:
    """Observations, and those that were published."""
    published: list[Observation] = []
    log = SimpleNamespace(publish_observation=published.append)
    runtime = SimpleNamespace(topics=TopicLayout(), instance="one")
    return Observations(cast(Runtime, runtime), cast(DecisionLog, log), "start"), published


def test_a_position_counts_facts_and_names_the_next_offset_of_each_partition() -> None:
    observations, _ = new()
    for partition, offset in ((ONE, 3), (TWO, 0), (ONE, 5)):
        observations.note_read(partition, offset)
    position = observations.position
    assert (position.instance, position.start) == ("one", "start")
    assert (position.offsets, position.facts) == ({"resources/1": 6, "cluster/0": 1}, 3)


def test_a_record_that_comes_again_changes_nothing() -> None:
    observations, _ = new()
    for offset in (3, 4, 3, 4):
        observations.note_read(ONE, offset)
    assert (observations.position.offsets, observations.position.facts) == ({"resources/1": 5}, 2)


def test_a_partition_that_is_assigned_again_is_read_from_where_it_begins_now() -> None:
    observations, published = new()
    observations.note_read(ONE, 7)
    observations.assign({"Node": (TWO,)})
    assert observations.position.offsets == {}
    observations.assign({"Node": (TWO,), "Job": (ONE,)})
    observations.begin_reading({ONE: 2})
    observations.note_read(ONE, 2)
    assert (observations.position.offsets, observations.position.observation) == (
        {"resources/1": 3},
        3,
    )
    assert [each.what for each in published] == [
        Observed.ASSIGNED,
        Observed.ASSIGNED,
        Observed.READING,
    ]
    assert [each.number for each in published] == [1, 2, 3]
