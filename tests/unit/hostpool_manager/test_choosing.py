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
    LastSearch,
    ObservedPlacement,
    Placement,
    Ref,
    SearchTarget,
)
from services.hostpool_manager.core.statuses import OBJECT_BYTES_MAX, status_of_answer, too_large

NOW = 1000.0


def unanswered(name: str = "shop", version: int = 1) -> Placement:
    """A Placement without an answer."""
    job = Job(f"default/{name}", (Pe(0),))
    return Placement(Ref("default", name), f"uid-{name}", 1, version, spec=job)


def waiting(name: str = "waits") -> Placement:
    return replace(
        unanswered(name), phase=PlacementPhase.REFUSED, observed_generation=1, waits=True
    )


def unknown(name: str = "unknown") -> Placement:
    return replace(unanswered(name), phase=PlacementPhase.UNKNOWN, observed_generation=1)


def placed(name: str = "placed") -> Placement:
    in_force = InForce(0, {}, {0: "n1"})
    return replace(
        unanswered(name), phase=PlacementPhase.PLACED, observed_generation=1, in_force=in_force
    )


def last_search_of(
    placement: Placement, *, room: int = 7, misses: int = 1, took_s: float = 0.0
) -> LastSearch:
    return LastSearch(placement.uid, placement.spec_generation, room, NOW, took_s, misses)


def chosen(
    *observed: ObservedPlacement,
    searching: tuple[SearchTarget, ...] = (),
    room: int = 7,
    now: float = NOW,
) -> Choice:
    return choose(ClusterSnapshot(observed, searching, room), now)


def names(choice: Choice) -> list[tuple[str, bool]]:
    return [(each.target.ref.name, each.target.is_patient) for each in choice.searches]


def observed_of(
    placement: Placement, *, is_broken: bool = False, last_search: LastSearch | None = None
) -> ObservedPlacement:
    """A Placement whose status records its answer."""
    status = {"phase": placement.phase.value} if placement.phase else {}
    return ObservedPlacement(placement, status, is_broken=is_broken, last_search=last_search)


def new(placement: Placement) -> ObservedPlacement:
    return observed_of(placement)


def test_the_longest_unchanged_spec_is_first_and_one_that_waits_has_a_lane_of_its_own() -> None:
    choice = chosen(
        new(unanswered("late", 9)), new(waiting("old")), new(unanswered("early", 3)), new(placed())
    )
    assert names(choice) == [("early", False), ("old", True)]
    assert choice.waiting == 1


def test_a_broken_placement_is_searched_after_new_specs_and_before_those_that_wait() -> None:
    broken = observed_of(placed(), is_broken=True)
    assert names(chosen(broken, new(unanswered("new", 99)), new(waiting()))) == [
        ("new", False),
        ("waits", True),
    ]
    assert names(chosen(broken, new(waiting()))) == [("placed", False), ("waits", True)]


def test_a_lane_takes_one_search_at_a_time() -> None:
    busy = (
        SearchTarget(Ref("default", "x"), "uid-x", 1),
        SearchTarget(Ref("default", "y"), "u", 1, True),
    )
    assert names(chosen(new(unanswered()), new(waiting()), searching=busy[:1])) == [("waits", True)]
    assert names(chosen(new(unanswered()), new(waiting()), searching=busy)) == []


def test_one_that_waits_is_searched_again_only_after_a_change_and_a_pause_that_grows() -> None:
    placement = waiting()
    still = observed_of(placement, last_search=last_search_of(placement))
    assert (names(chosen(still)), chosen(still).requeue_at) == ([], None)
    for misses, pause_s in ((1, 1.0), (3, 4.0), (30, 60.0)):
        observed = observed_of(placement, last_search=last_search_of(placement, misses=misses))
        assert chosen(observed, room=8).requeue_at == NOW + pause_s
        assert names(chosen(observed, room=8, now=NOW + pause_s)) == [("waits", True)]
    costly = observed_of(placement, last_search=last_search_of(placement, took_s=12.0))
    assert chosen(costly, room=8).requeue_at == NOW + 120.0


def test_the_least_recently_searched_one_is_searched_next() -> None:
    lately, long_ago = waiting("lately"), waiting("long-ago")
    observed = [
        observed_of(lately, last_search=replace(last_search_of(lately), at=NOW - 100)),
        observed_of(long_ago, last_search=replace(last_search_of(long_ago), at=NOW - 200)),
    ]
    assert names(chosen(*observed, room=8)) == [("long-ago", True)]


def test_an_unknown_placement_is_searched_again_without_a_change() -> None:
    placement = unknown()
    observed = observed_of(placement, last_search=last_search_of(placement))
    assert chosen(observed).requeue_at == NOW + UNKNOWN_PAUSE_S
    assert names(chosen(observed, now=NOW + UNKNOWN_PAUSE_S)) == [("unknown", True)]


def test_no_refusal_is_final_for_pes_that_exist_already() -> None:
    """Their pods wait in any case: a node that joins may be what they lack."""
    observed = new(replace(waiting(), waits=False, has_pes=True))
    assert names(chosen(observed)) == [("waits", True)]


def test_a_final_refusal_stays_until_the_spec_changes() -> None:
    final = replace(waiting(), waits=False)
    assert names(chosen(new(final))) == []
    assert names(chosen(new(replace(final, spec_generation=2)))) == [("waits", False)]


def test_a_placement_that_is_being_deleted_or_cannot_be_read_is_not_searched() -> None:
    assert names(chosen(new(replace(unanswered(), is_deleting=True)))) == []
    assert names(chosen(new(replace(unanswered(), spec=None, problem="spec.pools")))) == []


def test_many_ids_on_one_node_are_written_in_texts_that_the_schema_takes() -> None:
    pes = dict.fromkeys(range(0, 30_000, 2), "n1")
    status = status_of_answer(Placed(pes, ()), spec_generation=1, in_force=InForce(0, {}, pes))
    assert max(len(text) for _, text in status.assignments) <= TEXT_CHARS_MAX
    assert [pe for _, text in status.assignments for pe in ids_of(text)] == list(pes)


@pytest.mark.parametrize(
    ("chars", "pools", "hosts", "spec_bytes", "fits"),
    [
        (9, 1, False, 0, True),
        (9, 40, False, 0, False),
        (100, 1, False, 0, True),
        (100, 1, True, 0, False),  # a HostPool names them as hosts, as members and as claimed
        (150, 1, False, 0, False),
        (100, 1, False, 900_000, False),
    ],
)
def test_an_answer_that_no_object_can_hold_is_refused_with_its_size(
    chars: int, pools: int, hosts: bool, spec_bytes: int, fits: bool
) -> None:
    nodes = tuple(f"node-{number:04}".ljust(chars, "x") for number in range(5000))
    job = Job(
        "default/job",
        (Pe(0),),
        tuple(Pool(index, f"P{index}", hosts=nodes if hosts else ()) for index in range(pools)),
    )
    answer = Placed({0: "n1"}, tuple(Members(index, nodes) for index in range(pools)))
    why = too_large(answer, job, spec_bytes=spec_bytes)
    assert bool(why) is not fits, why
    if not fits:
        assert f"{pools} pools with {5000 * pools} members" in why
        assert f"{OBJECT_BYTES_MAX} can be stored" in why
