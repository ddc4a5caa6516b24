"""Effects about plans: run the planner, write a plan record, read one back.

The planner's answer enters `answers.py` and wakes the job's key. What a plan record holds is
`core/recording.py`'s business.
"""

from __future__ import annotations

from typing import Any

from contracts import labels
from services.chassis.errors import NameTaken, NotFound, Rejected, Superseded, Transient
from services.chassis.resources import resource_of
from services.chassis.wiring import Wiring
from services.chassis.writing import Outcome
from services.fusion_backend.adapters.answers import Answers, JobAnswers
from services.fusion_backend.adapters.bundle_store import BundleStore
from services.fusion_backend.adapters.intake import JobKey
from services.fusion_backend.adapters.planner import Planner, PlanTask
from services.fusion_backend.core.effects import Plan, ReadPlan, RecordPlan
from services.fusion_backend.core.planning import PlanResult
from services.fusion_backend.core.recording import known_plan, objects_of, parts_of, plan_of
from services.fusion_backend.core.records import PlanRecord
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan, Snapshot


class Plans:
    """Carries out what concerns plans."""

    def __init__(
        self, wiring: Wiring, answers: Answers, *, bundles: BundleStore, planner: Planner
    ) -> None:
        self._wiring = wiring
        self._answers = answers
        self._bundles = bundles
        self._planner = planner

    async def run(self, key: JobKey, snapshot: Snapshot, effect: Plan) -> str:
        """Ask the planner; a refusal is an answer, too."""
        known = self._answers.of(effect.job_uid)
        try:
            result = await self._planner.plan(await self._task(snapshot, effect))
        except PlanRefused as refusal:
            known.learn(effect.inputs, refusal)
            outcome = f"refused: {refusal.reason.value}"
        except Transient as problem:
            known.troubled[effect.inputs.digest] = str(problem)
            raise
        else:
            known.learn(effect.inputs, result)
            outcome = "planned"
        self._wiring.wake(key)
        return outcome

    async def _task(self, snapshot: Snapshot, effect: Plan) -> PlanTask:
        inputs = effect.inputs
        digest = inputs.bundle_digest or await self._bundles.take_in(inputs.bundle)
        previous: PlanRecord | None = None
        if inputs.previous is not None:
            previous = snapshot.plans[inputs.previous].record
        path = await self._bundles.path_of(digest, inputs.bundle)
        return PlanTask(inputs, digest, path, previous)

    async def record(self, snapshot: Snapshot, effect: RecordPlan) -> str:
        """Create the plan record: parts first, the head last, for the head is the generation."""
        job = snapshot.job
        assert job is not None, "a plan belongs to a Job"
        known = self._answers.of(job.uid)
        plan = _plan_to_record(snapshot, effect)
        try:
            objects = objects_of(job, plan)
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
            self._answers.of(job.uid).name_taken = f"ConfigMap {body['metadata']['name']}"
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
        try:
            parts = [await self._get(job, part) for part in parts_of(head)]
            plan = plan_of(head, parts)
        except ValueError as damage:
            raise Rejected(422, "Invalid", str(damage), {}) from damage
        self._know(job, effect.uid, plan)
        self._wiring.wake(key)
        return "read"

    def _know(self, job: JobSeen, uid: str, plan: KnownPlan) -> None:
        known: JobAnswers = self._answers.of(job.uid)
        known.know(uid, plan)

    async def _get(self, job: JobSeen, name: str) -> dict[str, Any]:
        try:
            return await self._wiring.runtime.kube.get(
                resource_of("ConfigMap"), job.namespace, name
            )
        except NotFound as problem:
            await self._wiring.writer.confirm_absent(resource_of("ConfigMap"), job.namespace, name)
            raise Superseded(f"plan record {name} is gone") from problem


def _plan_to_record(snapshot: Snapshot, effect: RecordPlan) -> KnownPlan:
    """A new plan from the planner's answer, or one whose record somebody deleted."""
    if effect.generation in snapshot.plans:
        return snapshot.plans[effect.generation]
    outcome = snapshot.outcomes[effect.inputs.digest]
    assert isinstance(outcome, PlanResult), "only a plan that was made is recorded"
    return known_plan(effect.inputs, outcome)
