"""What `millrace plan` shows: the plans of a bundle, an ADL, a Job's manifest, or a running job.

Options become requests to the planner of fusion-backend. No PE is placed on a node: that is decided
by hostpool-manager. Each resize is a generation of its own, planned from the one before.
`plan_command.py` prints the plans, `running_plans.py` has those of a running job.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.cpu_usage import mcpu_of_option, read_cpu_usage
from cli.drawing import reasons_of
from cli.failing import Failure, Misused
from cli.jobs import fusion_of, job_name_for, pair_of, region_width_of
from cli.recognizing import bundle_of
from planner.application.adl import read_application
from planner.application.region_names import region_named
from planner.drafting import Draft, draft
from planner.explaining import explain
from planner.fates import Fate, fates_of
from planner.numbering.records import Fusion, FusionType, PlanRecord
from planner.outline import outline, outline_of_resize
from planner.planning import Keep, PlanResult, settle
from planner.refusals import shown
from planner.requesting import PlanLimits, PlanRequest
from planner.resizing import refuse_resized_consistency
from services.chassis.process.collecting import collector_paused

NODE_CPUS = 4
MANIFESTS = frozenset({".yaml", ".yml", ".json"})
"""What the names of manifests end with."""
NO_LIMIT_BYTES = 1 << 40
_OURS = re.compile(r"pe-\d+\.xml|plan\.svg")


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The arguments and options of `millrace plan`, not parsed yet."""

    source: Path
    fusion: str = ""
    widths: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    resizes: tuple[str, ...] = ()
    compat: bool = False
    type: FusionType = "noChannelInfluence"
    nodes: int = 1
    node_cpus: int = NODE_CPUS
    pod_cpu: str = ""
    cpu_usage: Path | None = None
    bundles: Path | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """The options that are given of those that a submission has; a Job has them in its spec."""
        given = {
            "--fusion": self.fusion,
            "--width": self.widths,
            "--param": self.params,
            "--type": self.type != "noChannelInfluence",
            "--compat": self.compat,
            "--pod-cpu": self.pod_cpu,
        }
        return tuple(option for option, value in given.items() if value)

    @property
    def is_of_manifest(self) -> bool:
        """Whether the source is the manifest of a Job."""
        return self.source.suffix.lower() in MANIFESTS


@dataclass(frozen=True, slots=True)
class RunningJob:
    """Where a running job is: its kubeconfig and its bundle's folder if not the usual ones."""

    name: str
    namespace: str
    kubeconfig: Path | None
    bundles: Path | None


@dataclass(frozen=True, slots=True)
class Step:
    """One generation: the draft and the result with its record."""

    draft: Draft
    result: PlanResult

    @property
    def record(self) -> PlanRecord:
        """The plan record."""
        return self.result.record


def plan_steps(options: PlanOptions, keep: Keep) -> list[Step]:
    """The requested generations, in order; `keep` receives the texts of their AADLs.

    Raises PlanRefused, and Misused if an option cannot be parsed.
    """
    request = _request(options)
    if options.cpu_usage is not None:
        request = replace(request, usage=read_cpu_usage(options.cpu_usage))
    return steps_of(request, options.resizes, keep)


@collector_paused()
def steps_of(request: PlanRequest, resizes: Iterable[str], keep: Keep) -> list[Step]:
    """The plan of a request and of each resize after it, `REGION=W`.

    Raises PlanRefused, and Misused for words that are no resize.
    """
    steps = [_step(request, keep)]
    for words in resizes:
        alias, width = region_width_of("--resize", words)
        steps.append(resized_step(request, steps[-1].record, alias, width, keep))
    return steps


def resized_step(
    request: PlanRequest, record: PlanRecord, alias: str, width: int, keep: Keep
) -> Step:
    """The plan after `record` with another width of one region. Raises PlanRefused."""
    names = [region.name for region in request.application.regions]
    name = region_named(alias, names, field=f"--resize {shown(alias)}")
    wanted = replace(
        request,
        generation=record.generation + 1,
        width_overrides=(),
        widths={**record.widths, name: width},
        previous=record,
    )
    if not request.compat:
        refuse_resized_consistency(wanted)
    return _step(wanted, keep)


def _step(request: PlanRequest, keep: Keep) -> Step:
    return Step(*settle(draft(request), keep))


def _request(options: PlanOptions) -> PlanRequest:
    if options.is_of_manifest:
        return _request_of_manifest(options)
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
        submission_time_values=dict(pair_of("--param", words) for words in options.params),
        limits=replace(limits, aadl_bytes_max=NO_LIMIT_BYTES) if options.compat else limits,
        compat=options.compat,
    )


def _request_of_manifest(options: PlanOptions) -> PlanRequest:
    """The request of a Job's manifest, whose spec has all options of a submission."""
    if options.given:
        raise Misused(
            f"{', '.join(options.given)}: the Job of {options.source} has that in its spec"
        )
    from cli.manifests import request_of_manifest  # reads with fusion-backend's models: slow

    return request_of_manifest(
        options.source, options.bundles, nodes=options.nodes, node_cpus=options.node_cpus
    )


def _fusion(options: PlanOptions) -> Fusion:
    """The requested fusion. Raises Misused, as `millrace submit` does."""
    requested = fusion_of(options.fusion or "automatic")
    if "manual" in requested:
        return Fusion.manual(requested["manual"], options.type)
    if "legacy" in requested:
        return Fusion.legacy(options.type)
    return Fusion.automatic(
        options.nodes,
        options.type,
        allocatable_mcpu=options.nodes * options.node_cpus * 1000,
        largest_node_mcpu=options.node_cpus * 1000,
        limit_mcpu=mcpu_of_option("--pod-cpu", options.pod_cpu) if options.pod_cpu else 0,
    )


# --------------------------------------------------------------------------- answers


def plan_json(steps: list[Step], *, is_running: bool = False) -> dict[str, object]:
    """The plan as JSON: the first generation, and how the last one differs.

    Of each PE its fate and why, of each operator where it goes. `is_running`: the first generation
    is that of a running job, so its PEs stay; else they are new.
    """
    first, last = steps[0], steps[-1]
    fate = Fate.STAYS if is_running else Fate.NEW
    found = outline(first.draft)
    reasons = explain(first.draft)
    for pe_id, pe in found["pe"].items():
        pe |= {"fate": fate, "why": list(reasons_of(reasons[int(pe_id)]))}
    found["operator"] = {
        each.name: {
            "index": index,
            "fate": fate,
            "from": first.draft.pe_of[index] if is_running else None,
            "to": first.draft.pe_of[index],
        }
        for index, each in sorted(first.draft.topology.operators.items())
    }
    if len(steps) > 1:
        fates = fates_of(first.record, last.draft, last.record)
        found["update"] = {**outline_of_resize(first.draft, last.draft), **fates.to_json()}
    return found


def plan_into(plan: Callable[[Keep], list[Step]], folder: Path) -> list[Step]:
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
            steps = plan(lambda name, text: (Path(spool) / name).write_bytes(text))
            for old in folder.iterdir():
                if _OURS.fullmatch(old.name):
                    old.unlink()
            for pe in steps[-1].record.pes:
                (Path(spool) / pe.content_id).rename(folder / f"pe-{pe.id}.xml")
    except OSError as problem:
        raise Failure(f"{folder} cannot be written: {problem.strerror}") from None
    return steps
