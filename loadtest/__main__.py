"""`make bench`: submit, resize and delete on the sandbox for several sizes, against the floor.

Two systems of child processes run side by side: the whole of millrace, and an API server alone for
the floor. Exit code 1 when the write ratio exceeds its threshold.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from cli.running import UpOptions, running_system
from contracts.bundle_format import pack
from loadtest.api import Api
from loadtest.floor import delete_floor, resize_floor, submit_floor
from loadtest.measuring import Measured, measure
from loadtest.profiles import DEFAULT_SIZES, Profile
from loadtest.reporting import Row, exceeded, render

EXAMPLE = Path(__file__).parents[1] / "examples" / "wordcount"
BUNDLE = "wordcount.sab"
NODES = 4


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _example_bundle() -> bytes:
    (adl,) = sorted(EXAMPLE.glob("*.adl"))
    return pack(adl.read_bytes())


async def _floor_of(
    api: Api, profile: Profile, run: int, resized: Measured
) -> tuple[float, float, float]:
    name = f"floor-{profile.pes}-{run}"
    submit_s = await submit_floor(api, name, profile.pes)
    resize_s = await resize_floor(
        api, name, pes=profile.pes, added=resized.added, changed=resized.changed
    )
    return submit_s, resize_s, await delete_floor(api)


async def _bench(profiles: list[Profile], runs: int, state: Path) -> list[Row]:
    rows: list[Row] = []
    ours = UpOptions(state / "ours.kubeconfig", nodes=NODES, state=state / "ours")
    bare = UpOptions(state / "bare.kubeconfig", nodes=NODES, state=state / "bare", services=())
    async with running_system(ours, _say) as system, running_system(bare, _say) as alone:
        (system.bundles / BUNDLE).write_bytes(_example_bundle())
        async with Api(system.server) as api, Api(alone.server) as floor_api:
            for profile in profiles:
                for run in range(runs):
                    _say(f"{profile.pes} PEs, run {run + 1} of {runs}")
                    submitted, resized, deleted_s = await measure(api, profile, BUNDLE)
                    floor = await _floor_of(floor_api, profile, run, resized)
                    rows.append(Row(profile, submitted, resized, deleted_s, *floor))
    return rows


def main(
    sizes: Annotated[
        str, typer.Option(help="PEs of the jobs to measure, separated by commas.")
    ] = ",".join(map(str, DEFAULT_SIZES)),
    runs: Annotated[int, typer.Option(help="Runs of each size; medians are printed.")] = 3,
) -> None:
    """Measure submit, resize (until all pods are created) and delete on the sandbox."""
    profiles = [Profile(int(size)) for size in sizes.split(",")]
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        rows = asyncio.run(_bench(profiles, runs, Path(folder)))
    print(render(rows))
    if exceeded(rows):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
