"""`millrace events|record`: words to options of what reads the log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cli import completing
from cli.ending import run
from cli.history_logs import (
    BusOption,
    HistoryOptions,
    PrefixOption,
    RecordingOption,
    SinceOption,
)
from cli.job_commands import Kubeconfig, Namespace, RequiredRoot, checked_root
from cli.job_events import EventsOptions, show_events
from cli.kubeconfigs import namespace_in
from cli.printing import answers
from cli.recording_jobs import RecordOptions, record_history
from services.roster import NAMES

console = answers()

Follow = Annotated[
    bool,
    typer.Option("--follow", "-f", "--watch", "-w", help="Go on with what is new, until Ctrl-C."),
]
Service = Annotated[
    str,
    typer.Option(
        help=f"Only what this service saw (facts) or decided: {', '.join(NAMES)}.",
        autocompletion=completing.services,
    ),
]
Output = Annotated[
    Literal["table", "json"],
    typer.Option(
        "--output", "-o", help="json: an object in each line; docs/history.md has its fields."
    ),
]
Everything = Annotated[
    bool,
    typer.Option(
        "--all", help="Also what repeats: resyncs, observations, decisions without effects."
    ),
]
Out = Annotated[Path, typer.Option(help="The file to write; one that exists is not replaced.")]
OfJob = Annotated[
    str,
    typer.Option(
        help="Only what concerns this job; default: all jobs of all namespaces.",
        callback=checked_root,
        autocompletion=completing.job_names,
    ),
]
Redact = Annotated[
    bool,
    typer.Option("--redact", help="Replace names, values and addresses, each always by the same."),
]


def events(
    job: RequiredRoot,
    follow: Follow = False,
    since: SinceOption = "",
    service: Service = "",
    output: Output = "table",
    everything: Everything = False,
    recording: RecordingOption = None,
    bus: BusOption = "",
    prefix: PrefixOption = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show what was seen and decided about a job, in order, and its Events.

    Each line has the time, the service, whether it saw, observed or decided, the object, and why;
    a decision has its effects with their outcomes. Kubernetes Events of the job stand between, as
    `event`. Without a log there are only those.

    Example: millrace events wordcount --since 10m --follow
    """
    log = HistoryOptions(recording, bus, prefix)

    async def work() -> None:
        where = namespace_in(namespace, kubeconfig)
        as_json = output == "json"
        options = EventsOptions(where, job, log, since, service, follow, as_json, everything)
        await show_events(options, kubeconfig, console)

    run(work)


def record(
    out: Out,
    job: OfJob = "",
    since: SinceOption = "",
    redact: Redact = False,
    recording: RecordingOption = None,
    bus: BusOption = "",
    prefix: PrefixOption = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Record what was seen, observed and decided in a file.

    The file has what a replay needs: it begins at the newest complete resync before --since, and at
    the start of each instance whose decisions are in it. What the log has no more is named as a
    gap. `millrace events JOB --recording FILE` reads it.

    Example: millrace record --out history.zst --job wordcount --since 1h
    """
    log = HistoryOptions(recording, bus, prefix)

    async def work() -> None:
        of_job = (namespace_in(namespace, kubeconfig), job) if job else None
        await record_history(RecordOptions(out, log, of_job, since, redact), kubeconfig, console)

    run(work)
