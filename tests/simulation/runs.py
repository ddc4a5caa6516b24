"""One run of a scenario under a plan, and what it is judged by.

1. The world is prepared, undisturbed, until it is quiet.
2. The tap opens, people act, mishaps are met, until the scenario's end has come about.
3. When every mishap is over and nothing is written any more, the end state and the counts of
   creations and deletions are those of the undisturbed run, and what it did not write to was not
   written to.
4. Then ten minutes pass without a write.

Invariants are held throughout, and no service may have met a defect of its own.

Many plans of one scenario share its preparation: where it is over, the process forks for each plan
(`run_forked`). A run alone prepares for itself and is the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from contracts.reasons import Reason
from tests.simulation.effects import Effect, Mishap, Tap
from tests.simulation.end_state import differences, end_state
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.one_at_a_time import OneAtATimeLoop, run_one_at_a_time
from tests.simulation.reached import begin_run, rules_of_run
from tests.simulation.remaking import Log, log_of
from tests.simulation.scenarios.scenario import Scenario

CONVERGED_S_MAX = 1500.0
QUIET_S = 75.0
"""Longer than a status may rest while much is going on."""
SILENCE_S = 600.0
LEASE_S = 15.0
"""How long a service may sleep before another one leads: so late facts may be."""


@dataclass
class Run:
    """What a run left."""

    trace: list[Effect] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    created: Counter[str] = field(default_factory=Counter)
    deleted: Counter[str] = field(default_factory=Counter)
    modified: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    digest: str = ""
    excuse: str = ""
    rules: frozenset[str] = frozenset()
    log: Log | None = None


AtOpening = Callable[[FaultedWorld], None]


def run_scenario(
    scenario: Scenario,
    mishaps: Mapping[int, Mishap],
    *,
    seed: int = 0,
    talks: bool = False,
    keeps_log: bool = False,
    at_opening: AtOpening = lambda _world: None,
) -> Run:
    """Run a scenario in a world of its own; whatever goes wrong is among the run's problems."""
    result = Run(log=Log() if keeps_log else None)
    begin_run()
    with tempfile.TemporaryDirectory(prefix="millrace-sim-") as folder, _logging(talks):
        loop = OneAtATimeLoop()

        def new_world() -> FaultedWorld:
            world = FaultedWorld(Path(folder), seed=seed, tap=Tap(mishaps, result.trace))
            loop.after_each = world.after_each
            return world

        try:
            run_one_at_a_time(_run(new_world, scenario, result, at_opening), loop)
        except (AssertionError, RuntimeError, ExceptionGroup) as problem:
            result.problems.append(f"{type(problem).__name__}: {problem}")
    result.rules = rules_of_run()
    return result


async def _run(
    new_world: Callable[[], FaultedWorld], scenario: Scenario, result: Run, at_opening: AtOpening
) -> None:
    world = new_world()
    async with world.running_cluster():
        try:
            await scenario.prepare(world)
            at_opening(world)
            world.open_tap()
            await scenario.act(world)
            await world.until(
                scenario.says,
                lambda: world.tap.pending == 0 and scenario.is_done(world),
                wait_s=CONVERGED_S_MAX,
            )
            await world.settle(quiet_s=QUIET_S)
            await _note_end(world, scenario, result)
        finally:
            await world.stop_all()
    result.problems += [f"{type(each).__name__}: {each}" for each in world.failures]
    if result.log is not None:
        result.log = await log_of(world)


async def _note_end(world: FaultedWorld, scenario: Scenario, result: Run) -> None:
    assert world.changes is not None
    world.tap.is_open = False
    _cut_tail(result.trace)
    world.changes.take()
    result.excuse = scenario.excuse(world)
    result.state = end_state(world)
    result.created = world.changes.created
    result.deleted = world.changes.deleted
    result.modified = world.changes.modified
    result.digest = hashlib.sha256(
        repr([(each.kind, each.whose, each.text, each.at_s) for each in result.trace]).encode()
        + repr(world.changes.log).encode()
    ).hexdigest()
    before = len(world.requests)
    await world.clock.sleep(SILENCE_S)
    if written := world.writes(before):
        result.problems.append(f"{len(written)} writes in silence, the first: {written[0]}")
    if not scenario.is_done(world):
        result.problems.append(f"ten minutes later it does not hold any more: {scenario.says}")
    result.problems += world.defects()


