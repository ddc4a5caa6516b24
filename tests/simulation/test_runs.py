"""Runs of the simulation: the same each time, and judged by what they leave."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from tests.places import ROOT
from tests.simulation.effects import Effect, Kind, Mishap
from tests.simulation.forking import run_forked
from tests.simulation.plans import MISHAPS, Plan, every_plan, parsed, random_plan, shared
from tests.simulation.runs import Run, judge, run_scenario
from tests.simulation.scenarios import SCENARIOS

CRASHED_TWICE = {12: Mishap.CRASH_AFTER, 30: Mishap.CRASH_BEFORE}
DIGEST = """
from tests.simulation.effects import Mishap
from tests.simulation.runs import run_scenario
from tests.simulation.scenarios import SCENARIOS
mishaps = {12: Mishap.CRASH_AFTER, 30: Mishap.CRASH_BEFORE}
print(run_scenario(SCENARIOS["submit"], mishaps, seed=3).digest)
"""


def test_a_run_is_the_same_in_another_process_and_after_a_fork() -> None:
    """Every effect, its moment and every change of an object: whatever the order of hashes is."""
    scenario = SCENARIOS["submit"]
    here = run_scenario(scenario, CRASHED_TWICE, seed=3)
    assert here.problems == []
    forked = run_forked(scenario, [CRASHED_TWICE] * 2, lambda run: [run.digest], seed=3)
    assert forked == [[here.digest]] * 2
    other = subprocess.run(
        [sys.executable, "-c", DIGEST],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == here.digest


def test_another_seed_is_another_run_with_the_same_end() -> None:
    """Latencies and uids differ; what the job ends with does not."""
    scenario = SCENARIOS["submit"]
    first, second = (run_scenario(scenario, {}, seed=seed) for seed in (0, 1))
    assert first.digest != second.digest
    assert judge(scenario, first, second) == []


def test_a_mishap_is_met_where_the_plan_says() -> None:
    """The service dies at that effect: another instance of it does the rest."""
    scenario = SCENARIOS["submit"]
    undisturbed = run_scenario(scenario, {})
    number = next(n for n, e in enumerate(undisturbed.trace) if "POST" in e.text)
    run = run_scenario(scenario, {number: Mishap.CRASH_BEFORE})
    assert run.trace[: number + 1] == undisturbed.trace[: number + 1]
    assert "fusion-backend#2" in {effect.whose for effect in run.trace[number:]}
    assert judge(scenario, undisturbed, run) == []


def test_job_ids_that_an_instance_forgets_are_no_difference() -> None:
    """After a crash the counter holds only ids of Jobs that have none in their status."""
    scenario = SCENARIOS["submit-three"]
    undisturbed = run_scenario(scenario, {})
    writes = [n for n, e in enumerate(undisturbed.trace) if "streamsjobs/k/status" in e.text]
    run = run_scenario(scenario, {writes[0]: Mishap.CRASH_BEFORE})
    assert "fusion-backend#2" in {effect.whose for effect in run.trace[writes[0] :]}
    assert judge(scenario, undisturbed, run) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"state": {}}, "is missing"),
        ({"created": Counter({"pods/j-0#1": 2})}, "created 2 times"),
        ({"deleted": Counter({"pods/j-0#1": 1})}, "deleted 1 times"),
        ({"modified": Counter({"streamspes/j-0": 1})}, "was written to"),
        ({"problems": ["two launches at once"]}, "two launches"),
    ],
)
def test_a_run_that_ends_otherwise_is_found(change: dict[str, object], said: str) -> None:
    """Each part of the judgement can fail."""
    undisturbed = Run(state={"streamspes/j-0": {}}, created=Counter({"pods/j-0#1": 1}))
    assert judge(SCENARIOS["submit"], undisturbed, undisturbed) == []
    problems = judge(SCENARIOS["submit"], undisturbed, replace(undisturbed, **change))  # type: ignore[arg-type]
    assert any(said in problem for problem in problems)


NOT_RUNNING = "events/Job j SomeNotRunning"


@pytest.mark.parametrize(
    ("created", "healthy_at_s", "healthy", "is_well"),
    [
        ((0, 1), 40.0, "True", True),  # late pods are waited for as long as late facts
        ((0, 2), 0.5, "True", False),
        ((1, 0), 0.5, "True", True),  # nobody saw that they did not run
        ((1, 0), 40.0, "True", False),
        ((1, 0), 0.5, "False", False),
    ],
)
def test_that_pods_did_not_run_for_a_moment_may_be_reported_or_not(
    created: tuple[int, int], healthy_at_s: float, healthy: str, is_well: bool
) -> None:
    """What lasts is reported in every run."""
    whose, job = "fusion-backend#1", "/apis/g/v1/namespaces/default/streamsjobs/j/status"
    undisturbed = Run(
        trace=[
            Effect(Kind.WRITE, whose, "POST /api/v1/namespaces/default/events", 30.0),
            Effect(Kind.WRITE, whose, f"PATCH {job}", 30.0 + healthy_at_s),
        ],
        state={
            "streamsjobs/j": {"status": {"conditions": [{"type": "Healthy", "status": healthy}]}}
        },
        created=Counter({NOT_RUNNING: created[0]}),
    )
    run = replace(undisturbed, created=Counter({NOT_RUNNING: created[1]}))
    assert (judge(SCENARIOS["submit"], undisturbed, run) == []) == is_well


def test_a_run_with_other_ids_may_end_otherwise_and_create_no_more() -> None:
    """Contents, and so names, have the ids in them."""
    undisturbed = Run(state={"streamspes/j-0": {}}, created=Counter({"pods/j-0#1": 1}))
    other = replace(undisturbed, state={}, created=Counter({"pods/j-0#2": 1}), excuse="ids")
    assert judge(SCENARIOS["submit-three"], undisturbed, other) == []
    twice = replace(other, created=Counter({"pods/j-0#1": 1, "pods/j-0#2": 1}))
    (problem,) = judge(SCENARIOS["submit-three"], undisturbed, twice)
    assert problem == "2 pods were created, and undisturbed 1"


def test_every_effect_has_every_mishap_of_its_kind_and_none_twice() -> None:
    """Left out is what cannot be told apart: what was heard and not acted on dies unheard."""
    trace = [
        Effect(Kind.EVENT, "watch-ingest#1", "ADDED pods/a", 0.0),
        Effect(Kind.EVENT, "watch-ingest#1", "ADDED pods/b", 0.0),
        Effect(Kind.EVENT, "watch-ingest#1", "ADDED services/c", 0.0),
        Effect(Kind.WRITE, "fusion-backend#1", "POST d", 0.0),
        Effect(Kind.APPEND, "watch-ingest#1", "3 to millrace.resources", 0.0),
        Effect(Kind.EVENT, "watch-ingest#1", "DELETED pods/b", 0.0),
    ]
    plans = list(every_plan("submit", trace, 0))
    played = {(number, mishap) for plan in plans for number, mishap in plan.mishaps}
    assert len(plans) == len(played)
    left_out = {
        (number, mishap)
        for number, effect in enumerate(trace)
        for mishap in MISHAPS[effect.kind]
        if (number, mishap) not in played
    }
    again = {Mishap.OLD_WATCH, Mishap.OLD_LIST, Mishap.EXPIRED}
    assert left_out == (
        {(number, Mishap.CRASH_AFTER) for number in (0, 1, 2)}
        | {(number, Mishap.CRASH_BEFORE) for number in (1, 2)}
        | {(1, mishap) for mishap in again}
    )
    assert all(parsed(plan.name) == plan.mishaps for plan in plans)


def test_of_renewals_in_a_row_the_first_and_the_last_are_met() -> None:
    """In minutes in which nothing else happens there are dozens, and all are alike."""
    renewal = Effect(Kind.WRITE, "watch-ingest#1", "PATCH /apis/c/leases/watch-ingest", 0.0)
    other = Effect(Kind.EVENT, "watch-ingest#1", "ADDED pods/a", 0.0)
    trace = [renewal, *[renewal] * 3, other, renewal, other]
    plans = every_plan("submit", trace, 0)
    met = {number for plan in plans for number, _ in plan.mishaps}
    assert met == {0, 3, 4, 5, 6}


def test_a_share_has_every_class() -> None:
    """However small it is."""
    run = run_scenario(SCENARIOS["start"], {})
    plans = list(every_plan("start", run.trace, 0))
    few = shared(plans, 10_000)
    assert {plan.kind for plan in few} == {plan.kind for plan in plans}
    assert len(few) < len(plans) / 4


def test_a_random_plan_is_the_same_for_the_same_seed() -> None:
    """And says how it is played again."""
    trace = [Effect(Kind.WRITE, "a#1", f"POST {n}", 0.0) for n in range(20)]
    plan = random_plan("submit", trace, 5)
    assert plan == random_plan("submit", trace, 5)
    assert plan.command.endswith(f"--scenario submit --plan {plan.name} --seed 5")
    assert isinstance(plan, Plan)
    assert len(plan.mishaps) >= 2
