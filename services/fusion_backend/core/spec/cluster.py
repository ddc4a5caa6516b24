"""What automatic fusion knows of the cluster, and of the pods that a job asks for."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.resources import JobSpec
from contracts.resources.fields import ResourceRequirements
from planner.numbering.records import Fusion, FusionType
from services.fusion_backend.core.spec.dividing import mcpu_of


@dataclass(frozen=True, slots=True)
class Cluster:
    """The nodes that take pods which tolerate nothing; CPU in thousandths, 0 where none says it."""

    nodes: int = 0
    allocatable_mcpu: int = 0
    largest_node_mcpu: int = 0


def automatic_fusion(spec: JobSpec, cluster: Cluster) -> Fusion:
    """Automatic fusion with all that the number of PEs is chosen from.

    Resources of the job, which its PEs share, win over those of each PE, as they do in the PEs.
    """
    whole, each = spec.resources, spec.processing_element.resources
    is_divided = whole is not None and bool(whole.requests or whole.limits)
    resources = whole if is_divided and whole is not None else each
    return Fusion.automatic(
        cluster.nodes,
        fusion_type(spec),
        allocatable_mcpu=cluster.allocatable_mcpu,
        largest_node_mcpu=cluster.largest_node_mcpu,
        request_mcpu=_cpu(resources, "requests"),
        limit_mcpu=_cpu(resources, "limits"),
        is_divided=is_divided,
    )


def fusion_type(spec: JobSpec) -> FusionType:
    """How channels fuse; nothing means like everything else."""
    given = spec.fusion.type
    return given.value if given else "noChannelInfluence"


def _cpu(resources: ResourceRequirements, part: str) -> int:
    amounts = resources.requests if part == "requests" else resources.limits
    return mcpu_of((amounts or {}).get("cpu", 0))
