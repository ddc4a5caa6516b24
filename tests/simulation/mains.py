"""Every service's main coroutine, as its __main__ would make it, for a folder of bundles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from services.chassis.running.hosting import Main, stage_main
from services.fusion_backend.adapters.stage import stage_maker as fusion_backend_stage
from services.fusion_backend.settings import FusionBackendSettings
from services.hostpool_manager.adapters.stage import leadership
from services.hostpool_manager.adapters.stage import stage_maker as hostpool_manager_stage
from services.hostpool_manager.settings import HostpoolManagerSettings
from services.node_tainter.adapters.stage import stage_maker as node_tainter_stage
from services.pe_gateway.adapters.stage import gateway_main
from services.pe_gateway.settings import PeGatewaySettings
from services.pod_state_machine.adapters.stage import stage_maker as pod_state_machine_stage
from services.pod_state_machine.settings import PodStateMachineSettings
from services.watch_ingest.adapters.leading import ingest_main
from services.watch_ingest.settings import WatchIngestSettings
from tests.elsewhere import elsewhere_of
from tests.resolving import KnownHosts
from tests.simulation.calling import bundles_given_in, reachable_in
from tests.simulation.fresh_folds import checked
from tests.simulation.reached import noted

WIDTH_MAX = 1_999
"""The widest region that is planned: less than the API takes, so that a refusal can be seen."""


def _fusion_backend(folder: Path) -> Main:
    settings = FusionBackendSettings(
        bundle_root=folder / "bundles", bundle_store=folder / "store", width_max=WIDTH_MAX
    )
    stage = fusion_backend_stage(
        settings, planner="inline", resolver=KnownHosts(), fetcher=elsewhere_of(folder)
    )
    return stage_main(noted("fusion-backend", stage), settings=settings.recorded())


def _pod_state_machine() -> Main:
    settings = PodStateMachineSettings()
    stage = noted("pod-state-machine", pod_state_machine_stage(settings))
    return stage_main(stage, settings=settings.recorded())


def _hostpool_manager() -> Main:
    settings = HostpoolManagerSettings()
    stage = hostpool_manager_stage(settings, in_threads=False)
    return stage_main(
        noted("hostpool-manager", checked(stage)),
        settings=settings.recorded(),
        leadership=leadership(settings),
    )


def _pe_gateway(folder: Path) -> Main:
    settings = PeGatewaySettings()
    return gateway_main(
        settings,
        reachable_in(folder),
        partial(noted, "pe-gateway"),
        serve_bundles=bundles_given_in(folder),
    )


MAINS: Mapping[str, Callable[[Path], Main]] = {
    "watch-ingest": lambda folder: ingest_main(WatchIngestSettings()),
    "fusion-backend": _fusion_backend,
    "pod-state-machine": lambda folder: _pod_state_machine(),
    "hostpool-manager": lambda folder: _hostpool_manager(),
    "node-tainter": lambda folder: stage_main(
        noted("node-tainter", node_tainter_stage()), settings={}
    ),
    "pe-gateway": _pe_gateway,
}
UNCONSTRAINED = ("watch-ingest", "fusion-backend", "pod-state-machine")
"""What works on jobs without host constraints; the others have nothing to do with them."""
