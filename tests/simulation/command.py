"""The command line of the simulation: its plans, its processes and its report.

The exit code: 0 where every plan that was requested was played and ends as it should, 1 where one
does not, 2 where there was nothing to play.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from pathlib import Path

from tests.simulation.effects import MEANING, Effect
from tests.simulation.forking import run_forked
from tests.simulation.plans import Plan, every_plan, misses, parsed, random_plan, shared
from tests.simulation.reached import as_json
from tests.simulation.replays import keep, replay_all
from tests.simulation.runs import Run, judge, run_scenario
from tests.simulation.scenarios import SCENARIOS

PROGRESS_S = 10.0
AROUND = 12
CHUNK = 40
SHOWN_PROBLEMS_MAX = 12
NOTHING_PLAYED = 2

Verdict = tuple[Plan, list[str]]


def main(arguments: Sequence[str]) -> int:
    """What was requested; the exit code."""
    options = _read(arguments)
    if options.list:
        _tell_what_there_is()
        return 0
    names = options.scenario or list(SCENARIOS)
    if options.plan:
        return _play_again(Plan(names[0], options.plan, options.seed))
    plans, broken = _all_plans(names, options)
    if options.reach is not None:
        options.reach.write_bytes(
            as_json({name: undisturbed(name, options.seed).rules for name in names})
        )
    if options.undisturbed:
        return _count([], broken, play, options.jobs)
    if not plans and not broken:
        print_lines(
            "nothing was played: no plan of these scenarios is of the classes that were asked for"
        )
        return NOTHING_PLAYED
    if not options.replay:
        return _count(plans, broken, play, options.jobs)
    with tempfile.TemporaryDirectory(prefix="millrace-sim-logs-") as folder:
        logs = Path(folder)
        failed = _count(plans, broken, partial(play, logs=logs), options.jobs)
        return failed if replay_all(logs, options.jobs, print_lines) else 1


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description=__doc__,
        epilog="A plan is MISHAP:NUMBER, where NUMBER counts the effects of the undisturbed run. "
        "--list tells what mishaps and scenarios there are; --plan shows one run in detail.",
    )
    add = parser.add_argument
    add("--scenario", action="append", choices=SCENARIOS, metavar="NAME", help="only this one")
    kinds = [str(mishap) for mishap in MEANING]
    add("--kind", action="append", choices=kinds, metavar="MISHAP", help="only this class")
    add("--plan", type=parsed, help="play one plan and show its trace, e.g. crash-before:17")
    add("--seed", type=int, default=0, help="of latencies, uids and back-offs (0: no latencies)")
    add("--seeds", type=int, default=0, help="so many random runs in addition")
    add("--only-seeds", action="store_true", help="the random runs alone")
    add("--one-in", type=int, default=1, help="a share: one plan in so many of each class")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    add("--undisturbed", action="store_true", help="no plans: the undisturbed runs alone")
    add(
        "--reach", type=Path, metavar="FILE", help="write the first scenario that reaches each rule"
    )
    add("--replay", action="store_true", help="make each decision again, in other processes")
    add("--list", action="store_true", help="tell scenarios and mishaps")
    options = parser.parse_args(arguments)
    if options.plan and len(options.scenario or ()) != 1:
        parser.error("--plan needs the one --scenario that it is of")
    if options.only_seeds and not options.seeds:
        parser.error("--only-seeds needs --seeds N: how many")
    return options


def print_lines(line: str) -> None:
    """A line of the report, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _tell_what_there_is() -> None:
    for scenario in SCENARIOS.values():
        print_lines(f"  {scenario.name:24} {scenario.says}")
    print_lines("")
    for mishap, meaning in MEANING.items():
        print_lines(f"  {mishap:24} {meaning}")


# ------------------------------------------------------------------ many plans


_UNDISTURBED: dict[tuple[str, int], Run] = {}


def undisturbed(scenario: str, seed: int) -> Run:
    """The run without a mishap, which is the same in every process."""
    if (scenario, seed) not in _UNDISTURBED:
        _UNDISTURBED[scenario, seed] = run_scenario(SCENARIOS[scenario], {}, seed=seed)
    return _UNDISTURBED[scenario, seed]


def _run_undisturbed(names: Sequence[str], seed: int, jobs: int) -> None:
    """All of them once, before the processes that play plans are forked off and know them."""
    if jobs <= 1:
        return
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        runs = pool.imap(partial(undisturbed, seed=seed), names)
        _UNDISTURBED.update(((name, seed), run) for name, run in zip(names, runs, strict=True))


def _all_plans(
    names: Sequence[str], options: argparse.Namespace
) -> tuple[list[Plan], list[Verdict]]:
    plans: list[Plan] = []
    broken: list[Verdict] = []
    _run_undisturbed(names, options.seed, options.jobs)
    for name in names:
        run = undisturbed(name, options.seed)
        if run.problems:
            broken.append((Plan(name, (), options.seed), run.problems))
        elif not options.only_seeds:
            found = [
                plan
                for plan in every_plan(name, run.trace, options.seed)
                if not options.kind or plan.kind in options.kind
            ]
            plans += shared(found, options.one_in * SCENARIOS[name].one_in)
    for seed in range(1, options.seeds + 1):
        name = names[seed % len(names)]
        plans.append(random_plan(name, undisturbed(name, 0).trace, seed))
    return plans, broken


