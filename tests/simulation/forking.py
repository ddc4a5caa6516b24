"""Many runs of one scenario that are prepared once: at its opening the process forks for each.

A child is a copy of the prepared world. It goes on under its own plan, judges itself, writes what
it found into a pipe, and is gone; the next child finds the folder of bundles as the first one did.
"""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import shutil
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.simulation.effects import Mishap
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.runs import Run, run_scenario
from tests.simulation.scenarios.scenario import Scenario

Mishaps = Mapping[int, Mishap]


class _AllPlayed(Exception):
    """Leaves the prepared world of the parent when the last child is gone."""


def run_forked(
    scenario: Scenario,
    plans: Sequence[Mishaps],
    judge: Callable[[Run], list[str]],
    *,
    seed: int = 0,
    keeps_log: bool = False,
) -> list[list[str]]:
    """What is wrong with the runs of a scenario under each plan, in their order."""
    found: list[list[str]] = []
    writing: list[int] = []

    def fork_for_each(world: FaultedWorld) -> None:
        loop = asyncio.get_running_loop()
        kept = Path(tempfile.mkdtemp(prefix="millrace-sim-kept-"))
        shutil.copytree(world.folder, kept, dirs_exist_ok=True)
        gc.freeze()
        for plan in plans:
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                gc.disable()  # a run is short, and what it leaves goes with the process
                os.close(reader)
                writing.append(writer)
                asyncio._set_running_loop(loop)  # it is forgotten over a fork
                world.tap.mishaps = plan
                return
            os.close(writer)
            found.append(_answer_of(child, reader))
            _put_back(kept, world.folder)
        shutil.rmtree(kept)
        raise _AllPlayed

    run = None
    try:
        run = run_scenario(scenario, {}, seed=seed, keeps_log=keeps_log, at_opening=fork_for_each)
    except _AllPlayed:
        return found
    except BaseException:
        if not writing:
            raise
        traceback.print_exc()
    if not writing:  # it never came to the opening
        assert run is not None
        return [run.problems for _ in plans]
    with os.fdopen(writing[0], "wb") as pipe:
        pipe.write(pickle.dumps(judge(run) if run is not None else ["the run itself broke"]))
    os._exit(0)


def _answer_of(child: int, reader: int) -> list[str]:
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer:
        return ["its process ended without a word"]
    problems: list[str] = pickle.loads(answer)
    return problems


def _put_back(kept: Path, folder: Path) -> None:
    """The folder as it was: its child has left it changed, or removed it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kept, folder)
