"""The row of pod-state-machine."""

from __future__ import annotations

from contracts.topics import CLUSTER, RESOURCES
from contracts.waits import Wait
from services.chassis.running.service import Decides, Service

ROW = Service(
    name="pod-state-machine",
    settings="services.pod_state_machine.settings:PodStateMachineSettings",
    stage="services.pod_state_machine.adapters.stage:stage_maker",
    permissions="services.pod_state_machine.adapters.permissions:PERMISSIONS",
    reads=(RESOURCES, CLUSTER),
    shares=(RESOURCES,),
    decides=(
        Decides(
            "PE",
            "services.launching.core.rules:RULES",
            "A processing element",
            "The pod is that of the newest launch.",
        ),
        Decides(
            "pod",
            "services.launching.core.pod_rules:POD_RULES",
            "A pod of a processing element",
            "Each pod of a PE, beside the rules of the PE.",
        ),
        Decides(
            "resize",
            "services.pod_state_machine.core.resizing:RESIZE_RULES",
            "The resources of a pod that runs",
            "A PE whose `spec.resizesInPlace` is true, beside the rules of the PE.",
        ),
    ),
    objects=("ProcessingElement", "Pod"),
    awaited=(Wait.LAUNCH, Wait.END),
    compose_port=18_085,
)
