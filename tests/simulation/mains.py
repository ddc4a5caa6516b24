"""Every service's main coroutine, as its row says, for a folder of bundles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from services.chassis.running.hosting import Main, main_of, stage_main
from services.chassis.running.service import Service, loaded
from services.fusion_backend.adapters.stage import stage_maker as fusion_backend_stage
from services.fusion_backend.settings import FusionBackendSettings
from services.hostpool_manager.adapters.stage import leadership
from services.hostpool_manager.adapters.stage import stage_maker as hostpool_manager_stage
from services.hostpool_manager.settings import HostpoolManagerSettings
from services.pe_gateway.adapters.stage import gateway_main
from services.pe_gateway.settings import PeGatewaySettings
from services.roster import SERVICES
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
    stage = fusion_backend_stage(settings, resolver=KnownHosts(), fetcher=elsewhere_of(folder))
    return stage_main(noted("fusion-backend", stage), settings)


def _hostpool_manager(_folder: Path) -> Main:
    settings = HostpoolManagerSettings()
    stage = hostpool_manager_stage(settings, in_threads=False)
    return stage_main(
        noted("hostpool-manager", checked(stage)), settings, leadership=leadership(settings)
    )


def _pe_gateway(folder: Path) -> Main:
    return gateway_main(
        PeGatewaySettings(),
        reachable_in(folder),
        partial(noted, "pe-gateway"),
        serve_bundles=bundles_given_in(folder),
    )


_OTHERWISE: Mapping[str, Callable[[Path], Main]] = {
    "fusion-backend": _fusion_backend,
    "hostpool-manager": _hostpool_manager,
    "pe-gateway": _pe_gateway,
}
"""The services with threads, processes, sockets or addresses of their own."""


def _as_its_row_says(row: Service, _folder: Path) -> Main:
    settings = loaded(row.settings)()
    if row.main:
        return main_of(row, settings)
    return stage_main(noted(row.name, loaded(row.stage)(settings)), settings)


MAINS: Mapping[str, Callable[[Path], Main]] = {
    row.name: _OTHERWISE.get(row.name, partial(_as_its_row_says, row)) for row in SERVICES
}
UNCONSTRAINED = ("watch-ingest", "fusion-backend", "pod-state-machine")
"""What works on jobs without host constraints; the others have nothing to do with them."""
