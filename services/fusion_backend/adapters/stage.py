"""The stage that the chassis runs: intake, core and carry_out put together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import stalled_patch
from services.chassis.running.stage import Decision
from services.chassis.running.wiring import MakeStage, Wiring
from services.chassis.table.entries import Change, Index, TableReading
from services.chassis.table.viewing import View
from services.fusion_backend.adapters import intake
from services.fusion_backend.adapters.answers import Answers
from services.fusion_backend.adapters.bundles.fetching import Fetcher, FetchLimits, HttpFetcher
from services.fusion_backend.adapters.bundles.keys import BundleKeys
from services.fusion_backend.adapters.bundles.root_urls import root_url_of
from services.fusion_backend.adapters.bundles.store import BundleStore, StoreLimits
from services.fusion_backend.adapters.bundles.unused import UnusedBundles
from services.fusion_backend.adapters.carry_out import JOB, CarryOut
from services.fusion_backend.adapters.finding_servers import Resolver, SystemResolver
from services.fusion_backend.adapters.folding import RoomFold
from services.fusion_backend.adapters.intake import JobKey
from services.fusion_backend.adapters.planner import InlinePlanner, Planner
from services.fusion_backend.adapters.plans import Plans
from services.fusion_backend.adapters.provisioner import Names, Provisioner
from services.fusion_backend.core.answered import answered_of
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import Effect
from services.fusion_backend.core.snapshot import Snapshot
from services.fusion_backend.service import ROW
from services.fusion_backend.settings import FusionBackendSettings


class FusionBackend:
    """Job and ParallelRegion → bundle → plan → PEs, ConfigMaps, Services, HostPools."""

    name = ROW.name
    kinds = intake.KINDS
    indexes: Mapping[str, Index] = intake.INDEXES

    def __init__(
        self,
        wiring: Wiring,
        *,
        bundles: BundleStore,
        planner: Planner,
        resolver: Resolver,
        settings: FusionBackendSettings,
        in_threads: bool,
    ) -> None:
        self._wiring = wiring
        self._width_max = settings.width_max
        self._pod_rules = settings.pod_rules
        self._runtime_image = settings.image_of_runtime
        self._has_bundle_folder = not settings.bundle_root_url
        self._answers = Answers(wiring.enter)
        self._fold = RoomFold()
        self.views: Sequence[View] = (self._fold,)
        self._uid_of: dict[JobKey, str] = {}
        unused = UnusedBundles(
            settings.bundle_store,
            wiring.runtime.kube,
            wiring.runtime.clock,
            metrics=wiring.runtime.metrics,
            unused_s=settings.bundle_unused_s,
            namespaces=wiring.runtime.namespaces,
            in_threads=in_threads,
        )
        plans = Plans(wiring, self._answers, bundles=bundles, planner=planner, unused=unused)
        names = Names(cluster_domain=settings.cluster_domain, redis_host=settings.redis_host)
        provisioner = Provisioner(
            wiring, self._answers, resolver=resolver, names=names, in_threads=in_threads
        )
        self._carry_out = CarryOut(wiring, self._answers, plans, provisioner)

    def keys(self, change: Change, table: TableReading) -> Iterable[JobKey]:
        """The jobs that a change concerns."""
        return intake.keys_of(change, table)

    def all_keys(self, table: TableReading) -> Iterable[JobKey]:
        """Every job, for the reconciliation after a full resync."""
        self._answers.keep_only(entry.uid for entry in table.of_kind("Job"))
        return intake.all_keys(table)

    def snapshot(self, table: TableReading, key: JobKey) -> Snapshot:
        """Everything that `decide` may look at."""
        snapshot = intake.snapshot_of(
            table,
            key,
            self._answers,
            width_max=self._width_max,
            pod_rules=self._pod_rules,
            runtime_image=self._runtime_image,
            rooms=self._fold.rooms,
            has_bundle_folder=self._has_bundle_folder,
        )
        self._forget_former_job(key, snapshot.job.uid if snapshot.job else "")
        return snapshot

    def take_in(self, what: str, content: Mapping[str, Any]) -> None:
        """Let an observation count that was entered before."""
        self._answers.take(answered_of(what, content))

    def _forget_former_job(self, key: JobKey, job_uid: str) -> None:
        former = self._uid_of.get(key, "")
        if former and former != job_uid:
            self._answers.forget(former)
        if job_uid:
            self._uid_of[key] = job_uid
        else:
            self._uid_of.pop(key, None)

    def decide(self, snapshot: Snapshot, now: float) -> Decision[Effect]:
        """The core."""
        return decide(snapshot, now)

    def fence(self, table: TableReading, key: JobKey) -> Hashable:
        """What stops the carrying out of an older decision."""
        return intake.fence_of(table, key)

    async def carry_out(self, key: JobKey, snapshot: Snapshot, effect: Effect) -> str:
        """Execute one effect."""
        return await self._carry_out.run(key, snapshot, effect)

    async def report_stalled(self, key: JobKey, why: str, *, reason: Reason) -> None:
        """In the Job's condition Stalled, which is there only while something stands in the way."""
        entry = self._wiring.table.get(JOB, key.namespace, key.name)
        if entry is None:
            return
        now = moment_of(self._wiring.runtime.clock.now())
        patch = stalled_patch(entry.data, reason=reason, why=why, now=now)
        if patch is not None:
            await self._wiring.writer.patch(entry, patch, subresource="status")

    def about(self, key: JobKey, effect: Effect | None) -> Mapping[str, str | int]:
        """The job of an effect, and the generation that it is of."""
        generation = getattr(effect, "generation", None)
        numbered = {} if generation is None else {"generation": generation}
        return {"namespace": key.namespace, "job": key.name} | numbered

    def subject(self, key: JobKey) -> tuple[str, str]:
        """(namespace, job) of a key."""
        return key.namespace, key.name


def stage_maker(
    settings: FusionBackendSettings,
    *,
    planner: Planner | Literal["inline"] = "inline",
    resolver: Resolver | None = None,
    fetcher: Fetcher | None = None,
) -> MakeStage:
    """The service's factory; `inline` plans and copies in the event loop, for simulation."""
    is_inline = planner == "inline"
    fetching = fetcher or HttpFetcher(
        FetchLimits(total_s=settings.bundle_fetch_s_max),
        allowed=settings.allowed_networks,
        ca_file=settings.bundle_ca_file,
    )
    chosen: Planner = InlinePlanner() if planner == "inline" else planner
    servers = resolver or SystemResolver(answer_s_max=settings.dns_answer_s_max)
    return lambda wiring: FusionBackend(
        wiring,
        bundles=BundleStore(
            root=settings.bundle_root,
            root_url=root_url_of(settings.bundle_root_url),
            store=settings.bundle_store,
            fetcher=fetching,
            keys=BundleKeys(wiring.runtime.kube),
            limits=StoreLimits(
                fetches_max=settings.bundle_fetches_max,
                fetches_of_namespace_max=settings.bundle_fetches_of_namespace_max,
            ),
            in_threads=not is_inline,
            now=wiring.runtime.clock.now,
        ),
        planner=chosen,
        resolver=servers,
        settings=settings,
        in_threads=not is_inline,
    )
