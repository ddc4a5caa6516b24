"""Plans of a running job: from its plan record, as fusion-backend would plan its next resize.

The record and the inputs of its plan are in ConfigMaps of the job; the application is in its
bundle, which has to be the one that the record names (by SHA-256). Nothing is written.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cli.connecting import CONFIG_MAPS, Cluster, connected
from cli.failing import Failure, Misused
from cli.jobs import job_object, region_width_of
from cli.manifests import bundle_file
from cli.planning import RunningJob, Step, resized_step, steps_of
from cli.recognizing import bundle_of
from cli.showing import Rows
from contracts import labels
from planner.application.adl import read_application
from planner.application.model import Application
from planner.fates import Fate, Fates, fates_of
from planner.numbering.records import PlanRecord
from planner.planning import Keep
from planner.refusals import PlanRefused
from planner.requesting import PlanRequest
from services.chassis.kube.port import Json, KubeClient
from services.chassis.process.errors import NotFound
from services.fusion_backend.core.placement_requests import has_constraints
from services.fusion_backend.core.recording import RecordDamaged, parts_of, plan_of
from services.fusion_backend.core.snapshot import KnownPlan
from services.fusion_backend.core.spec.inputs import rendered_again, request, resized

_PLURAL = {
    Fate.RESTARTS: "restart",
    Fate.NEW: "new",
    Fate.GONE: "gone",
    Fate.STAYS: "stay",
}


@dataclass(frozen=True, slots=True)
class RunningPlan:
    """The plan in force of a job, and the application that it is of."""

    plan: KnownPlan
    application: Application

    @property
    def record(self) -> PlanRecord:
        """The plan record of the generation in force."""
        return self.plan.record

    def again(self) -> PlanRequest:
        """The request that gives the generation in force again, with all texts of its PEs."""
        pes = tuple(pe.id for pe in self.record.pes)
        inputs = rendered_again(self.plan.inputs, self.record, pes)
        return request(
            inputs,
            application=self.application,
            bundle_digest=self.record.bundle_digest,
            previous=self.record,
        )

    def resize(self, alias: str, width: int) -> tuple[Step, Fates]:
        """The next generation with this width, and what becomes of PEs and operators.

        Raises PlanRefused.
        """
        wanted = request(
            resized(self.plan.inputs, self.record, self.record.widths),
            application=self.application,
            bundle_digest=self.record.bundle_digest,
            previous=self.record,
        )
        step = resized_step(wanted, self.record, alias, width, _discard)
        return step, fates_of(self.record, step.draft, step.record)


def steps_of_job(job: RunningJob, resizes: Iterable[str], keep: Keep) -> list[Step]:
    """The plan in force of a running job, and that of each resize after it, `REGION=W`.

    Raises Failure, and PlanRefused for what fusion-backend would refuse.
    """

    async def read() -> RunningPlan:
        async with connected(job.kubeconfig, job.namespace) as cluster:
            return await running_plan(cluster, cluster.namespace, job.name, job.bundles)

    return steps_of(asyncio.run(read()).again(), resizes, keep)


async def running_plan(
    cluster: Cluster, namespace: str, job: str, bundles: Path | None
) -> RunningPlan:
    """The plan in force of a job. Raises Failure if it has none or its bundle is not found.

    `bundles` is the folder of the bundle; None: the bundle root of `millrace up`.
    """
    found = await job_object(cluster.kube, namespace, job)
    plan = await _plan_in_force(cluster.kube, found)
    file = _bundle_of_plan(cluster, job, plan, bundles)
    bundle = bundle_of(file)
    if bundle.digest != plan.record.bundle_digest:
        raise Failure(
            f"{file} is another bundle than the one that job {job} runs (SHA-256 "
            f"{plan.record.bundle_digest}): say --bundles DIR, a folder that has that one"
        )
    return RunningPlan(plan, read_application(bundle))


def _bundle_of_plan(cluster: Cluster, job: str, plan: KnownPlan, given: Path | None) -> Path:
    """The file of the bundle: `millrace up` keeps what a job was submitted with, by digest."""
    if given is None and cluster.up is not None:
        if cluster.up.state is not None:
            kept = cluster.up.state / "store" / f"{plan.record.bundle_digest}.sab"
            if kept.is_file():
                return kept
        given = cluster.up.bundle_root
    if given is None:
        raise Misused(
            f"the plan of job {job} needs its bundle, {plan.inputs.bundle.value}: say --bundles "
            "DIR, the folder that it is in"
        )
    return bundle_file(plan.inputs.bundle, given, "--bundles DIR")


async def _plan_in_force(kube: KubeClient, job: Json) -> KnownPlan:
    meta = job["metadata"]
    generation = (job.get("status") or {}).get("generation")
    if generation is None:
        raise Failure(f"job {meta['name']} is not planned yet: try again when it is submitted")
    name = labels.plan_name(meta["name"], generation)
    try:
        head = await kube.get(CONFIG_MAPS, meta["namespace"], name)
        if head["metadata"].get("labels", {}).get(labels.JOB_UID) != meta["uid"]:
            raise Failure(f"plan record {name} belongs to another job of that name")
        parts = [await kube.get(CONFIG_MAPS, meta["namespace"], part) for part in parts_of(head)]
        return plan_of(head, parts)
    except NotFound as problem:
        lost = f"the plan record of generation {generation} is gone"
        raise Failure(f"{lost}: {problem.message}") from None
    except RecordDamaged as damage:
        raise Failure(str(damage)) from None


async def dry_run_text(
    cluster: Cluster, namespace: str, job: str, words: str, bundles: Path | None
) -> tuple[str, Rows]:
    """What `REGION=W` would do to each PE of a running job: a sentence and a table.

    Raises Failure for what would be refused.
    """
    alias, width = region_width_of("", words)
    plan = await running_plan(cluster, namespace, job, bundles)
    try:
        _, fates = plan.resize(alias, width)
    except PlanRefused as refusal:
        raise Failure(f"the width would be refused: {refusal.message}") from None
    counts = Counter(each.fate for each in fates.pes.values())
    named = (Fate.RESTARTS, Fate.NEW, Fate.GONE, Fate.STAYS)
    found = ", ".join(f"{counts[fate]} {_PLURAL[fate]}" for fate in named)
    table = Rows(box=None, pad_edge=False)
    for heading in ("PE", "FATE", "WHY", "OPERATORS"):
        table.add_column(heading, overflow="fold")
    for pe in fates.pes.values():
        name = labels.pe_name(job, pe.pe)
        table.add_row(name, pe.fate.value, "; ".join(pe.why), ", ".join(pe.operators))
    where = "" if not has_constraints(plan.record) else "; its hosts are looked for at the request"
    return f"a dry run, nothing is changed: PEs: {found}{where}", table


def _discard(_content_id: str, _text: bytes) -> None:
    """Discard the text of an AADL."""
