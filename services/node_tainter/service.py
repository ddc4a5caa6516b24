"""The row of node-tainter."""

from __future__ import annotations

from contracts.topics import CLUSTER
from contracts.waits import Wait
from services.chassis.running.service import Decides, Service

ROW = Service(
    name="node-tainter",
    settings="services.node_tainter.settings:NodeTainterSettings",
    stage="services.node_tainter.adapters.stage:stage_maker",
    permissions="services.node_tainter.adapters.permissions:PERMISSIONS",
    reads=(CLUSTER,),
    decides=(
        Decides(
            "node",
            "services.node_tainter.core.node_rules:NODE_RULES",
            "A node",
        ),
        Decides(
            "pool",
            "services.node_tainter.core.pool_rules:POOL_RULES",
            "The finalizer of a host pool",
        ),
    ),
    objects=("Node",),
    awaited=(Wait.RELEASE, Wait.CLAIM),
    enabled="exclusivePools",
    everywhere="services.node_tainter.adapters.permissions:EVERYWHERE",
    compose_port=18_084,
)
