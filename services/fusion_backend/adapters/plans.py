"""Effects about plans: run the planner, write a plan record, read one back.

The planner's answer enters `answers.py` and wakes the job's key. What a plan record holds is
`core/recording.py`'s business.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from contracts import labels
from contracts.belonging import Root
from contracts.reasons import Reason
from planner.numbering.records import PlanRecord
from planner.planning import PlanResult
from planner.refusals import PlanRefused, shown
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Outcome
from services.chassis.process.backoff import Backoffs
from services.chassis.process.errors import NameTaken, NotFound, Superseded, Transient
from services.chassis.process.log_lines import log_of
from services.chassis.running.wiring import Wiring
from services.chassis.table.entries import Entry
from services.fusion_backend.adapters.answers import Answers, JobAnswers
from services.fusion_backend.adapters.bundles.store import BundleStore, BundleUnreadable
from services.fusion_backend.adapters.bundles.unused import UnusedBundles
from services.fusion_backend.adapters.cluster_cpu import ClusterCpu, CpuFound, JobPods
from services.fusion_backend.adapters.intake import JobKey, nodes_that_count
from services.fusion_backend.adapters.planner import ABOUT_BUNDLES, Planner, PlanTask
from services.fusion_backend.core.effects import LookForBundle, Plan, ReadPlan, RecordPlan
from services.fusion_backend.core.recording import (
    RecordDamaged,
    known_plan,
    objects_of,
    parts_of,
    plan_of,
)
from services.fusion_backend.core.snapshot import Damage, JobSeen, KnownPlan, Snapshot, Trouble
from services.fusion_backend.core.spec.inputs import PlanInputs

TROUBLE_CHARS_MAX = 1000
LOGGED_MAX = 1000
"""So many plans are remembered with the failure that was logged."""


class Plans:
    """Carries out what concerns plans."""

    def __init__(
        self,
        wiring: Wiring,
        answers: Answers,
        *,
        bundles: BundleStore,
        planner: Planner,
        unused: UnusedBundles,
    ) -> None:
        self._wiring = wiring
        self._cpu = ClusterCpu(wiring.runtime.kube, wiring.runtime.clock)
        self._answers = answers
        self._bundles = bundles
        self._planner = planner
        self._unused = unused
        self._backoffs: Backoffs[str] = Backoffs(wiring.runtime.random)
        self._log = log_of("planning")
        self._logged: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def run(
        self, key: JobKey, snapshot: Snapshot, effect: Plan | ReadPlan | LookForBundle
    ) -> str:
        """What is planned from, or read."""
        if isinstance(effect, Plan):
            return await self.ask(key, snapshot, effect)
        if isinstance(effect, ReadPlan):
            return await self.read(key, snapshot, effect)
        return await self.look_for_bundle(key, effect)

    async def ask(self, key: JobKey, snapshot: Snapshot, effect: Plan) -> str:
        """Ask the planner and go on: a plan takes seconds, and others wait in line before it.

        Neither a slot for effects nor the job is held meanwhile, so that a planner that hangs keeps
        no time-out from passing and no other job from writing.
        """
        known = self._answers.of(effect.job_uid)
        if known.planning is not None:
            return "planned before"
        previous: PlanRecord | None = None
        if effect.inputs.previous is not None:
            previous = snapshot.plans[effect.inputs.previous].record
        work = self._plan(key, known, effect.inputs, previous, _pods_of(snapshot))
        known.begin_planning(asyncio.create_task(work, name=f"plan of {key.name}"))
        return "planning"

    async def look_for_bundle(self, key: JobKey, effect: LookForBundle) -> Outcome:
        """See whether a bundle is there; one that is enters once, and wakes the job."""
        known = self._answers.of(effect.job_uid)
        if known.is_bundle_there or not await self._bundles.has_whole(effect.source):
            return Outcome.EXISTED
        known.see_bundle()
        self._wiring.wake(key)
        return Outcome.EXISTED

    async def _plan(
        self,
        key: JobKey,
        known: JobAnswers,
        inputs: PlanInputs,
        previous: PlanRecord | None,
        pods: Iterable[Entry],
    ) -> None:
        """Wait for the answer and keep it; a refusal is an answer, too."""
        metrics = self._wiring.runtime.metrics
        # Beside the bundle, which may have to be fetched.
        measuring = self._measuring(key, known.job_uid, inputs, pods)
        try:
            task = await self._task(key, inputs, previous)
            found = await measuring if measuring is not None else CpuFound()
            result = await self._planner.plan(replace(task, measured=found.measured))
            warnings = (*result.warnings, found.problem) if found.problem else result.warnings
            known.learn(inputs, replace(result, warnings=warnings))
        except PlanRefused as refusal:
            known.learn(inputs, refusal)
            self._log_once(key, known, inputs, refusal.reason, shown(refusal, TROUBLE_CHARS_MAX))
            if refusal.reason in ABOUT_BUNDLES:
                await self._bundles.distrust(inputs.bundle, key.namespace)
        except Transient as problem:
            trouble = self._note_trouble(known, inputs, problem)
            self._log_once(key, known, inputs, trouble.reason, trouble.text)
        except Exception as problem:  # noqa: BLE001 - a defect delays only this job
            metrics.count("millrace_crashes_total", where="planning")
            self._log.exception("planning_crashed", key=str(key))
            self._note_trouble(known, inputs, problem)
        else:
            self._backoffs.mark_succeeded(inputs.digest)
            self._logged.pop((known.job_uid, inputs.digest), None)
            self._unused.remove_if_due()
        finally:
            if measuring is not None:
                measuring.cancel()
            known.end_planning()
        self._wiring.wake(key)

    def _measuring(
        self, key: JobKey, job_uid: str, inputs: PlanInputs, pods: Iterable[Entry]
    ) -> asyncio.Task[CpuFound] | None:
        """Measures the CPU in use; texts that are made again depend on none."""
        if inputs.fusion.scheme != "automatic" or inputs.rendered:
            return None
        nodes = nodes_that_count(self._wiring.table)
        names = frozenset(pod.name for pod in pods if pod.data["node"] in nodes)
        selector = Root(key.kind, key.name).selector_of_uid(job_uid)
        work = self._cpu.measured(nodes, JobPods(key.namespace, selector, names))
        return asyncio.create_task(work, name=f"CPU for the plan of {key.name}")

    def _log_once(
        self, key: JobKey, known: JobAnswers, inputs: PlanInputs, reason: Reason, problem: str
    ) -> None:
        """A line for each cause why there is no plan; retries that fail alike have none."""
        plan = known.job_uid, inputs.digest
        if self._logged.get(plan) != problem:
            self._log.warning(
                "planning_failed",
                namespace=key.namespace,
                job=key.name,
                reason=reason.value,
                problem=problem,
            )
        self._logged[plan] = problem
        self._logged.move_to_end(plan)
        if len(self._logged) > LOGGED_MAX:
            self._logged.popitem(last=False)

    def _note_trouble(self, known: JobAnswers, inputs: PlanInputs, problem: Exception) -> Trouble:
        now = self._wiring.runtime.clock.now()
        before = known.troubled.get(inputs.digest)
        is_unreadable = isinstance(problem, BundleUnreadable)
        trouble = Trouble(
            Reason.BUNDLE_UNREADABLE if is_unreadable else Reason.PLANNING_FAILED,
            trouble_message(problem),
            since=before.since if before is not None else now,
            until=self._backoffs.mark_failed(
                inputs.digest, now, at_least_s=_retry_after_s(problem)
            ),
        )
        known.note_planning_trouble(inputs.digest, trouble)
        return trouble

    async def _task(self, key: JobKey, inputs: PlanInputs, previous: PlanRecord | None) -> PlanTask:
        source = inputs.bundle
        digest = inputs.bundle_digest or await self._bundles.take_in(source, key.namespace)
        path = await self._bundles.path_of(digest, source, key.namespace)
        return PlanTask(inputs, digest, path, previous)

    async def record(self, snapshot: Snapshot, effect: RecordPlan) -> str:
        """Create the plan record: parts first, the head last, for the head is the generation."""
        job = snapshot.job
        assert job is not None, "a plan belongs to a Job"
        known = self._answers.of(job.uid)
        plan = _plan_to_record(snapshot, effect)
        try:
            objects = objects_of(job, plan, now=self._wiring.runtime.clock.now())
        except PlanRefused as refusal:
            known.learn(effect.inputs, refusal)
            raise Superseded(str(refusal)) from refusal
        config_map = resource_of("ConfigMap")
        for part in objects.parts:
            await self._create(job, part)
        outcome = await self._create(job, objects.head)
        entry = self._wiring.table.get(
            config_map.kind, job.namespace, labels.plan_name(job.name, effect.generation)
        )
        if entry is not None and outcome is Outcome.CREATED:
            known.know(entry.uid, plan)
        return outcome

    async def _create(self, job: JobSeen, body: dict[str, Any]) -> Outcome:
        try:
            return await self._wiring.writer.create(
                resource_of("ConfigMap"), job.namespace, body, stamp=labels.GENERATION
            )
        except NameTaken:
            # An orphaned job left a record of this name: nothing that waits makes it go away.
            self._answers.of(job.uid).note_name_taken(f"ConfigMap {body['metadata']['name']}")
            self._wiring.wake(JobKey(job.namespace, job.name))
            raise

    async def read(self, key: JobKey, snapshot: Snapshot, effect: ReadPlan) -> str:
        """Read a plan record and its parts, and remember it under its uid."""
        job = snapshot.job
        assert job is not None, "a plan belongs to a Job"
        name = labels.plan_name(job.name, effect.generation)
        head = await self._get(job, name)
        if head["metadata"]["uid"] != effect.uid:
            raise Superseded(f"plan record {name} is another one now")
        known = self._answers.of(job.uid)
        try:
            parts = [await self._part(job, part) for part in parts_of(head)]
            known.know(effect.uid, plan_of(head, parts))
        except RecordDamaged as damage:
            known.note_damage(effect.uid, Damage(str(damage), damage.is_lost))
            self._log.error("plan_record_damaged", key=str(key), problem=str(damage))
        self._wiring.wake(key)
        return "damaged" if effect.uid in known.damaged else "read"

    async def _part(self, job: JobSeen, name: str) -> dict[str, Any]:
        """A part that the head names; parts are written first, so one that is missing is lost."""
        try:
            return await self._get(job, name)
        except Superseded as problem:
            raise RecordDamaged(f"part {name} of the plan record is missing") from problem

    async def _get(self, job: JobSeen, name: str) -> dict[str, Any]:
        try:
            return await self._wiring.runtime.kube.get(
                resource_of("ConfigMap"), job.namespace, name
            )
        except NotFound as problem:
            await self._wiring.writer.confirm_absent(resource_of("ConfigMap"), job.namespace, name)
            raise Superseded(f"plan record {name} is gone") from problem


def _pods_of(snapshot: Snapshot) -> list[Entry]:
    return [pod for pods in snapshot.pods.values() for pod in pods]


def trouble_message(problem: Exception) -> str:
    """What a condition says of trouble: of a crash its kind alone, its words may be any."""
    if isinstance(problem, Transient):
        return shown(problem, TROUBLE_CHARS_MAX)
    return f"the planner crashed ({type(problem).__name__}); the log of fusion-backend says more"


def _retry_after_s(problem: Exception) -> float:
    """The Retry-After of a server."""
    return (problem.retry_after_s or 0.0) if isinstance(problem, Transient) else 0.0


def _plan_to_record(snapshot: Snapshot, effect: RecordPlan) -> KnownPlan:
    """A new plan from the planner's answer, or one whose record somebody deleted."""
    if effect.generation in snapshot.plans:
        return snapshot.plans[effect.generation]
    outcome = snapshot.outcomes[effect.inputs.digest]
    assert isinstance(outcome, PlanResult), "only a plan that was made is recorded"
    return known_plan(effect.inputs, outcome)
