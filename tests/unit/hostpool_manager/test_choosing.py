"""Which Placement is searched next, and what no status can hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.id_runs import ids_of
from contracts.resources.fields import TEXT_CHARS_MAX
from contracts.resources.placement import PlacementPhase
from placement.answers import Members, Placed
from placement.job import Job, Pe, Pool
from services.hostpool_manager.core.choosing import Choice, choose
from services.hostpool_manager.core.snapshot import (
    UNKNOWN_PAUSE_S,
    ClusterSnapshot,
    InForce,
    Placement,
    PlacementSeen,
    Ref,
    SearchTarget,
    Tried,
)
from services.hostpool_manager.core.statuses import OBJECT_BYTES_MAX, status_of_answer, too_long

NOW = 1000.0


def asked(name: str = "shop", version: int = 1) -> Placement:
    """A spec that nobody answered."""
    job = Job(f"default/{name}", (Pe(0),))
    return Placement(Ref("default", name), f"uid-{name}", 1, version, spec=job)


def waiting(name: str = "waits") -> Placement:
    return replace(asked(name), phase=PlacementPhase.REFUSED, observed=1, waits=True)


def unknown(name: str = "unknown") -> Placement:
    return replace(asked(name), phase=PlacementPhase.UNKNOWN, observed=1)


def placed(name: str = "placed") -> Placement:
    in_force = InForce(0, {}, {0: "n1"})
    return replace(asked(name), phase=PlacementPhase.PLACED, observed=1, in_force=in_force)


def tried(placement: Placement, *, changes: int = 7, times: int = 1, took_s: float = 0.0) -> Tried:
    return Tried(placement.uid, placement.generation, changes, NOW, took_s, times)


def chosen(
    *seen: PlacementSeen,
    searching: tuple[SearchTarget, ...] = (),
    changes: int = 7,
    now: float = NOW,
) -> Choice:
    return choose(ClusterSnapshot(seen, searching, changes), now)


def names(choice: Choice) -> list[tuple[str, bool]]:
    return [(each.target.ref.name, each.target.is_patient) for each in choice.searches]


def seen_of(
    placement: Placement, *, is_broken: bool = False, tried: Tried | None = None
) -> PlacementSeen:
    """Its status records what was answered."""
    status = {"phase": placement.phase.value} if placement.phase else {}
    return PlacementSeen(placement, status, is_broken=is_broken, tried=tried)


def new(placement: Placement) -> PlacementSeen:
    return seen_of(placement)


def test_the_longest_unchanged_question_is_first_and_one_that_waits_has_a_lane_of_its_own() -> None:
    choice = chosen(
        new(asked("late", 9)), new(waiting("old")), new(asked("early", 3)), new(placed())
    )
    assert names(choice) == [("early", False), ("old", True)]
    assert choice.waiting == 1


def test_a_placement_that_broke_stands_behind_new_questions_and_before_those_that_wait() -> None:
    broken = seen_of(placed(), is_broken=True)
    assert names(chosen(broken, new(asked("new", 99)), new(waiting()))) == [
        ("new", False),
        ("waits", True),
    ]
    assert names(chosen(broken, new(waiting()))) == [("placed", False), ("waits", True)]


def test_a_lane_takes_one_search_at_a_time() -> None:
    busy = (
        SearchTarget(Ref("default", "x"), "uid-x", 1),
        SearchTarget(Ref("default", "y"), "u", 1, True),
    )
    assert names(chosen(new(asked()), new(waiting()), searching=busy[:1])) == [("waits", True)]
    assert names(chosen(new(asked()), new(waiting()), searching=busy)) == []


def test_one_that_waits_is_tried_again_only_after_a_change_and_a_pause_that_grows() -> None:
    placement = waiting()
    still = seen_of(placement, tried=tried(placement))
    assert (names(chosen(still)), chosen(still).requeue_at) == ([], None)
    for times, pause_s in ((1, 1.0), (3, 4.0), (30, 60.0)):
        seen = seen_of(placement, tried=tried(placement, times=times))
        assert chosen(seen, changes=8).requeue_at == NOW + pause_s
        assert names(chosen(seen, changes=8, now=NOW + pause_s)) == [("waits", True)]
    costly = seen_of(placement, tried=tried(placement, took_s=12.0))
    assert chosen(costly, changes=8).requeue_at == NOW + 120.0


def test_the_one_that_was_tried_longest_ago_is_tried_next() -> None:
    lately, long_ago = waiting("lately"), waiting("long-ago")
    seen = [
        seen_of(lately, tried=replace(tried(lately), at=NOW - 100)),
        seen_of(long_ago, tried=replace(tried(long_ago), at=NOW - 200)),
    ]
    assert names(chosen(*seen, changes=8)) == [("long-ago", True)]


def test_what_nobody_knew_is_tried_again_without_a_change() -> None:
    placement = unknown()
    seen = seen_of(placement, tried=tried(placement))
    assert chosen(seen).requeue_at == NOW + UNKNOWN_PAUSE_S
    assert names(chosen(seen, now=NOW + UNKNOWN_PAUSE_S)) == [("unknown", True)]


def test_what_was_refused_for_good_is_left_until_the_question_changes() -> None:
    final = replace(waiting(), waits=False)
    assert names(chosen(new(final))) == []
    assert names(chosen(new(replace(final, generation=2)))) == [("waits", False)]


def test_a_placement_that_is_being_deleted_or_cannot_be_read_is_not_searched() -> None:
    assert names(chosen(new(replace(asked(), is_deleting=True)))) == []
    assert names(chosen(new(replace(asked(), spec=None, problem="spec.pools")))) == []


def test_many_ids_on_one_node_are_written_in_texts_that_the_schema_takes() -> None:
    pes = dict.fromkeys(range(0, 30_000, 2), "n1")
    said = status_of_answer(Placed(pes, ()), generation=1, in_force=InForce(0, {}, pes))
    assert max(len(text) for _, text in said.assignments) <= TEXT_CHARS_MAX
    assert [pe for _, text in said.assignments for pe in ids_of(text)] == list(pes)


@pytest.mark.parametrize(
    ("chars", "pools", "hosts", "spec_bytes", "is_sayable"),
    [
        (9, 1, False, 0, True),
        (9, 40, False, 0, False),
        (100, 1, False, 0, True),
        (100, 1, True, 0, False),  # a HostPool names them as hosts, as members and as claimed
        (150, 1, False, 0, False),
        (100, 1, False, 900_000, False),
    ],
)
def test_an_answer_that_no_object_can_hold_says_so(
    chars: int, pools: int, hosts: bool, spec_bytes: int, is_sayable: bool
) -> None:
    nodes = tuple(f"node-{number:04}".ljust(chars, "x") for number in range(5000))
    asked = Job(
        "default/job",
        (Pe(0),),
        tuple(Pool(index, f"P{index}", hosts=nodes if hosts else ()) for index in range(pools)),
    )
    answer = Placed({0: "n1"}, tuple(Members(index, nodes) for index in range(pools)))
    said = too_long(answer, asked, spec_bytes)
    assert bool(said) is not is_sayable, said
    if not is_sayable:
        assert f"{pools} pools with {5000 * pools} members" in said
        assert f"{OBJECT_BYTES_MAX} can be stored" in said