def play(plans: Sequence[Plan], logs: Path | None = None) -> list[Verdict]:
    """Plans of one scenario and seed, and what is wrong with each; their logs go into `logs`."""
    first = plans[0]
    scenario = SCENARIOS[first.scenario]
    reference = undisturbed(first.scenario, first.reference_seed)

    def judged(run: Run) -> list[str]:
        if logs is not None and run.log is not None:
            keep(run.log, logs, f"{scenario.name}-{os.getpid()}")
        return judge(scenario, reference, run)

    mishaps = [dict(plan.mishaps) for plan in plans]
    problems = run_forked(scenario, mishaps, judged, seed=first.seed, keeps_log=logs is not None)
    return list(zip(plans, problems, strict=True))


def _chunks(plans: Sequence[Plan]) -> Iterator[Sequence[Plan]]:
    """Plans that can share their preparation, few enough that both cores have work to the end."""
    for _, group in groupby(plans, key=lambda plan: (plan.scenario, plan.seed)):
        together = list(group)
        for start in range(0, len(together), CHUNK):
            yield together[start : start + CHUNK]


Play = Callable[[Sequence[Plan]], list[Verdict]]


def _count(plans: Sequence[Plan], broken: Sequence[Verdict], player: Play, jobs: int) -> int:
    began_s, told_s = time.monotonic(), time.monotonic()
    done: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for plan, problems in broken:
        _tell_failure(plan, problems)
    for number, (plan, problems) in enumerate(_played(plans, player, jobs), start=1):
        done[(plan.scenario, plan.kind)] += 1
        if problems:
            failed[(plan.scenario, plan.kind)] += 1
            _tell_failure(plan, problems)
        if time.monotonic() - told_s > PROGRESS_S:  # unstretched: no deadline
            told_s = time.monotonic()
            rate = number / (told_s - began_s)
            print_lines(f"  {number} of {len(plans)} plans, {rate:.1f} a second")
    _tell_counts(done, failed)
    wrong = failed.total() + len(broken)
    print_lines(f"{done.total() + len(broken)} plans, {wrong} failed")
    return 1 if wrong else 0


def _played(plans: Sequence[Plan], player: Play, jobs: int) -> Iterator[Verdict]:
    if jobs <= 1:
        yield from chain.from_iterable(map(player, _chunks(plans)))
        return
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from chain.from_iterable(pool.imap_unordered(player, _chunks(plans)))


def _tell_failure(plan: Plan, problems: Sequence[str]) -> None:
    print_lines(f"FAILED {plan.command}")
    for problem in problems[:SHOWN_PROBLEMS_MAX]:
        print_lines(f"    {problem}")


def _tell_counts(done: Counter[tuple[str, str]], failed: Counter[tuple[str, str]]) -> None:
    for title, part in (("scenario", 0), ("class", 1)):
        print_lines(f"\nplans by {title}")
        totals: Counter[str] = Counter()
        wrong: Counter[str] = Counter()
        for key, count in done.items():
            totals[key[part]] += count
            wrong[key[part]] += failed[key]
        for name, count in totals.items():
            ending = f"  {wrong[name]} failed" if wrong[name] else ""
            print_lines(f"  {name:24} {count:6}{ending}")
    print_lines("")


# ------------------------------------------------------------------ one plan


def _play_again(plan: Plan) -> int:
    scenario = SCENARIOS[plan.scenario]
    reference = undisturbed(plan.scenario, plan.reference_seed)
    if impossible := list(misses(plan, reference.trace)):
        for each in impossible:
            print_lines(each)
        return NOTHING_PLAYED
    run = run_scenario(scenario, dict(plan.mishaps), seed=plan.seed, talks=True)
    problems = judge(scenario, reference, run)
    for number, mishap in plan.mishaps:
        if number >= len(run.trace):
            print_lines(f"{mishap}:{number} was not met: this run has {len(run.trace)} effects")
    _tell_trace(run.trace, [number for number, _ in plan.mishaps])
    for problem in problems:
        print_lines(f"    {problem}")
    print_lines(f"1 plans, {1 if problems else 0} failed")
    return 1 if problems else 0


def _tell_trace(trace: Sequence[Effect], faults: Sequence[int]) -> None:
    """The effects around the faults, and those after the last one."""
    near = {n for fault in faults for n in range(fault - AROUND, fault + 4 * AROUND)}
    for number, effect in enumerate(trace):
        if number in near:
            mark = ">>" if number in faults else "  "
            print_lines(
                f"{mark} {number:4} {effect.at_s:9.3f} s {effect.kind:7} {effect.whose:20}"
                f" {effect.text}"
            )
