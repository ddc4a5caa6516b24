"""Carries out the effects of this service: launches (`services/launching/`), and clean-ups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contracts import labels
from contracts.belonging import Root
from services.chassis.kube.writing import Outcome, Writer
from services.chassis.process.errors import Conflict, Rejected
from services.chassis.table.table import Table
from services.launching.adapters.carry_out import POD, LaunchEffects
from services.launching.adapters.clearing import delete_pods
from services.launching.adapters.launches import Launches
from services.pod_state_machine.adapters.intake import JOB, PE
from services.pod_state_machine.core.awaiting import place_of
from services.pod_state_machine.core.effects import DeletePodsOfJob, Effect, ResizePod
from services.pod_state_machine.core.pod_spec import PodImpossible, RuntimeImage, pod_of_launch
from services.pod_state_machine.core.resizing import refused_status
from services.pod_state_machine.core.snapshot import Key, PeSnapshot, Snapshot


class CarryOut:
    """Executes effects; each returns its outcome as one word."""

    def __init__(
        self,
        table: Table,
        writer: Writer,
        runtime: RuntimeImage,
        launches: Launches,
        now: Callable[[], float],
    ) -> None:
        self._table = table
        self._writer = writer
        self._now = now
        self._launches: LaunchEffects[PeSnapshot] = LaunchEffects(
            table,
            writer,
            launches,
            now,
            owner_kind=PE,
            manifest_of=lambda snapshot, launch: manifest_of(snapshot, launch, runtime),
        )

    async def run(self, key: Key, snapshot: Snapshot, effect: Effect) -> str:
        """One effect; raises the chassis's Transient, Rejected or Superseded."""
        match effect:
            case DeletePodsOfJob():
                root = Root(JOB, effect.job)
                return await delete_pods(
                    self._table, self._writer, key.namespace, root, effect.job_uid
                )
            case ResizePod():
                assert isinstance(snapshot, PeSnapshot)
                return await self._resize_pod(snapshot, effect)
            case _:
                assert isinstance(snapshot, PeSnapshot)
                return await self._launches.run(key.namespace, key.name, snapshot, effect)

    async def _resize_pod(self, snapshot: PeSnapshot, effect: ResizePod) -> str:
        pe = snapshot.owner
        assert pe is not None
        entry = self._table.get(POD, pe.namespace, effect.name)
        if entry is None or entry.uid != effect.uid:
            return Outcome.GONE
        resources: dict[str, dict[str, str]] = {}
        for part, name, amount in effect.resources:
            resources.setdefault(part, {})[name] = amount
        body = {"spec": {"containers": [{"name": labels.PE_CONTAINER, "resources": resources}]}}
        try:
            return await self._writer.patch(entry, body, subresource="resize", merges_lists=True)
        except Conflict:
            raise
        except Rejected as refusal:
            status = refused_status(pe, effect, refusal.message, self._now())
            if status == pe.status:
                raise
            return await self._launches.patch_status(pe, pe.uid, status, None)


def manifest_of(snapshot: PeSnapshot, launch: int, runtime: RuntimeImage) -> dict[str, Any]:
    """The manifest of a pod; raises Rejected, as for a refusal by the API server."""
    pe, job = snapshot.owner, snapshot.job
    assert pe is not None
    assert job is not None
    try:
        return pod_of_launch(pe, job, launch, runtime, place_of(snapshot))
    except PodImpossible as problem:
        raise Rejected(422, "Invalid", str(problem), {}) from problem
