"""What was learnt can be learnt again from what passed the door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from contracts.canonical import canonical_bytes
from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.fusion_backend.adapters.answers import Answers, JobAnswers
from services.fusion_backend.core.answered import answered_of
from services.fusion_backend.core.snapshot import Damage, Trouble
from tests.unit.fusion_backend.hosted_world import HostedWorld
from tests.unit.fusion_backend.world import World

REFUSAL = PlanRefused(Reason.WIDTH_REFUSED, field="width", value=9, message="too wide")
TROUBLE = Trouble(Reason.PLANNING_FAILED, "no answer", since=1.0, until=2.5)


def _fail_and_succeed(known: JobAnswers) -> None:
    known.note_trouble("PE a", Reason.POD_REFUSED, "no", 3.0)
    known.note_done("PE a")


LEARNING: dict[str, Callable[[JobAnswers], None]] = {
    "nothing more": lambda known: None,
    "the planner works": lambda known: known.begin_planning(None),  # type: ignore[arg-type]
    "the planner ended": lambda known: known.end_planning(),
    "the planner failed": lambda known: known.note_planning_trouble("digest", TROUBLE),
    "an effect failed": lambda known: known.note_trouble("PE a", Reason.POD_REFUSED, "no", 3.0),
    "an effect succeeded": _fail_and_succeed,
    "a name is taken": lambda known: known.note_name_taken("Service a"),
    "a record is damaged": lambda known: known.note_damage("uid", Damage("gone", is_lost=True)),
    "a certificate was seen": lambda known: known.see_certificate(4.0),
    "servers are refused": lambda known: known.refuse_servers(REFUSAL),
    "it is settled": lambda known: known.settle(),
}


def _state(answers: Answers, uid: str) -> dict[str, Any]:
    known = answers.of(uid)
    return {
        "outcomes": {
            digest: each.message if isinstance(each, PlanRefused) else each.record
            for digest, each in known.outcomes.items()
        },
        "unplaced": {key: each.message for key, each in known.unplaced.items()},
        "texts": sorted(known.texts),
        "troubled": known.troubled,
        "troubles": known.troubles,
        "plans": known.plans,
        "damaged": known.damaged,
        "is planning": known.is_planning,
        "newest": known.newest,
        "name taken": known.name_taken,
        "launches": known.launches,
        "certificate": known.provisions.certificate_seen_at,
        "servers": known.provisions.refusal and known.provisions.refusal.message,
        "is gone": answers.is_gone(uid),
    }


@pytest.mark.parametrize("learning", LEARNING)
@pytest.mark.parametrize("is_settled", [True, False])
def test_what_passed_the_door_gives_the_same_answers_again(learning: str, is_settled: bool) -> None:
    entered: list[tuple[str, bytes]] = []
    answers = Answers(lambda what, content: entered.append((what, canonical_bytes(content))))
    world = HostedWorld()
    world.answers = answers
    world.converge()
    world.resize(0, 7)
    for _ in range(30 if is_settled else 3):
        world.step()
    LEARNING[learning](answers.of(world.uid))
    again = Answers()
    for what, content in entered:
        again.take(answered_of(what, orjson.loads(content)))
    assert _state(again, world.uid) == _state(answers, world.uid)


def test_a_job_that_was_forgotten_or_is_gone_is_so_again() -> None:
    entered: list[tuple[str, bytes]] = []
    answers = Answers(lambda what, content: entered.append((what, canonical_bytes(content))))
    world = World()
    world.answers = answers
    world.converge()
    answers.keep_only(())
    answers.learn_gone(world.uid)
    again = Answers()
    for what, content in entered:
        again.take(answered_of(what, orjson.loads(content)))
    assert _state(again, world.uid) == _state(answers, world.uid)
    assert again.is_gone(world.uid)


def test_a_plan_record_passes_whole_once() -> None:
    """Of a job of 500 PEs it has hundreds of kilobytes."""
    sizes: list[int] = []
    world = World()
    world.answers = Answers(
        lambda what, content: (
            sizes.append(len(content.record.packed))
            if what.startswith("Plan") and hasattr(content, "record")
            else None
        )
    )
    world.converge()
    assert [size > 0 for size in sizes] == [True, False]