def _cut_tail(trace: list[Effect]) -> None:
    """Renewals of Leases go on for ever; what comes after the last other effect is no place."""
    while trace and "/leases" in trace[-1].text:
        trace.pop()


def judge(scenario: Scenario, undisturbed: Run, run: Run) -> list[str]:
    """What is wrong with a run, compared with the undisturbed one."""
    problems = list(run.problems)
    if problems or scenario.loose:
        return problems
    if run.excuse:
        return [] if scenario.excuses_counts else _miscounted(undisturbed, run)
    problems += differences(undisturbed.state, run.state)
    for what, wanted, found in (
        ("created", undisturbed.created, run.created),
        ("deleted", undisturbed.deleted, run.deleted),
    ):
        problems += [
            f"{name} was {what} {found[name]} times, and undisturbed {wanted[name]} times"
            for name in sorted(wanted.keys() | found.keys())
            if wanted[name] != found[name] and not _reports_a_delay(name, undisturbed, run)
        ]
    untouched = undisturbed.state.keys() - undisturbed.modified.keys() - undisturbed.created.keys()
    problems += [
        f"{name} was written to, and not in the undisturbed run"
        for name in sorted(untouched & run.modified.keys())
    ]
    return problems


def _reports_a_delay(name: str, undisturbed: Run, run: Run) -> bool:
    """Whether time alone decides if the Event that pods do not run is created.

    * Only in the disturbed run: it is due 15 s after pods had to start, and facts are late as long.
    * Only in the undisturbed run: pods that did not run were replaced so soon that a fusion-backend
      which was away, or whose facts were late, never knew. Not if they do not run at the end.
    """
    if not (name.startswith("events/") and name.endswith(Reason.SOME_NOT_RUNNING)):
        return False
    counts = undisturbed.created[name], run.created[name]
    return counts == (0, 1) or (counts == (1, 0) and _was_unwell_briefly(undisturbed))


def _was_unwell_briefly(run: Run) -> bool:
    """Whether all jobs are healthy at the end, soon after the first Event."""
    written = [each for each in run.trace if each.service == "fusion-backend"]
    events = [each.at_s for each in written if each.text.endswith("/events")]
    statuses = [each.at_s for each in written if "/streamsjobs/" in each.text]
    is_brief = bool(events and statuses) and statuses[-1] - events[0] < LEASE_S
    jobs = [each for name, each in run.state.items() if name.startswith("streamsjobs/")]
    return is_brief and all(map(_is_healthy, jobs))


def _is_healthy(job: Mapping[str, Any]) -> bool:
    conditions = job.get("status", {}).get("conditions", ())
    return any(each["type"] == "Healthy" and each["status"] == "True" for each in conditions)


def _miscounted(undisturbed: Run, run: Run) -> list[str]:
    """How many objects of each kind were created and deleted otherwise; names may differ."""
    return [
        f"{found[kind]} {kind} were {what}, and undisturbed {wanted[kind]}"
        for what, wanted, found in (
            ("created", _by_kind(undisturbed.created), _by_kind(run.created)),
            ("deleted", _by_kind(undisturbed.deleted), _by_kind(run.deleted)),
        )
        for kind in sorted(wanted.keys() | found.keys())
        if wanted[kind] != found[kind]
    ]


def _by_kind(names: Counter[str]) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for name, count in names.items():
        kinds[name.partition("/")[0]] += count
    return kinds


@contextlib.contextmanager
def _logging(talks: bool) -> Iterator[None]:
    """What services log is shown only where one plan is looked at."""
    level = logging.INFO if talks else logging.CRITICAL
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    disabled = logging.root.manager.disable
    logging.disable(logging.NOTSET if talks else logging.CRITICAL)
    try:
        yield
    finally:
        structlog.configure(**before)
        logging.disable(disabled)
