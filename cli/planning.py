"""`millrace plan`: shows the plan of a bundle or an ADL without a cluster.

Options become a request to the planner of fusion-backend. The plan is printed as numbers for
programs, or as tables and graphs for people (`drawing.py`). No PE is placed on a node: that needs a
cluster. Each `--resize` is a generation of its own, planned from the one before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Annotated, Literal

import typer

from cli.drawing import draw_graph, draw_svg, draw_tables
from cli.failing import Failure, Misused
from cli.folders import refuse_missing
from cli.jobs import fusion_of, job_name_for, pair_of, region_width_of
from cli.phrasing import given_twice, with_option_names
from cli.printing import (
    answers,
    failures_printed,
    is_terminal,
    print_answers_only,
    print_json,
    terminated_by_exit,
)
from cli.recognizing import bundle_of
from cli.showing import Screen, answer_lines, cell, print_lines
from contracts.reasons import Reason
from planner.application.adl import read_application
from planner.application.model import Application
from planner.application.submission import matches
from planner.drafting import Draft, draft
from planner.numbering.records import Fusion, FusionType, PlanRecord
from planner.outline import outline, outline_of_resize
from planner.planning import Keep, PlanResult, settle
from planner.refusals import PlanRefused, shown
from planner.requesting import PlanLimits, PlanRequest
from planner.resizing import refuse_resized_consistency
from services.chassis.process.collecting import collector_paused

Format = Literal["table", "json", "dot"]
QUIET_S = 1.0
NODE_CPUS = 4
NO_LIMIT_BYTES = 1 << 40
_OURS = re.compile(r"pe-\d+\.xml|plan\.svg")


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The arguments and options of `millrace plan`, not parsed yet."""

    source: Path
    fusion: str = "automatic"
    widths: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    resizes: tuple[str, ...] = ()
    compat: bool = False
    type: FusionType = "noChannelInfluence"
    nodes: int = 1
    node_cpus: int = NODE_CPUS


@dataclass(frozen=True, slots=True)
class Step:
    """One generation: the draft and the result with its record."""

    draft: Draft
    result: PlanResult

    @property
    def record(self) -> PlanRecord:
        """The plan record."""
        return self.result.record


@collector_paused()
def plan_steps(options: PlanOptions, keep: Keep) -> list[Step]:
    """The requested generations, in order; `keep` receives the texts of their AADLs.

    Raises PlanRefused, and Misused if an option cannot be parsed.
    """
    request = _request(options)
    steps = [_step(request, keep)]
    for words in options.resizes:
        region, width = region_width_of("--resize", words)
        record = steps[-1].record
        name = _region_named(request.application, region)
        wanted = replace(
            request,
            generation=record.generation + 1,
            width_overrides=(),
            widths={**record.widths, name: width},
            previous=record,
        )
        if not options.compat:
            refuse_resized_consistency(wanted)
        steps.append(_step(wanted, keep))
    return steps


def _step(request: PlanRequest, keep: Keep) -> Step:
    return Step(*settle(draft(request), keep))


def _request(options: PlanOptions) -> PlanRequest:
    fusion = _fusion(options)
    overrides = tuple(region_width_of("--width", words) for words in options.widths)
    bundle = bundle_of(options.source)
    limits = PlanLimits()
    return PlanRequest(
        application=read_application(bundle),
        bundle_digest=bundle.digest,
        job_name=job_name_for(options.source),
        job_id=0,
        fusion=fusion,
        width_overrides=overrides,
        submission_time_values=dict(_values(options)),
        limits=replace(limits, aadl_bytes_max=NO_LIMIT_BYTES) if options.compat else limits,
        compat=options.compat,
    )


def _values(options: PlanOptions) -> list[tuple[str, str]]:
    return [pair_of("--param", words) for words in options.params]


def _fusion(options: PlanOptions) -> Fusion:
    """The requested fusion. Raises Misused, as `millrace submit` does."""
    requested = fusion_of(options.fusion)
    if "manual" in requested:
        return Fusion.manual(requested["manual"], options.type)
    if "legacy" in requested:
        return Fusion.legacy(options.type)
    return Fusion.automatic(
        options.nodes,
        options.type,
        allocatable_mcpu=options.nodes * options.node_cpus * 1000,
        largest_node_mcpu=options.node_cpus * 1000,
    )


def _region_named(application: Application, words: str) -> str:
    """The region by name, pattern or last segment; an unknown name is refused later."""
    names = [region.name for region in application.regions]
    if words in names:
        return words
    found = [name for name in names if matches(words, name) or name.endswith(f".{words}")]
    if len(found) > 1:
        raise PlanRefused(
            Reason.UNKNOWN_REGION,
            field="--resize",
            value=words,
            message=f"--resize {shown(words)} names more than one parallel region (CDISR1405E): "
            f"{', '.join(map(shown, sorted(found)))}",
        )
    return found[0] if found else words


# --------------------------------------------------------------------------- answers


def plan_json(steps: list[Step]) -> dict[str, object]:
    """The plan as JSON: the first generation, and how the last one differs."""
    first, last = steps[0].draft, steps[-1].draft
    found = outline(first)
    return {**found, "update": outline_of_resize(first, last)} if len(steps) > 1 else found


