"""The view of a job that people see, folded from its objects, and tables of it (rich).

Pure: objects in, values and renderables out. `following.py` watches the objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cli.showing import Line, Renderable, Rows, cell, joined, stacked
from contracts import labels
from contracts.pod_phases import phase_in
from contracts.reasons import Reason
from contracts.resources import JOB
from contracts.showing import agreeing, counted, one_line
from contracts.unreadable import is_whole
from services.roster import OWNERS

Obj = Mapping[str, Any]
PES_SHOWN_MAX = 40
LISTED_CHARS_MAX = 300  # of the message and of the regions of a job in a list
PROBLEMS_SHOWN_MAX = 5
"""Of PEs that do not run; `kubectl get stp -o wide` shows all."""
_ON_THE_WAY = frozenset(
    (
        "",
        Reason.FIRST_LAUNCH,
        Reason.LAUNCH_DUE,
        Reason.LAUNCH_REQUESTED,
        Reason.RESTART_REQUESTED,
        Reason.CONTENT_CHANGED,
        Reason.REASSIGNED,
        Reason.POD_STARTING,
        Reason.POD_SUPERSEDED,
    )
)
"""Reasons of a status whose PE will run soon: nothing is wrong."""
_COLOURS = {
    "Stopped": "red",
    "Running": "green",
    "Submitted": "green",
    "Completed": "blue",
    "Failed": "red",
    "Resizing": "yellow",
    "Submitting": "yellow",
    "Starting": "yellow",
    "Pending": "yellow",
    "Waiting": "dim",
}
_REACHED = {"Running": "Running", "Succeeded": "Completed"}
"""Phases of a pod that its PE has at once."""


@dataclass(frozen=True, slots=True)
class PeView:
    """The view of one processing element; `pod` is the uid of its newest pod.

    Phases have the names of its status. That follows its pod within seconds, so a pod that runs or
    has succeeded counts at once. Without a pod, the launch is that of the status. `problem` is why
    a PE does not run, by its status; empty if nothing stands in its way. `previous_pod_name` is the
    kept pod of the launch before; empty without one. `image` is that of its spec; empty where
    pod-state-machine chooses it. `recorded` is its status.
    """

    id: int
    name: str
    phase: str
    launch: int
    pod: str
    pod_name: str
    node: str
    operators: tuple[str, ...]
    problem: str = ""
    restarts: int = 0
    created: str = ""
    previous_pod_name: str = ""
    image: str = ""
    recorded: Obj = field(default_factory=dict, hash=False)

    @property
    def is_running(self) -> bool:
        """Its pod runs or has succeeded."""
        return self.phase in ("Running", "Completed")

    @property
    def is_at_rest(self) -> bool:
        """It ended, or somebody stopped it."""
        return self.phase in ("Stopped", "Failed", "Completed")


@dataclass(frozen=True, slots=True)
class JobView:
    """One job with its regions (alias → (wanted, in force)) and processing elements by id.

    `region_observed` has the generation of the ParallelRegion that `region_messages` belong to.
    """

    name: str
    phase: str
    reason: str
    message: str
    generation: int | None
    observed_generation: int
    object_generation: int
    regions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    region_messages: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    region_observed: Mapping[str, int] = field(default_factory=dict)
    pes: Mapping[int, PeView] = field(default_factory=dict)
    deleted_pes: frozenset[int] = frozenset()
    """Ids of PEs of the plan that somebody deleted and that are not created again."""
    state_warning: str = ""
    """Which operators lose their state, and when, as the condition Fused has it; empty if none."""

    @property
    def planned(self) -> int:
        """How many processing elements it has to have."""
        return len(self.pes.keys() | self.deleted_pes)

    @property
    def is_submitted(self) -> bool:
        """Every object of the newest plan exists, and the requested widths are in force."""
        widths_in_force = all(wanted == force for wanted, force in self.regions.values())
        return self.phase == "Submitted" and bool(self.pes) and widths_in_force

    @property
    def is_running(self) -> bool:
        """Submitted, and every pod runs or has succeeded."""
        return self.runs_except(frozenset())

    @property
    def at_rest(self) -> frozenset[int]:
        """The ids of processing elements that ended or were stopped."""
        return frozenset(pe.id for pe in self.pes.values() if pe.is_at_rest)

    def runs_except(self, resting: frozenset[int]) -> bool:
        """Whether it runs, but for these processing elements, which are still at rest."""
        rest = self.at_rest & resting
        return self.is_submitted and all(pe.is_running or pe.id in rest for pe in self.pes.values())

    @property
    def has_failed(self) -> bool:
        """The job failed, and its status observed the newest spec."""
        return self.phase == "Failed" and self.observed_generation >= self.object_generation


def view_of(job: Obj, regions: Iterable[Obj], pes: Iterable[Obj], pods: Iterable[Obj]) -> JobView:
    """The view of a job and of its children; unreadable objects are left out."""
    status = (job.get("status") or {}) if is_whole(job) else {}
    of_pe: dict[int, list[Obj]] = {}
    for pod in sorted(pods, key=_launch):
        if not pod["metadata"].get("deletionTimestamp"):
            pe_id = _number(pod["metadata"]["labels"].get(labels.PE), -1)
            of_pe.setdefault(pe_id, []).append(pod)
    regions = list(filter(is_whole, regions))
    return JobView(
        name=job["metadata"]["name"],
        phase=status.get("phase", ""),
        reason=status.get("reason") or "",
        message=status.get("message") or "",
        generation=status.get("generation"),
        observed_generation=status.get("observedGeneration", 0),
        object_generation=job["metadata"].get("generation", 0),
        regions={
            each["spec"]["alias"]: (
                each["spec"]["width"],
                (each.get("status") or {}).get("width", 0),
            )
            for each in regions
        },
        region_messages={each["spec"]["alias"]: _reason_and_message(each) for each in regions},
        region_observed={each["spec"]["alias"]: _observed(each) for each in regions},
        pes={view.id: view for view in (_pe(pe, of_pe) for pe in filter(is_whole, pes))},
        deleted_pes=frozenset(status.get("deletedProcessingElements") or ()),
        state_warning=_state_warning(status),
    )


def _state_warning(status: Obj) -> str:
    """The warning stands last in the message."""
    conditions = status.get("conditions") or ()
    messages = (each.get("message") or "" for each in conditions if each["type"] == "Fused")
    _, found, warning = next(messages, "").partition(f"{Reason.STATE_NOT_KEPT.value}: ")
    return one_line(found + warning)


def _reason_and_message(obj: Obj) -> tuple[str, str]:
    status = obj.get("status") or {}
    return status.get("reason") or "", status.get("message") or ""


def _observed(obj: Obj) -> int:
    return int((obj.get("status") or {}).get("observedGeneration", 0))


def _launch(pod: Obj) -> int:
    return _number(pod["metadata"]["labels"].get(labels.LAUNCH_COUNT), 0)


def _number(label: object, otherwise: int) -> int:
    """The number in a label, or `otherwise`: people with rights on pods can write any text."""
    text = str(label)
    return int(text) if text.isdecimal() and text.isascii() else otherwise


def _pe(pe: Obj, of_pe: Mapping[int, Sequence[Obj]]) -> PeView:
    """The view of a PE; its pods are in the order of their launches."""
    pe_id = int(pe["spec"]["id"])
    pods, recorded = of_pe.get(pe_id, ()), pe.get("status") or {}
    pod = pods[-1] if pods else None
    of_pod = phase_in(pod.get("status") or {}, labels.PE_CONTAINER) if pod else ""
    phase = _phase(of_pod, recorded.get("phase") or "")
    return PeView(
        id=pe_id,
        name=pe["metadata"]["name"],
        phase=phase,
        launch=_launch(pod) if pod else int(recorded.get("launchCount") or 0),
        pod=pod["metadata"]["uid"] if pod else "",
        pod_name=pod["metadata"]["name"] if pod else "",
        node=((pod or {}).get("spec") or {}).get("nodeName", ""),
        operators=tuple(sorted(pe["spec"].get("operators") or ())),
        problem="" if phase in ("Running", "Completed") else _problem(recorded),
        restarts=int(recorded.get("restarts") or 0),
        created=pe["metadata"].get("creationTimestamp") or "",
        previous_pod_name=pods[-2]["metadata"]["name"] if pods[1:] else "",
        image=str(pe["spec"].get("image") or ""),
        recorded=recorded,
    )


def _phase(of_pod: str, recorded: str) -> str:
    """The phase of a PE in the words of its status; what its pod has reached is newer."""
    if of_pod in _REACHED or not of_pod:
        return _REACHED.get(of_pod) or recorded or "Waiting"
    if of_pod == "Failed":
        return recorded if recorded not in ("", "Running") else "Failed"
    return recorded if recorded not in ("", "Waiting", "Running") else "Starting"


def _problem(status: Obj) -> str:
    reason = status.get("reason") or ""
    is_quiet = reason in _ON_THE_WAY or status.get("phase") in ("Running", "Completed")
    return "" if is_quiet else f"{reason}: {status.get('message') or ''}"


@dataclass(frozen=True, slots=True)
class ResizeOutcome:
    """The ids of the processing elements by what a resize did to them, and its seconds."""

    added: tuple[int, ...]
    restarted: tuple[int, ...]
    untouched: tuple[int, ...]
    removed: tuple[int, ...]
    duration_s: float


def compare(before: JobView, after: JobView, duration_s: float) -> ResizeOutcome:
    """The PEs that are new, restarted (another pod), untouched (the same pod) or removed."""
    both = before.pes.keys() & after.pes.keys()
    stayed = {pe_id for pe_id in both if before.pes[pe_id].pod == after.pes[pe_id].pod}
    return ResizeOutcome(
        added=tuple(sorted(after.pes.keys() - before.pes.keys())),
        restarted=tuple(sorted(both - stayed)),
        untouched=tuple(sorted(stayed)),
        removed=tuple(sorted(before.pes.keys() - after.pes.keys())),
        duration_s=duration_s,
    )


def _coloured(word: str) -> Line:
    return cell(word, _COLOURS.get(word, ""))


def job_table(jobs: Iterable[JobView], extra: Mapping[str, Sequence[str]] | None = None) -> Rows:
    """A table with one row for each job; `extra` has values of more columns, before the message."""
    extra = extra or {}
    table = Rows(box=None, pad_edge=False)
    headings = ("JOB", "PHASE", "GENERATION", "PES", "RUNNING", "REGIONS", *extra, "MESSAGE")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for place, job in enumerate(jobs):
        running = sum(pe.phase == "Running" for pe in job.pes.values())
        table.add_row(
            job.name,
            _coloured(job.phase or "-"),
            "-" if job.generation is None else str(job.generation),
            str(job.planned),
            str(running),
            one_line(regions_text(job), LISTED_CHARS_MAX),
            *(values[place] for values in extra.values()),
            one_line(job.message, LISTED_CHARS_MAX),
        )
    return table


def regions_text(job: JobView) -> str:
    """`Region=3`, or `Region=3 (5 wanted: WidthRefused)` while the width in force is another."""
    parts = []
    for alias, (wanted, in_force) in sorted(job.regions.items()):
        reason, _ = job.region_messages.get(alias, ("", ""))
        is_old = reason in ("", Reason.WIDTH_IN_FORCE, Reason.RESIZED)
        why = "" if is_old else f": {reason}"
        note = "" if wanted == in_force else f" ({wanted} wanted{why})"
        parts.append(f"{alias}={in_force}{note}")
    return ", ".join(parts)


def pe_table(job: JobView, extra: Callable[[PeView], tuple[str, str]] | None = None) -> Renderable:
    """A table with one row for each processing element, at most PES_SHOWN_MAX.

    `extra` gives its restarts and its age.
    """
    table = Rows(box=None, pad_edge=False)
    more_headings = ("RESTARTS", "AGE") if extra else ()
    for heading in ("PE", "PHASE", "LAUNCH", "NODE", "POD", *more_headings, "OPERATORS"):
        table.add_column(heading, no_wrap=heading != "OPERATORS")
    views = [job.pes[pe_id] for pe_id in sorted(job.pes)]
    for pe in views[:PES_SHOWN_MAX]:
        operators = ", ".join(pe.operators)
        launch = str(pe.launch or "-")
        wide = extra(pe) if extra else ()
        table.add_row(pe.name, _coloured(pe.phase), launch, pe.node, pe.pod_name, *wide, operators)
    more = len(views) - PES_SHOWN_MAX
    if more > 0:
        return stacked(table, cell(f"… and {more} more", "dim"))
    return table


def job_panel(job: JobView, *, problems: bool = True, pes: bool = True) -> Renderable:
    """A job with its regions, its refusals, and its processing elements."""
    parts: list[Renderable] = [job_line(job)]
    if problems:
        parts += [cell(problem, "red") for problem in problems_of(job)]
    if job.pes and pes:
        parts.append(pe_table(job))
    return stacked(*parts)


def job_line(job: JobView) -> Line:
    """A job in one line."""
    running = sum(pe.phase == "Running" for pe in job.pes.values())
    regions = regions_text(job)
    waits_for = job.message if job.phase == "Submitting" and not job.pes else waits_of(job)
    return joined(
        cell("job ", "dim"),
        cell(job.name, "bold"),
        "  ",
        _coloured(job.phase or f"waiting for {OWNERS[JOB.kind]}"),
        f"  {running} of {counted(job.planned, 'processing element')} running  ",
        cell(regions, "cyan"),
        "  " if regions and waits_for else "",
        waits_for,
    )


def problems_of(job: JobView) -> list[str]:
    """Messages of a failed job, of refused widths, and of processing elements that do not run."""
    problems = [f"{job.reason}: {job.message}"] if job.has_failed else []
    refused = ((alias, refusal(job, alias)) for alias in sorted(job.regions))
    problems += [f"{alias}: {why}" for alias, why in refused if why]
    pes = [job.pes[pe_id] for pe_id in sorted(job.pes) if job.pes[pe_id].problem]
    problems += [f"{pe.name} is {pe.phase}: {pe.problem}" for pe in pes[:PROBLEMS_SHOWN_MAX]]
    more = len(pes) - PROBLEMS_SHOWN_MAX
    if more > 0:
        do = agreeing(more, "do not run")
        problems.append(f"{more} more {do}: `kubectl get stp -o wide` shows why")
    return problems


def waits_of(view: JobView) -> str:
    """The regions whose width waits, with their messages; empty if no width waits."""
    texts = sorted(view.region_messages.items())
    return "; ".join(f"{alias}: {why}" for alias, (of, why) in texts if of == Reason.WIDTH_WAITS)


def refusal(view: JobView, alias: str, *, generation: int = 0) -> str:
    """Why a width was refused; empty if it was not, or if `generation` is not observed yet."""
    if view.region_observed.get(alias, 0) < generation:
        return ""
    reason, message = view.region_messages.get(alias, ("", ""))
    wanted, in_force = view.regions.get(alias, (0, 0))
    goes_on = (Reason.WIDTH_IN_FORCE, Reason.WIDTH_WAITS, Reason.RESIZING, Reason.RESIZED)
    return "" if reason in ("", *goes_on) or wanted == in_force else f"{reason}: {message}"


def resize_text(outcome: ResizeOutcome) -> str:
    """The outcome of a resize in four lines."""

    def ids(values: tuple[int, ...]) -> str:
        return f"{len(values):>3}  {', '.join(map(str, values))}" if values else "  0"

    lines = [
        f"added      {ids(outcome.added)}",
        f"restarted  {ids(outcome.restarted)}",
        f"left alone {ids(outcome.untouched)}",
        f"removed    {ids(outcome.removed)}",
        f"from the accepted resize to the last pod running: {outcome.duration_s:.2f} s",
    ]
    return "\n".join(lines)
