"""The row of hostpool-manager."""

from __future__ import annotations

from contracts.topics import CLUSTER
from contracts.waits import Wait
from services.chassis.running.service import Decides, Given, Resources, Service

ROW = Service(
    name="hostpool-manager",
    settings="services.hostpool_manager.settings:HostpoolManagerSettings",
    stage="services.hostpool_manager.adapters.stage:stage_maker",
    leadership="services.hostpool_manager.adapters.stage:leadership",
    permissions="services.hostpool_manager.adapters.permissions:PERMISSIONS",
    reads=(CLUSTER,),
    decides=(
        Decides(
            "Placement",
            "services.hostpool_manager.core.rules:RULES",
            "A placement",
            "The phase is the last answer; a search finds the next one.",
        ),
        Decides(
            "HostPool",
            "services.hostpool_manager.core.pool_rules:POOL_RULES",
            "The status of a host pool",
        ),
    ),
    objects=("Placement", "HostPool"),
    awaited=(Wait.ANSWER, Wait.PLACE, Wait.POOL),
    given=(Given("exclusive_nodes_max", "exclusivePools", instead="0"),),
    resources=Resources(compose_memory_max="1G"),
    compose_port=18_083,
)
