"""`millrace why`: words to options, an answer to lines or JSON."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from cli import completing
from cli.connecting import Cluster
from cli.ending import run_with_cluster
from cli.failing import Misused
from cli.history_logs import BusOption, HistoryOptions, PrefixOption, RecordingOption
from cli.job_commands import Kubeconfig, Namespace
from cli.printing import answers, failures_printed, print_json
from cli.showing import answer
from cli.why_gathering import gather, gather_all
from history.why.answering import Answer, Impact, answer_of, impact_on
from history.why.gathered import Gathered
from history.why.wording import document_of, lines_of, since_text

console = answers()

Named = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A Job, PE, ParallelRegion, HostPool, Placement, pod or node; KIND/NAME where several "
        "have the name. Default: the jobs of the namespace that are not well.",
        autocompletion=completing.job_and_pe_names,
    ),
]
Form = Annotated[
    Literal["text", "json"], typer.Option("--output", "-o", help="json is in docs/why.md.")
]


def why(
    name: Named = "",
    output: Form = "text",
    recording: RecordingOption = None,
    bus: BusOption = "",
    prefix: PrefixOption = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Say why an object is not well: the cause, the remedy, and what led to it.

    The first line is the cause, the second one the remedy. Below is the chain, newest first: what
    it waits for, since when, and which service decided what on which fact, if the log is found.
    Nothing is written. It ends with 0 also if something is wrong: the answer was found.

    Example: millrace why wordcount
    """
    options = HistoryOptions(recording, bus, prefix)
    with failures_printed():
        if recording is not None and not recording.exists():  # whether NAME is there or not
            raise Misused(f"{recording} cannot be read: No such file or directory")

    async def work(cluster: Cluster) -> None:
        with console.status("looking"):
            if name:
                found = [await gather(cluster, cluster.namespace, name, options)]
            elif recording:  # a bus may be named by the environment
                raise Misused("--recording is for one object: say its NAME")
            else:
                found = await gather_all(cluster, cluster.namespace)
        found_answers = [answer_of(each) for each in found]
        if name:
            _print(lines_of(found_answers[0], time.time()), document_of(found_answers[0]), output)
            return
        _print_all(found, found_answers, cluster.namespace, output)

    run_with_cluster(kubeconfig, namespace, work)


def ill_of(found: Sequence[Gathered], answers: Sequence[Answer]) -> list[tuple[Impact, Answer]]:
    """The jobs that are not well, or whose launches have just failed: the worst first."""
    pairs = [
        (impact_on(gathered, each), each)
        for gathered, each in zip(found, answers, strict=True)
        if each.trouble is not None or each.is_in_doubt
    ]
    return sorted(pairs, key=lambda pair: (pair[0].running, pair[1].title))


def _print_all(
    found: Sequence[Gathered], found_answers: Sequence[Answer], namespace: str, output: str
) -> None:
    """A line for each job that is not well, and what was not read for any of them."""
    ill = ill_of(found, found_answers)
    lines = [
        f"{each.title}: {impact.text}: {each.cause}{since_text(each.since_s, time.time())}"
        for impact, each in ill
    ]
    limits = [*dict.fromkeys(limit for each in found_answers for limit in each.limits)]
    jobs = [{**document_of(each), "impact": impact.text} for impact, each in ill]
    lines = [*(lines or [_all_well(len(found_answers), namespace)]), *limits]
    _print(lines, {"jobs": jobs, "notRead": limits}, output)


def _all_well(count: int, namespace: str) -> str:
    if not count:
        return f"Namespace {namespace} has no jobs."
    jobs = "job" if count == 1 else f"{count} jobs"
    return f"Nothing is wrong with the {jobs} of namespace {namespace}."


def _print(lines: list[str], document: object, output: str) -> None:
    if output == "json":
        print_json(document)
        return
    for line in lines:
        answer(line)
