"""The life cycle of a Placement: its rules decide what is written and what is searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from contracts.reasons import Reason
from contracts.resources.placement import PlacementPhase
from contracts.scheduling.nodes import Node
from placement.answers import Answer, Family, Placed, Refused, Unknown
from placement.cluster import Cluster
from placement.job import Job, Pe
from services.chassis.running.rules import Rule, RuleDefect
from services.hostpool_manager.core import choosing
from services.hostpool_manager.core.answering import (
    Dropped,
    Newest,
    SearchResult,
    judge,
    misses_in_a_row,
)
from services.hostpool_manager.core.deciding import decide
from services.hostpool_manager.core.effects import Search, WritePlacementStatus
from services.hostpool_manager.core.rules import RULES, Action, Observation, Situation, rule_of
from services.hostpool_manager.core.snapshot import (
    ClusterSnapshot,
    Found,
    InForce,
    JobSnapshot,
    LastSearch,
    ObservedPlacement,
    Placement,
    Ref,
    SearchTarget,
)
from services.hostpool_manager.core.statuses import placement_status

REF = Ref("default", "shop")
UNANSWERED = Placement(REF, "uid", 1, 1, spec=Job("default/shop", (Pe(0),)))
TARGET = SearchTarget(REF, "uid", 1)
PLACED = Placed({0: "n1"}, ())
REFUSED = Refused(Reason.TAG_MISSING, "no node has it", (Family.TAGS,))
UNKNOWN = Unknown("the limit was met")
NODES = (Node("n1", {}, (), {"cpu": 4000, "pods": 10}),)


def judged(
    answer: Answer,
    placement: Placement | None = UNANSWERED,
    *,
    nodes: tuple[Node, ...] = NODES,
    spec_bytes: int = 0,
) -> Found | Dropped:
    """The judgement of an answer to TARGET."""
    job = placement.job if placement else None
    return judge(
        TARGET, SearchResult(answer), Newest(Cluster.of(nodes), placement, job, spec_bytes)
    )


def found(answer: Answer, placement: Placement = UNANSWERED) -> Found:
    what = judged(answer, placement)
    assert isinstance(what, Found)
    return what


def answered(answer: Answer, *, is_written: bool) -> ObservedPlacement:
    """A Placement with an answer, which its status records if `is_written`."""
    what = found(answer)
    placement = UNANSWERED.answered(
        what.status.phase, waits=bool(what.status.waits), message="", in_force=what.in_force
    )
    status: Mapping[str, Any] = placement_status({}, what.status, now="then") if is_written else {}
    return ObservedPlacement(placement, status, None if is_written else what)


def of_job(given: ObservedPlacement) -> tuple[object, ...]:
    return decide(JobSnapshot(given, ()), 0.0).effects


def of_cluster(given: ObservedPlacement) -> tuple[object, ...]:
    return decide(ClusterSnapshot((given,), (), 0), 0.0).effects


# --------------------------------------------------------------------------- the rules


def variants() -> Iterator[ObservedPlacement]:
    """Placements of every kind; their status and the answer that counts agree."""
    parts = product(
        (None, *PlacementPhase),
        (None, 1),
        (True, False),
        (True, False),
        (InForce(), InForce(0), InForce(1)),
        (True, False),
        (None, PLACED, REFUSED, UNKNOWN),
        (True, False),
    )
    for phase, observed, waits, is_deleting, in_force, is_readable, answer, is_broken in parts:
        placement = replace(
            UNANSWERED,
            phase=phase,
            observed_generation=observed,
            waits=waits,
            is_deleting=is_deleting,
            in_force=in_force,
            spec=UNANSWERED.spec if is_readable else None,
            problem="" if is_readable else "spec.pools",
        )
        status = {"phase": phase.value} if phase else {}
        what = found(answer) if answer and is_readable else None
        yield ObservedPlacement(placement, status, what, is_broken=is_broken)
        if not is_readable:  # its status says so already
            at = Situation(ObservedPlacement(placement, status))
            written = placement_status({}, at.desired, now="then") if at.desired else status
            yield ObservedPlacement(placement, written)


def test_each_observation_has_exactly_one_rule() -> None:
    assert [rule.observation for rule in RULES] == list(Observation)


def test_every_placement_is_decided_by_one_rule_and_each_rule_by_a_placement() -> None:
    """None of them holds in a phase that it does not name."""
    reached = {rule_of(Situation(given)).observation for given in variants()}
    assert reached == set(Observation)


@pytest.mark.parametrize("answer", [PLACED, REFUSED, UNKNOWN])
def test_an_answer_that_was_found_is_written_once_and_leads_to_its_phase(answer: Answer) -> None:
    given = answered(answer, is_written=False)
    assert rule_of(Situation(given)).action is Action.WRITE_ANSWER
    (effect,) = of_job(given)
    assert isinstance(effect, WritePlacementStatus)
    assert of_cluster(given) == ()
    written = answered(answer, is_written=True)
    assert Situation(written).phase is effect.status.phase
    assert of_job(written) == ()


def test_a_spec_that_cannot_be_read_is_refused_once_and_searched_never() -> None:
    unreadable = replace(UNANSWERED, spec=None, problem="spec.pools[1].index is 1")
    (effect,) = of_job(ObservedPlacement(unreadable))
    assert isinstance(effect, WritePlacementStatus)
    assert (effect.status.reason, effect.status.message) == (
        Reason.SPEC_INVALID,
        unreadable.problem,
    )
    written = ObservedPlacement(unreadable, placement_status({}, effect.status, now="then"))
    assert rule_of(Situation(written)).observation is Observation.INVALID
    assert of_job(written) == of_cluster(written) == of_cluster(ObservedPlacement(unreadable)) == ()
    other = replace(written, placement=replace(unreadable, problem="spec.pools[2].index is 2"))
    assert len(of_job(other)) == 1


def test_a_placement_that_is_being_deleted_is_left_alone() -> None:
    given = answered(PLACED, is_written=False)
    leaving = replace(given, placement=replace(given.placement, is_deleting=True))
    assert of_job(leaving) == of_cluster(leaving) == ()


def test_a_placement_that_no_rule_fits_stops_no_search_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The key of its job reports it."""

    def fits_one(at: Situation) -> Rule[Situation, Action]:
        if at.placement.uid == "uid":
            raise RuleDefect("no rule holds")
        return rule_of(at)

    monkeypatch.setattr(choosing, "rule_of", fits_one)
    other = ObservedPlacement(replace(UNANSWERED, ref=Ref("default", "other"), uid="other"))
    given = ClusterSnapshot((ObservedPlacement(UNANSWERED), other), (), 0)
    (search,) = decide(given, 0.0).effects
    assert isinstance(search, Search)
    assert search.target.uid == "other"