def plan_into(options: PlanOptions, folder: Path) -> list[Step]:
    """Plan, and write the AADL of each PE of the last generation; removes files of earlier plans.

    Raises Misused if the folder is a file, Failure if a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Misused(f"--out {folder}: it is a file, or below one; say a folder") from None
    except OSError as problem:
        raise Failure(f"{folder} cannot be written: {problem.strerror}") from None
    try:
        with TemporaryDirectory(prefix=".plan-", dir=folder) as spool:
            steps = plan_steps(options, lambda name, text: (Path(spool) / name).write_bytes(text))
            for old in folder.iterdir():
                if _OURS.fullmatch(old.name):
                    old.unlink()
            for pe in steps[-1].record.pes:
                (Path(spool) / pe.content_id).rename(folder / f"pe-{pe.id}.xml")
    except OSError as problem:
        raise Failure(f"{folder} cannot be written: {problem.strerror}") from None
    return steps


@contextmanager
def _status_if_slow(words: str) -> Iterator[None]:
    """After a second, show on a terminal what takes so long."""
    status = Screen(stderr=True).status(words)
    if not sys.stderr.isatty():
        yield
        return
    timer = Timer(QUIET_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.stop()


Source = Annotated[Path, typer.Argument(metavar="BUNDLE_OR_ADL", help="A .sab or .adl file.")]
FusionWords = Annotated[
    str,
    typer.Option(
        help="legacy (one PE for each operator, or group that constraints join), manual=N (at most "
        "N PEs, unless constraints ask for more) or automatic."
    ),
]
Widths = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN=W", help="The width of parallel regions; * is any text. Repeatable."
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A submission-time value. Repeatable."),
]
Resizes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGION=W",
        help="Then give a region another width, and say what that changes. Repeatable: each is a "
        "generation of its own, and the first plan is compared with the last.",
    ),
]
Type = Annotated[
    FusionType,
    typer.Option(
        help="Whether operators of a channel share PEs with none but their own channel "
        "(channelIsolation), or with no other channel (channelExlocation)."
    ),
]
Nodes = Annotated[int, typer.Option(min=1, help="For automatic: how many nodes there are.")]
NodeCpus = Annotated[int, typer.Option(min=1, help="For automatic: the CPUs of each node.")]
Compat = Annotated[
    bool,
    typer.Option(
        "--compat",
        help="As the original: it numbers and fuses from scratch at a resize, writes positions "
        "into AADLs, and takes constraints that contradict each other.",
    ),
]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write the AADL of each PE: pe-N.xml.")
]
Create = Annotated[bool, typer.Option("--create", help="Create --out if it does not exist.")]
Form = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="table says what is in which PE and why; json has the numbers; dot is a graph for "
        "Graphviz (with --out and Graphviz also plan.svg). Default: table on a terminal, else "
        "json.",
    ),
]


def plan_command(
    source: Source,
    fusion: FusionWords = "automatic",
    width: Widths = None,
    param: Params = None,
    resize: Resizes = None,
    type: Type = "noChannelInfluence",  # noqa: A002 - the word of the Job's spec
    nodes: Nodes = 1,
    node_cpus: NodeCpus = NODE_CPUS,
    compat: Compat = False,
    out: Out = None,
    create: Create = False,
    form: Form = None,
) -> None:
    """Plan a bundle or an ADL without a cluster: PEs, ports, connections, widths, AADLs.

    What it becomes:  millrace plan app.sab
    With other widths:  millrace plan app.sab --width '*Region1=4'
    What a resize would change:  millrace plan app.sab --resize Region1=6
    A drawing (plan/plan.svg):  millrace plan app.sab --format dot --out plan --create
    Names of regions and values:  millrace bundle show app.sab

    What cannot be planned ends with 1 and the original's message id or our
    reason: {"error": …, "message": …} on stdout as JSON, else a sentence on
    stderr. Words that cannot be used end with 2.

    Example: millrace plan app.sab --fusion manual=3 --resize Region1=6
    """
    print_answers_only()
    widths, params, resizes = (tuple(each or ()) for each in (width, param, resize))
    options = PlanOptions(source, fusion, widths, params, resizes, compat, type, nodes, node_cpus)
    with failures_printed():
        refuse_missing("--out", out, may_be_created=create)
    _answer(options, form or ("table" if is_terminal() else "json"), out)


def _answer(options: PlanOptions, form: Format, out: Path | None) -> None:
    try:
        with failures_printed(), terminated_by_exit():
            with _status_if_slow(f"planning {options.source.name}"):
                steps = plan_steps(options, _discard) if out is None else plan_into(options, out)
            _print(steps, form, out, _warnings(options, steps))
    except PlanRefused as refusal:
        _print_refusal(refusal, form)
        raise typer.Exit(Failure.exit_code) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _discard(_content_id: str, _text: bytes) -> None:
    """Discard the text of an AADL: all of them may be larger than memory."""


def _warnings(options: PlanOptions, steps: list[Step]) -> list[str]:
    found = map(with_option_names, steps[0].result.warnings)
    return [*given_twice("--param", _values(options)), *found]


def _print(steps: list[Step], form: Format, out: Path | None, warnings: list[str]) -> None:
    if form != "table":
        _print_all(warnings)
    drafts = [step.draft for step in steps]
    records = [step.record for step in steps]
    if form == "json":
        print_json(plan_json(steps))
    elif form == "table":
        console = answers()
        draw_tables(console, drafts, records)
        for warning in warnings:
            console.print(cell(warning))
    else:
        graph = draw_graph(drafts, records)
        answer_lines(graph, end="")
        if out is not None:
            _draw_svg(graph, out / "plan.svg")


def _draw_svg(graph: str, target: Path) -> None:
    with _status_if_slow(f"drawing {target}"):
        is_drawn = draw_svg(graph, target)
    if not is_drawn:
        _print_all([f"{target} is not drawn: Graphviz (its program `dot`) is not installed"])


def _print_all(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        print_lines(f"millrace: {sentence}")


def _print_refusal(refusal: PlanRefused, form: Format) -> None:
    message = with_option_names(refusal.message)
    if form == "json":
        print_json({"error": refusal.code, "message": message}, is_indented=False)
    else:
        _print_all([f"it cannot be planned: {message}"])
