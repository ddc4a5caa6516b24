"""`make bench-scale`: many jobs of many PEs at once, on the real pair with its own nodes.

It takes minutes and is no part of CI. The pair is brought up in a folder of its own and ends with
the run. On the sandbox (`--sandbox`) it shows that the steps work; its figures say nothing of a
cluster.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.layouts import UpOptions
from cli.running import running_system
from cli.showing import answer_lines, print_lines
from loadtest import counting
from loadtest.api import Api
from loadtest.bundles import chosen_application, put_bundle
from loadtest.grounds import FLOOR_NAMESPACE, gauges_of, make_namespace, pair_of
from loadtest.recording import record
from loadtest.scale_steps import Run, Scale, Step

PAGE: Final = Path("docs/sizing.md")
PES_PER_NODE: Final = 125
"""Half of what a node of the pair has room for, so that the scheduler never searches."""
NODES_MIN: Final = 4
MIB: Final = 2**20


async def measured(scale: Scale, nodes: int, *, sandbox: bool) -> list[Step]:
    """The steps of one run, on a system of its own."""
    application, bundle = chosen_application()
    with tempfile.TemporaryDirectory(prefix="millrace-scale-") as folder:
        state = Path(folder)
        kubeconfig = state / "kubeconfig"
        options = UpOptions(
            kubeconfig,
            nodes=nodes,
            state=state / "up",
            real=not sandbox,
            pair=None if sandbox else state / "pair",
        )
        os.environ["MILLRACE_NAMESPACES"] = "default"  # for the children: not the bare writes
        async with (
            running_system(options, print_lines) as system,
            Api.of(kubeconfig) as api,
        ):
            await make_namespace(api, FLOOR_NAMESPACE)
            put_bundle(system.bundles, application, bundle)
            parts = await _parts(options.pair)
            run = Run(system, api, lambda: gauges_of(system, parts), scale, say=print_lines)
            return await run.steps(FLOOR_NAMESPACE)


async def _parts(pair: Path | None) -> Mapping[str, int]:
    """The processes of the pair by name; the sandbox has none."""
    if pair is None:
        return {}
    _servers, processes = await pair_of(pair)
    return processes


def render(scale: Scale, nodes: int, steps: Sequence[Step]) -> str:
    """Tables in Markdown: the steps, memory and CPU of each process, and everybody's writes."""
    lines = [
        f"{scale.total} PEs in {scale.jobs} jobs on {nodes} nodes",
        "",
        "| step | seconds | bare writes s | ratio | writes | a PE | |",
        "|---|---|---|---|---|---|---|",
        *(_line(scale, step) for step in steps),
        "",
        "| process | most memory MiB | CPU s of " + " | ".join(_busy(steps)) + " |",
        "|---|---|" + "---|" * len(_busy(steps)),
    ]
    memory: dict[str, int] = {}
    for step in steps:
        for name, size in step.memory.items():
            memory[name] = max(memory.get(name, 0), size)
    names = {name for step in steps for name in step.cpu_s}
    for name in sorted(names, key=lambda name: (-memory.get(name, 0), name)):
        spent = " | ".join(f"{step.cpu_s.get(name, 0):.1f}" for step in steps if step.cpu_s)
        most = f"{memory[name] / MIB:.0f}" if name in memory else ""
        lines.append(f"| {name} | {most} | {spent} |")
    tallies = [(step.name, scale.total, step.tally) for step in steps if step.tally.writes]
    return "\n".join([*lines, "", counting.render(tallies)])


def _busy(steps: Sequence[Step]) -> list[str]:
    return [step.name for step in steps if step.cpu_s]


def _line(scale: Scale, step: Step) -> str:
    floor_s = "" if step.floor_s is None else f"{step.floor_s:.1f}"
    ratio = "" if not step.floor_s else f"{step.seconds / step.floor_s:.2f}"
    writes = "" if step.writes is None else str(step.writes)
    each = "" if step.writes is None else f"{step.writes / scale.total:.2f}"
    return (
        f"| {step.name} | {step.seconds:.1f} | {floor_s} | {ratio} | {writes} | {each} "
        f"| {step.note} |"
    )


def main(
    jobs: Annotated[int, typer.Option(min=1, help="How many jobs.")] = 100,
    pes: Annotated[int, typer.Option(min=5, help="Processing elements of each job.")] = 50,
    nodes: Annotated[int, typer.Option(min=0, help=f"Nodes; 0: one for {PES_PER_NODE} PEs.")] = 0,
    every: Annotated[int, typer.Option(min=1, help="Every how many-th job is resized.")] = 10,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="On the sandbox, to try the steps.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--record", help="Write the report into docs/sizing.md, too.")
    ] = False,
) -> None:
    """Submit, resize, restart every service, and delete: many jobs at once, beside bare writes."""
    application, _ = chosen_application()
    scale = Scale(jobs, pes, application, every)
    count = nodes or max(NODES_MIN, -(-scale.total // PES_PER_NODE))
    steps = asyncio.run(measured(scale, count, sandbox=sandbox))
    text = render(scale, count, steps)
    answer_lines(text)
    if write:
        record(PAGE, "make bench-scale", text)


if __name__ == "__main__":
    typer.run(main)
