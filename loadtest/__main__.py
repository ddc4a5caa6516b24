"""`make bench` and `make bench-real`: submit, resize, delete for several sizes, against the floor.

On the sandbox, or with `--real` on Apache Kafka and a real control plane. Planner, placement and
views are measured, too, but on the real pair; the planner with `--planner` alone (`make
bench-planner`). Exit code 1 when the write ratio, the planner's growth or the cost of a view
exceeds its threshold, or the services' count of writes is not the API server's.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import orjson
import typer

from cli.showing import answer_lines, print_lines
from loadtest import cutting, placement, planner, views
from loadtest.bundles import chosen_application, put_bundle
from loadtest.floor import Floor, delete_floor
from loadtest.grounds import Ground, pair_ground, sandbox_ground
from loadtest.hops import Hops, measure_hops
from loadtest.measuring import measure
from loadtest.profiles import DEFAULT_SIZES, REAL_SIZES, Profile
from loadtest.recording import PAGE, record
from loadtest.reporting import DELETE, Row, exceeded, miscounted, render, to_json


async def _run(ground: Ground, profile: Profile, number: int) -> list[Row]:
    """One run: the services' steps, then the floor of the same steps."""
    steps, deleted_s = await measure(ground.bench, profile)
    rows, pes = [], 0
    floor = Floor(ground.floor, ground.floor_namespace, f"floor-{profile.pes}-{number}")
    gauges, session = ground.bench.gauges, ground.bench.api.session
    for name, step in steps.items():
        before = await gauges.read(session)
        if name == "submit":
            floor_s = await floor.submit(profile.pes)
        else:
            floor_s = await floor.resize(pes=pes, added=step.added, changed=step.changed)
        pes += step.added
        spent = (await gauges.read(session)).since(before).cpu_s
        rows.append(Row(name, profile, step.pods_created_s, floor_s, step, spent))
    gone_s = await delete_floor(ground.floor, ground.floor_namespace)
    return [*rows, Row(DELETE, profile, deleted_s, gone_s)]


Keep = Callable[[list[Row], Hops | None], None]


async def _bench(
    ground: Ground, profiles: list[Profile], runs: int, keep: Keep
) -> tuple[list[Row], Hops | None]:
    """Measure; what there is so far is kept after each run, so that an end loses one run only."""
    hops = None
    if ground.bootstrap_servers is not None:
        print_lines("event hops")
        hops = await measure_hops(ground.bench.api, ground.bootstrap_servers)
    rows: list[Row] = []
    for profile in profiles:
        for number in range(runs):
            print_lines(f"{profile.pes} PEs, run {number + 1} of {runs}")
            rows += await _run(ground, profile, number)
            keep(rows, hops)
    return rows, hops


async def _measured(
    profiles: list[Profile], runs: int, keep: Keep, *, real: bool, pair: Path | None
) -> tuple[list[Row], Hops | None]:
    application, bundle = chosen_application()
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        state = Path(folder)
        show = print_lines
        opened = pair_ground(state, pair, show) if real else sandbox_ground(state, show)
        async with opened as ground:
            put_bundle(ground.bundles, application, bundle)
            return await _bench(ground, profiles, runs, keep)


def main(
    sizes: Annotated[
        str, typer.Option(help="PEs of the jobs to measure, separated by commas.")
    ] = "",
    runs: Annotated[int, typer.Option(help="Runs of each size; medians are printed.")] = 3,
    real: Annotated[bool, typer.Option("--real", help="On the real pair.")] = False,
    state: Annotated[Path | None, typer.Option(help="Folder of the real pair.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write every run there as JSON.")] = None,
    double: Annotated[
        bool | None, typer.Option(help="Resize to the double as well; usual on the real pair.")
    ] = None,
    planner_alone: Annotated[
        bool, typer.Option("--planner", help="The planner alone; --sizes are operators then.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Write the report into docs/measurements.md, too.")
    ] = False,
) -> None:
    """Measure submit, resize (until all pods are created) and delete, and the planner."""
    chosen = [int(size) for size in sizes.split(",")] if sizes else None
    report = _Report()
    if planner_alone:
        command = "make bench-planner"
        is_within = _planner_is_within(chosen or planner.SIZES, runs, json, report)
    else:
        command = "make bench-real" if real else "make bench"
        doubles = real if double is None else double
        application, _ = chosen_application()
        profiles = [
            Profile(size, application, doubles=doubles and size > 1)
            for size in chosen or (REAL_SIZES if real else DEFAULT_SIZES)
        ]
        is_within = _system_is_within(profiles, runs, json, report, real=real, pair=state)
    if record:
        report.write(command)
    raise typer.Exit(0 if is_within else 1)


class _Report:
    """What is printed, and may be written into the page of measurements."""

    def __init__(self) -> None:
        self._printed: list[str] = []

    def print(self, text: str) -> None:
        """Print a part of the report."""
        answer_lines(text)
        self._printed.append(text)

    def write(self, command: str) -> None:
        """Write it down as the newest figures of a command."""
        record(PAGE, command, "\n".join(self._printed))


def _system_is_within(
    profiles: list[Profile],
    runs: int,
    json: Path | None,
    report: _Report,
    *,
    real: bool,
    pair: Path | None,
) -> bool:
    """Measure the running system; whether writes and the planner keep to their thresholds."""

    def keep(rows: list[Row], hops: Hops | None) -> None:
        if json is not None:
            json.write_bytes(orjson.dumps(to_json(rows, hops), option=orjson.OPT_INDENT_2))

    rows, hops = asyncio.run(_measured(profiles, runs, keep, real=real, pair=pair))
    report.print(render(rows, hops))
    for row in miscounted(rows):
        where = f"{row.step} of {row.profile.pes} PEs"
        print_lines(f"{where}: writes counted differently: {row.to_json()}")
    is_within = real or _planner_is_within(planner.SIZES, runs, None, report)
    if not real:
        report.print(placement.render(placement.measure_all(runs, print_lines)))
        is_within = _views_are_within(report) and is_within
    return is_within and not exceeded(rows) and not miscounted(rows)


def _views_are_within(report: _Report) -> bool:
    """Whether a change of a pod costs no more than it may."""
    changes, turns = views.measure_all(print_lines)
    report.print(views.render(changes, turns))
    problems = views.exceeded(changes)
    for problem in problems:
        print_lines(problem)
    return not problems


def _planner_is_within(sizes: Sequence[int], runs: int, json: Path | None, report: _Report) -> bool:
    """Whether the planner's time grows no faster than it may."""
    rows = planner.measure_all(sizes, runs, print_lines)
    report.print(planner.render(rows))
    report.print(cutting.render(cutting.cuts()))
    if json is not None:
        json.write_bytes(orjson.dumps(planner.to_json(rows), option=orjson.OPT_INDENT_2))
    problems = planner.exceeded(rows)
    for problem in problems:
        print_lines(problem)
    return not problems


if __name__ == "__main__":
    typer.run(main)