# --------------------------------------------------------------------------- answers


def test_an_answer_to_another_spec_is_dropped() -> None:
    assert judged(PLACED, None) is Dropped.OUTDATED
    assert judged(PLACED, replace(UNANSWERED, spec_generation=2)) is Dropped.OUTDATED
    assert judged(PLACED, replace(UNANSWERED, uid="of a namesake")) is Dropped.OUTDATED
    assert judged(PLACED, replace(UNANSWERED, spec=None, problem="spec.pools")) is Dropped.OUTDATED


def test_a_placement_that_does_not_hold_any_more_is_dropped_and_a_refusal_is_not() -> None:
    closed = (replace(NODES[0], unschedulable=True),)
    assert judged(PLACED, nodes=closed) is Dropped.OVERTAKEN
    assert isinstance(judged(REFUSED, nodes=closed), Found)


def test_a_refusal_of_another_plan_leaves_what_is_in_force_as_it_is() -> None:
    in_force = InForce(0, {}, {0: "gone"})
    of_another = replace(UNANSWERED, plan_generation=1, in_force=in_force)
    assert found(REFUSED, of_another).in_force == in_force
    of_this = replace(of_another, plan_generation=0)
    assert found(REFUSED, of_this).in_force == InForce(0)


def test_what_no_object_can_hold_is_refused() -> None:
    large = judged(PLACED, spec_bytes=2_000_000)
    assert isinstance(large, Found)
    assert (large.status.phase, large.status.reason) == (
        PlacementPhase.REFUSED,
        Reason.SPEC_INVALID,
    )
    assert large.in_force == InForce()


def test_misses_are_counted_in_a_row_and_for_one_spec() -> None:
    before = LastSearch("uid", 1, 0, 0.0, 0.0, misses=3)
    assert misses_in_a_row(None, found(REFUSED)) == 1
    assert misses_in_a_row(before, found(REFUSED)) == 4
    assert misses_in_a_row(replace(before, spec_generation=0), found(UNKNOWN)) == 1
    assert misses_in_a_row(before, found(PLACED)) == 0


def test_a_search_is_begun_for_a_spec_that_was_never_answered() -> None:
    assert of_cluster(ObservedPlacement(UNANSWERED)) == (Search(TARGET),)
