"""`millrace replay FILE`: the records of a file through the cores of this release."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.ending import run
from cli.failing import Failure, Misused
from cli.history_logs import HistoryOptions, history_source
from cli.job_commands import checked_root
from cli.printing import print_json
from cli.replay_views import (
    document_of,
    first_difference_of,
    head_of,
    lines_of,
    summary_document,
    summary_of,
)
from cli.showing import answer, print_lines
from cli.step_commands import step_through
from history.accepting import AcceptedMalformed, accepted_beside
from history.breaking import names_of, why_not_met
from history.replaying import Replay, Step, Wanted, release_notes, replayed
from history.tallying import Tallying
from history.targets import Target, target_of
from services.chassis.process.collecting import collector_paused, freeze
from services.chassis.process.release import release
from services.roster import DECIDING

_SQLITE: Final = b"SQLite format 3\0"
_DIFFERENCES_SHOWN_MAX: Final = 20
_PROGRESS_S: Final = 1.0
DONE, DIFFERS = 0, 1


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The options of `millrace replay`."""

    file: Path
    wanted: Wanted
    until: Target | None = None
    is_stepping: bool = False
    is_diff: bool = False
    stop_at: str = ""
    is_json: bool = False


File = Annotated[
    Path, typer.Argument(help="A file of `millrace record`, or the log.sqlite of an `up`.")
]
ServiceOption = Annotated[
    str, typer.Option("--service", "-s", help="Only the decisions of this service.")
]
JobOption = Annotated[
    str,
    typer.Option("--job", "-j", help="Only what is decided about this job.", callback=checked_root),
]
Until = Annotated[
    str,
    typer.Option(
        help="End there: PARTITION@OFFSET (decisions/3@17), a time (2026-11-26T12:00:00Z) or the "
        "number of a decision."
    ),
]
StepOption = Annotated[
    bool, typer.Option("--step", help="Step forth and back, by a key and Enter; h lists the keys.")
]
Diff = Annotated[
    bool,
    typer.Option(
        "--diff", help="Show only decisions that differ; end with 1 if one is not accepted."
    ),
]
Break = Annotated[
    str,
    typer.Option(
        "--break", metavar="RULE|REASON", help="Show the first decision with it, and end."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="A JSON object in each line.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="The namespace of --job.")]


def replay(
    file: File,
    service: ServiceOption = "",
    job: JobOption = "",
    until: Until = "",
    step: StepOption = False,
    diff: Diff = False,
    break_at: Break = "",
    json: Json = False,
    namespace: Namespace = "default",
) -> None:
    """Replay recorded facts and observations through the rules of this release.

    Each decision is made again at its recorded time, without a broker or a cluster: what it was
    made of, the rule that holds, its effects, and what changed since the decision before. Nothing
    is written.

    Differences that are meant are listed in accepted.yaml beside FILE (docs/replay.md). What cannot
    be made again, because a record is missing, is unknown and never equal.

    Example: millrace replay shop.rec --job shop --diff
    """
    options = ReplayOptions(
        file,
        Wanted(_checked_service(service), namespace, job, has_changes=not diff),
        _target(until),
        step,
        diff,
        break_at,
        json,
    )
    if step and (diff or break_at or json):
        raise typer.BadParameter("--step is for people: leave --diff, --break and --json out")
    run(lambda: _replay(options))


def _checked_service(service: str) -> str:
    if service and service not in DECIDING:
        raise typer.BadParameter(
            f"{service!r} decides nothing; the services that decide are {', '.join(DECIDING)}"
        )
    return service


def _target(until: str) -> Target | None:
    try:
        return target_of(until) if until else None
    except ValueError as problem:
        raise typer.BadParameter(f"--until {problem}") from None


async def _replay(options: ReplayOptions) -> int:
    async with _opened(options) as replay:
        notes = release_notes(replay.starts, release())
        if not options.is_json:
            print_lines(*notes)
        if not replay.count:
            raise Failure(_why_nothing(options))
        if options.is_stepping:
            await step_through(replay, options.until)
            return DONE
        if options.stop_at:
            return await _break(replay, options)
        return await _play(replay, options, notes)


def _why_nothing(options: ReplayOptions) -> str:
    wanted = options.wanted
    about = f" about job {wanted.job} in namespace {wanted.namespace}" if wanted.job else ""
    of = f" of {wanted.service}" if wanted.service else ""
    more = "" if not (about or of) else "; leave --job and --service out to replay all of it"
    return f"{options.file} has no decision{of}{about}{more}"


@asynccontextmanager
async def _opened(options: ReplayOptions) -> AsyncIterator[Replay]:
    """The file to be replayed. Raises Misused, CannotReach, Failure."""
    async with history_source(_history_options(options.file)) as found:
        assert found.source is not None, "it is named"
        with collector_paused():
            async with replayed(found.source, options.wanted, freeze=freeze) as replay:
                yield replay


def _history_options(file: Path) -> HistoryOptions:
    try:
        with file.open("rb") as opened:
            is_log = opened.read(len(_SQLITE)) == _SQLITE
    except OSError as problem:
        raise Misused(f"{file} cannot be read: {problem.strerror}") from None
    return HistoryOptions(bus=f"sqlite://{file.resolve()}") if is_log else HistoryOptions(file)


@dataclass
class _Progress:
    """Lines on standard error about what takes longer than a second."""

    count: int
    shown_s: float = field(default_factory=time.monotonic)

    def note(self, step: Step) -> None:
        """A decision is done."""
        now_s = time.monotonic()
        if now_s - self.shown_s >= _PROGRESS_S and sys.stderr.isatty():
            self.shown_s = now_s
            print_lines(f"{step.number} of {self.count} decisions")


async def _break(replay: Replay, options: ReplayOptions) -> int:
    """Show the first decision with a rule or a reason."""
    met: set[str] = set()
    progress = _Progress(replay.count)
    async with aclosing(replay.steps()) as steps:
        async for step in steps:
            progress.note(step)
            if _is_behind(options.until, step):
                break
            names = names_of(step)
            if options.stop_at in names:
                _show(step, options)
                return DONE
            met |= names
    print_lines(f"millrace: {why_not_met(options.stop_at, met)}")
    return DIFFERS


async def _play(replay: Replay, options: ReplayOptions, notes: list[str]) -> int:
    try:
        accepted = accepted_beside(options.file) if options.is_diff else ()
    except AcceptedMalformed as problem:
        raise Misused(str(problem)) from None
    tallying, progress, differing = Tallying(replay, accepted), _Progress(replay.count), 0
    is_part = options.until is not None or options.wanted.service or options.wanted.job
    async with aclosing(replay.steps()) as steps:
        async for step in steps:
            progress.note(step)
            if _is_behind(options.until, step):
                break
            is_unmeant = tallying.add(step)
            differing += is_unmeant
            if not options.is_diff or (is_unmeant and options.is_json):
                _show(step, options)
            elif is_unmeant:
                _show_difference(step, differing)
            if _is_last(options.until, step):
                break
    tally = tallying.end(is_whole=not is_part)
    if options.is_json:
        print_json(summary_document(tally, notes), is_indented=False)
    else:
        for line in (*summary_of(tally), *(f"problem: {each}" for each in tally.problems)):
            answer(line)
    if not options.is_diff:
        return DONE
    if not (tally.equal or tally.meant or tally.different):
        print_lines("millrace: no decision could be compared")
        return DIFFERS
    return DIFFERS if tally.different or tally.problems else DONE


def _is_behind(until: Target | None, step: Step) -> bool:
    """Whether a decision comes after the end that was requested."""
    return until is not None and not until.is_decision and until.is_reached(step)


def _is_last(until: Target | None, step: Step) -> bool:
    return until is not None and until.is_decision and until.is_reached(step)


def _show(step: Step, options: ReplayOptions) -> None:
    if options.is_json:
        print_json(document_of(step), is_indented=False)
        return
    for line in lines_of(step):
        answer(line)


def _show_difference(step: Step, number: int) -> None:
    """The first one whole, some more in a line each."""
    if number == 1:
        for line in first_difference_of(step):
            answer(line)
    elif number <= _DIFFERENCES_SHOWN_MAX:
        answer(f"{head_of(step)}: {step.compared.sentence}")
