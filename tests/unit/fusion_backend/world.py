"""A tiny world for the pure core: objects in a dictionary, effects applied one by one.

Applies what is decided with the core's own bodies and the real planner; plays pod-state-machine.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from contracts import labels
from contracts.facts import project
from planner.planning import PlanResult, plan
from planner.refusals import PlanRefused
from services.chassis.running.stage import Decision
from services.chassis.table.table import Table
from services.chassis.table.viewing import Views
from services.fusion_backend.adapters.answers import Answers
from services.fusion_backend.adapters.folding import BOUND_POD, RoomFold
from services.fusion_backend.adapters.intake import INDEXES, JobKey, snapshot_of
from services.fusion_backend.core.answered import ReferenceNoted
from services.fusion_backend.core.conditions import job_status_patch
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import (
    AdoptChild,
    CreateChild,
    DeleteCertificate,
    DeleteChild,
    DeleteChildren,
    Effect,
    JobStatusChange,
    KeepRefusal,
    LookForBundle,
    NoteReference,
    PatchChild,
    Plan,
    ReadPlan,
    RecordPlan,
    ReportReference,
    TakeJobId,
    WriteJobStatus,
    WriteRegionStatus,
)
from services.fusion_backend.core.recording import known_plan, objects_of, plan_of
from services.fusion_backend.core.references import reference_patch
from services.fusion_backend.core.region_statuses import region_status_patch
from services.fusion_backend.core.rendering import adoption_of, body_of, patch_of
from services.fusion_backend.core.seen import RegionSeen
from services.fusion_backend.core.snapshot import Snapshot
from services.fusion_backend.core.spec.inputs import request
from services.fusion_backend.core.spec.pod_rules import DEFAULT_RULES
from tests.unit.fusion_backend.objects import meaning_of, merge
from tests.unit.fusion_backend.shop import application

Obj = dict[str, Any]
Name = tuple[str, str]
NAMESPACE = "default"
JOB = "shop"
SERVICE = labels.job_service_name(JOB)


def keep_all(effect: Effect) -> bool:
    """No effect is lost."""
    return False


class World:
    """One job and everything that exists of it."""

    def __init__(self, *, width: int = 2, nodes: int = 3, **spec: Any) -> None:
        self.objects: dict[Name, Obj] = {}
        self.writes: list[tuple[str, str, str]] = []
        self.events: list[tuple[str, str]] = []
        self.answers = Answers()
        self.now = 1_800_000_000.0
        self.width_max = 100_000
        self.pod_rules, self.runtime_image = DEFAULT_RULES, ""
        self.pods_run = True
        self.has_bundle_folder = False
        self.is_bundle_there = self.is_python = False
        self.planned, self.hosts = 0, ""
        self._version = 0
        self._ids: dict[str, int] = {}
        for number in range(nodes):
            self.add_node(f"node-{number}")
        self.submit(width=width, **spec)

    # ------------------------------------------------------------------ what people do

    def add_node(
        self, name: str, *, pods: int = 500, tags: Sequence[str] = (), **spec: Any
    ) -> None:
        """A node more, with room for so many pods, tags and a spec."""
        has = {"cpu": "1000", "memory": "1Ti", "pods": str(pods)}
        status = {"allocatable": has, "conditions": [{"type": "Ready", "status": "True"}]}
        meta = {"name": name, "labels": {f"{labels.TAG_PREFIX}{tag}": "" for tag in tags}}
        self._put("Node", {"metadata": meta, "spec": spec, "status": status})

    def submit(self, *, width: int = 2, **spec: Any) -> None:
        """Create the Job."""
        whole = {
            "bundle": {"name": "shop.sab"},
            "fusion": {"legacy": True},
            "submissionTimeValues": {"width": str(width)},
            "scaling": {"settleSeconds": 0},
            **spec,
        }
        self._put("Job", {"metadata": {"name": JOB, "generation": 1}, "spec": whole, "status": {}})

    def edit(self, kind: str, name: str, **spec: Any) -> None:
        """Change fields of a spec."""
        self._patch(kind, name, {"spec": spec})

    def put_back(self, kind: str, name: str, spec: Obj) -> None:
        """Replace a spec by an earlier one."""
        self.objects[kind, name]["spec"] = {}
        self._patch(kind, name, {"spec": spec})

    def resize(self, index: int, width: int) -> None:
        """Change the width of a parallel region."""
        self.edit("ParallelRegion", f"{JOB}-{index}", width=width)

    def remove(self, kind: str, name: str) -> None:
        """Delete an object by hand."""
        del self.objects[kind, name]

    def annotate(self, key: str, value: str) -> None:
        """Annotate the Job."""
        self._patch("Job", JOB, {"metadata": {"annotations": {key: value}}})

    def delete_job(self, *, orphan: bool = False) -> None:
        """Begin the deletion of the Job, which a finalizer holds."""
        finalizer = "orphan" if orphan else "foregroundDeletion"
        deleted = {"deletionTimestamp": "2026-11-20T00:00:00Z", "finalizers": [finalizer]}
        self._patch("Job", JOB, {"metadata": deleted})

    def adopt_pods(self) -> None:
        """Make every pod one that its PE controls."""
        for kind, name in list(self.objects):
            if kind == "Pod":
                uid = self.objects["ProcessingElement", name]["metadata"]["uid"]
                owner = {"kind": "ProcessingElement", "name": name, "uid": uid, "controller": True}
                self._patch(kind, name, {"metadata": {"ownerReferences": [owner]}})

    def mark_deleted(self, kind: str, name: str) -> None:
        """Begin the deletion of an object that takes its time."""
        self._patch(kind, name, {"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z"}})

    # ------------------------------------------------------------------ what fusion-backend does

    def snapshot(self) -> Snapshot:
        """What fusion-backend sees."""
        table, fold = Table(INDEXES), RoomFold()
        views = Views(table, (fold,), lambda _ref: None)
        for (of_kind, name), obj in self.objects.items():
            meta = obj["metadata"]
            for kind in (of_kind, BOUND_POD) if of_kind == "Pod" else (of_kind,):
                if (data := project(kind, obj)) is not None:
                    table.observe(
                        kind,
                        meta.get("namespace", ""),
                        name,
                        uid=meta["uid"],
                        resource_version=int(meta["resourceVersion"]),
                        data=data,
                    )
        views.fold_all()
        key, width_max, rules = JobKey(NAMESPACE, JOB), self.width_max, self.pod_rules
        return snapshot_of(
            table,
            key,
            self.answers,
            width_max=width_max,
            pod_rules=rules,
            runtime_image=self.runtime_image,
            rooms=fold.rooms,
            has_bundle_folder=self.has_bundle_folder,
        )

    def step(self, dropping: Callable[[Effect], bool] = keep_all) -> Decision[Effect]:
        """One decision and its effects, but for those that are lost; then pods are made."""
        snapshot = self.snapshot()
        decision = decide(snapshot, self.now)
        for effect in dict.fromkeys(decision.effects):  # as the chassis does
            if not dropping(effect):
                self.apply(snapshot, effect)
        self.others()
        return decision

    def converge(self, dropping: Callable[[Effect], bool] = keep_all) -> None:
        """Decide until nothing is left to do."""
        for _ in range(100):
            if not self.step(dropping).effects:
                return
        raise AssertionError(f"still deciding: {decide(self.snapshot(), self.now)}")

    def crash(self) -> None:
        """Forget everything that is no object."""
        self.answers = Answers()

    def apply(self, snapshot: Snapshot, effect: Effect) -> None:
        """What the world looks like after an effect."""
        match effect:
            case TakeJobId():
                job_id = self._ids.setdefault(effect.job_uid, len(self._ids))
                self._write_job(snapshot, effect.change, {"id": job_id})
            case WriteJobStatus():
                self._write_job(snapshot, effect.change, {})
            case Plan():
                self._plan(snapshot, effect)
            case ReadPlan():
                head = self.objects["ConfigMap", labels.plan_name(JOB, effect.generation)]
                self.answers.of(self.uid).know(effect.uid, plan_of(head, []))
            case RecordPlan():
                self._record(snapshot, effect)
            case KeepRefusal():
                self.answers.observe(effect.unplaced)
            case CreateChild():
                self._create(effect.kind, body_of(snapshot, effect))
            case PatchChild():
                entry = snapshot.of(effect.kind)[effect.name]
                self._write("PATCH", effect.kind, effect.name, patch_of(snapshot, effect, entry))
            case AdoptChild():
                entry = snapshot.of(effect.kind)[effect.name]
                self._write("PATCH", effect.kind, effect.name, adoption_of(snapshot, entry))
            case DeleteChild():
                self._delete(effect.kind, effect.name)
            case DeleteChildren():
                for kind, name in list(self.objects):
                    if kind == effect.kind and self._job_uid(kind, name) == effect.job_uid:
                        self._delete(kind, name)
            case DeleteCertificate():
                self._patch("Job", JOB, {"status": {"transportCertificate": None}})
            case WriteRegionStatus():
                self._write_region_status(snapshot, effect)
            case LookForBundle() | NoteReference():
                self._observe(effect)
            case ReportReference():
                patch = reference_patch(snapshot.strays[0], effect, now=self.now)
                self._write("PATCH", effect.kind, effect.name, patch)

    @property
    def uid(self) -> str:
        """The Job's uid."""
        return str(self.objects["Job", JOB]["metadata"]["uid"])

    def _observe(self, effect: LookForBundle | NoteReference) -> None:
        if isinstance(effect, NoteReference):
            self.answers.observe(ReferenceNoted(effect.uid, effect.message, self.now))
        elif self.is_bundle_there:
            self.answers.of(effect.job_uid).see_bundle()

    def _write_job(self, snapshot: Snapshot, change: JobStatusChange, more: Obj) -> None:
        assert snapshot.job is not None
        self.events += [(each.reason.value, each.message) for each in change.announcements]
        patch = job_status_patch(
            snapshot.job.status, change, generation=snapshot.job.generation, now=self.now
        )
        patch["status"] |= more
        self._write("PATCH", "Job", JOB, patch)
        if change.phase == "Failed":
            self.answers.forget(self.uid)
        if change.phase == "Submitted":
            self.answers.of(self.uid).settle()

    def _plan(self, snapshot: Snapshot, effect: Plan) -> None:
        self.planned += 1
        inputs, (model, digest) = effect.inputs, application(self.hosts, is_python=self.is_python)
        previous = None if inputs.previous is None else snapshot.plans[inputs.previous].record
        outcome: PlanResult | PlanRefused
        try:
            outcome = plan(
                request(inputs, application=model, bundle_digest=digest, previous=previous)
            )
        except PlanRefused as refusal:
            outcome = refusal
        self.answers.of(effect.job_uid).learn(inputs, outcome)

    def _record(self, snapshot: Snapshot, effect: RecordPlan) -> None:
        assert snapshot.job is not None
        known = snapshot.plans.get(effect.generation)
        if known is None:
            outcome = snapshot.outcomes[effect.inputs.digest]
            assert isinstance(outcome, PlanResult)
            known = known_plan(effect.inputs, outcome)
        head = objects_of(snapshot.job, known, now=self.now).head
        if self._create("ConfigMap", head):
            uid = self.objects["ConfigMap", head["metadata"]["name"]]["metadata"]["uid"]
            self.answers.of(self.uid).know(uid, known)

    def _write_region_status(self, snapshot: Snapshot, effect: WriteRegionStatus) -> None:
        assert snapshot.job is not None
        entry = snapshot.of("ParallelRegion")[effect.name]
        if effect.refused is not None:
            self.events.append((effect.refused.reason.value, effect.message))
        patch = region_status_patch(RegionSeen(entry), effect, now=self.now)
        self._write("PATCH", "ParallelRegion", effect.name, patch)

    # ------------------------------------------------------------------ what the others do

    def others(self) -> None:
        """What the other services do after each step."""
        self.make_pods()

    def make_pods(self) -> None:
        """Play pod-state-machine: the pod of each PE runs what the PE says, when it can."""
        for kind, name in list(self.objects):
            if kind == "Pod" and not self._wanted(self.objects[kind, name]):
                del self.objects[kind, name]
        for kind, name in list(self.objects):
            if kind == "ProcessingElement":
                self._make_pod(self.objects[kind, name])

    def _wanted(self, pod: Obj) -> bool:
        pe = self.objects.get(("ProcessingElement", pod["metadata"]["name"]))
        content = pod["metadata"]["annotations"][labels.CONTENT_ID]
        return pe is not None and pe["spec"]["contentId"] == content

    def _make_pod(self, pe: Obj) -> None:
        name, content = pe["metadata"]["name"], pe["spec"]["contentId"]
        pack = pe["spec"].get("pack", {}).get("name")
        gate = pack or labels.pe_config_map_name(JOB, pe["spec"]["id"], content)
        if ("Pod", name) in self.objects or not {gate, JOB} <= self.named("ConfigMap"):
            return
        launched = pe.setdefault("status", {}).get("launchCount", 0)
        launch = max(launched + 1, pe["spec"].get("launchCount", 0))
        pe["status"] |= {"launchCount": launch}
        meta = {
            "name": name,
            "namespace": NAMESPACE,
            "labels": pe["metadata"]["labels"] | {labels.LAUNCH_COUNT: str(launch)},
            "annotations": {labels.CONTENT_ID: content} | ({labels.PACK: pack} if pack else {}),
        }
        phase = "Running" if self.pods_run else "Pending"
        self._put("Pod", {"metadata": meta, "status": {"phase": phase}})

    # ------------------------------------------------------------------ objects

    def named(self, kind: str) -> set[str]:
        """The names of the objects of a kind."""
        return {name for each, name in self.objects if each == kind}

    def status(self) -> Obj:
        """The Job's status."""
        return dict(self.objects["Job", JOB]["status"])

    def condition(self, type_: str) -> Obj:
        """A condition of the Job."""
        return next(each for each in self.status()["conditions"] if each["type"] == type_)

    def versions(self) -> dict[Name, str]:
        """The resourceVersion of every object."""
        return {key: obj["metadata"]["resourceVersion"] for key, obj in self.objects.items()}

    def meaning(self) -> dict[Name, Any]:
        """What everything says, but for identities, versions, times and statuses of others."""
        return meaning_of(self.objects)

    def _job_uid(self, kind: str, name: str) -> str:
        return str(self.objects[kind, name]["metadata"].get("labels", {}).get(labels.JOB_UID))

    def _create(self, kind: str, body: Obj) -> bool:
        name = body["metadata"]["name"]
        self.writes.append(("POST", kind, name))
        if (kind, name) in self.objects:
            return False
        self._put(kind, body)
        return True

    def _put(self, kind: str, body: Obj) -> None:
        self._version += 1
        meta = {
            "uid": f"uid-{self._version}",
            "generation": 1,
            "resourceVersion": str(self._version),
            **({} if kind == "Node" else {"namespace": NAMESPACE}),
            **body["metadata"],
        }
        self.objects[kind, meta["name"]] = copy.deepcopy(body | {"metadata": meta})

    def _write(self, verb: str, kind: str, name: str, patch: Obj) -> None:
        self.writes.append((verb, kind, name))
        self._patch(kind, name, patch)

    def _patch(self, kind: str, name: str, patch: Obj) -> None:
        obj = self.objects[kind, name]
        before = copy.deepcopy(obj.get("spec"))
        merge(obj, patch)
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        if obj.get("spec") != before:
            obj["metadata"]["generation"] += 1

    def _delete(self, kind: str, name: str) -> None:
        self.writes.append(("DELETE", kind, name))
        if self.objects[kind, name]["metadata"].get("finalizers"):
            self.mark_deleted(kind, name)
        else:
            del self.objects[kind, name]
