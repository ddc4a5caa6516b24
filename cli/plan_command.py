"""`millrace plan`: words to options of what `planning.py` and `running_plans.py` plan.

Plans are printed as numbers for programs, or as tables and graphs for people (`drawing.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Annotated, Literal

import typer

from cli.cpu_usage import unknown_operators
from cli.drawing import draw_graph, draw_svg, draw_tables
from cli.failing import Failure
from cli.folders import refuse_missing
from cli.jobs import pair_of
from cli.phrasing import given_twice, with_option_names, with_resize_named
from cli.planning import (
    NODE_CPUS,
    PlanOptions,
    RunningJob,
    Step,
    plan_into,
    plan_json,
    plan_steps,
)
from cli.printing import (
    answers,
    failures_printed,
    is_terminal,
    print_answers_only,
    print_json,
    terminated_by_exit,
)
from cli.showing import Screen, answer_lines, cell, print_lines
from planner.numbering.records import FusionType
from planner.planning import Keep
from planner.refusals import PlanRefused

Format = Literal["table", "json", "dot"]
QUIET_S = 1.0

Source = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="A bundle (.sab), an ADL, or the manifest of a Job."),
]
FusionWords = Annotated[
    str,
    typer.Option(
        help="legacy (one PE for each operator, or group that constraints join), manual=N (at most "
        "N PEs, unless constraints ask for more) or automatic, which is the default."
    ),
]
Widths = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGION=W",
        help="The width of a parallel region: its name, the end of it, or a pattern (* is any "
        "text) for all that match. Repeatable.",
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
PodCpu = Annotated[
    str,
    typer.Option(
        metavar="CPU",
        help="For automatic: the CPU limit of the pod of each PE, such as 500m.",
    ),
]
CpuUsageFile = Annotated[
    Path | None,
    typer.Option(
        "--cpu-usage",
        metavar="FILE",
        help="For automatic: measured CPU, as YAML: operators: {NAME: CPU, …} for operators, and "
        "cluster: CPU for what the nodes use already.",
    ),
]
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


Job = Annotated[
    str, typer.Option("--job", metavar="JOB", help="Plan a running job, from its plan record.")
]
Bundles = Annotated[
    Path | None,
    typer.Option(
        help="The folder of the bundle that a Job names. Default: for a manifest its own folder, "
        "for --job the bundle root of `millrace up`."
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        help="With --job: its namespace; default: that of the current context.",
        show_default=False,
    ),
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(help="With --job: the kubeconfig; default: $KUBECONFIG, then ~/.kube/config."),
]


def plan_command(
    source: Source = None,
    fusion: FusionWords = "",
    width: Widths = None,
    param: Params = None,
    resize: Resizes = None,
    type: Type = "noChannelInfluence",  # noqa: A002 - the word of the Job's spec
    nodes: Nodes = 1,
    node_cpus: NodeCpus = NODE_CPUS,
    pod_cpu: PodCpu = "",
    cpu_usage: CpuUsageFile = None,
    compat: Compat = False,
    out: Out = None,
    create: Create = False,
    form: Form = None,
    job: Job = "",
    bundles: Bundles = None,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Plan a bundle, an ADL or a Job without running it: PEs, ports, widths, AADLs.

    What it becomes:  millrace plan app.sab --fusion manual=3 --width Region1=6
    What a resize would change:  millrace plan app.sab --resize Region1=6
    A Job's manifest:  millrace plan job.yaml --bundles DIR
    A resize of a running job:  millrace plan --job app --resize Region1=6
    A drawing (plan/plan.svg):  millrace plan app.sab --format dot --out plan --create

    A refusal ends with 1: {"error": …, "message": …} as JSON, else a sentence on stderr.

    Example: millrace plan app.sab --nodes 4 --pod-cpu 500m --cpu-usage usage.yaml
    """
    widths, params, resizes = (tuple(each or ()) for each in (width, param, resize))
    rest = (type, nodes, node_cpus, pod_cpu, cpu_usage, bundles)
    options = PlanOptions(source or Path(), fusion, widths, params, resizes, compat, *rest)
    form = _prepared(form, out, create=create)
    if job and source is None:
        _answer_of_job(RunningJob(job, namespace, kubeconfig, bundles), options, form, out)
    else:
        _answer_of_file(options, form, out, is_alone=not job)


def _prepared(form: Format | None, out: Path | None, *, create: bool) -> Format:
    print_answers_only()
    with failures_printed():
        refuse_missing("--out", out, may_be_created=create)
    return form or ("table" if is_terminal() else "json")


def _answer_of_file(
    options: PlanOptions, form: Format, out: Path | None, *, is_alone: bool
) -> None:
    if not is_alone or options.source == Path():
        raise typer.BadParameter("say either the FILE of a bundle, an ADL or a Job, or --job JOB")
    phrased = with_resize_named if options.is_of_manifest else with_option_names
    shown = Shown(options.source.name, form, out, phrased, options.params)
    _answer(lambda keep: plan_steps(options, keep), shown)


def _answer_of_job(job: RunningJob, options: PlanOptions, form: Format, out: Path | None) -> None:
    given = (*options.given, *(["--cpu-usage"] if options.cpu_usage is not None else []))
    if given:
        raise typer.BadParameter(f"{', '.join(given)}: the job runs, say --resize")
    from cli.running_plans import steps_of_job  # connects to a cluster: other plans start faster

    def plan(keep: Keep) -> list[Step]:
        return steps_of_job(job, options.resizes, keep)

    shown = Shown(job.name, form, out, with_resize_named, is_running=True)
    _answer(plan, shown)


@dataclass(frozen=True, slots=True)
class Shown:
    """What is planned, by its name, and how the plan is shown.

    `phrased` puts options of the command into messages; `params` are those of `--param`.
    """

    name: str
    form: Format
    out: Path | None
    phrased: Callable[[str], str]
    params: tuple[str, ...] = ()
    is_running: bool = False


def _answer(plan: Callable[[Keep], list[Step]], shown: Shown) -> None:
    try:
        with failures_printed(), terminated_by_exit():
            with _status_if_slow(f"planning {shown.name}"):
                steps = plan(_discard) if shown.out is None else plan_into(plan, shown.out)
            values = (pair_of("--param", words) for words in shown.params)
            warnings = map(shown.phrased, steps[0].result.warnings)
            unknown = unknown_operators(steps[0].draft)
            _print(steps, shown, [*given_twice("--param", values), *unknown, *warnings])
    except PlanRefused as refusal:
        _print_refusal(refusal, shown)
        raise typer.Exit(Failure.exit_code) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _discard(_content_id: str, _text: bytes) -> None:
    """Discard the text of an AADL: all of them may be larger than memory."""


def _print(steps: list[Step], shown: Shown, warnings: list[str]) -> None:
    form, out = shown.form, shown.out
    if form != "table":
        _print_all(warnings)
    drafts = [step.draft for step in steps]
    records = [step.record for step in steps]
    if form == "json":
        print_json(plan_json(steps, is_running=shown.is_running))
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


def _print_refusal(refusal: PlanRefused, shown: Shown) -> None:
    message = shown.phrased(refusal.message)
    if shown.form == "json":
        print_json({"error": refusal.code, "message": message}, is_indented=False)
    else:
        _print_all([f"it cannot be planned: {message}"])


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
