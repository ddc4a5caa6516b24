"""The custom resources of `streams.ibm.com/v1`: one module per kind, and what is common to them.

Models describe and read objects; writing them is each service's own affair. The CRDs in
`deploy/crds/` are generated from here (`crds.py`; `make generate`).
"""

from __future__ import annotations

from .accepting import IgnoredField, ignored_fields
from .conditions import (
    Condition,
    ConditionStatus,
    StatedCondition,
    condition_holds,
    stalled_patch,
    unreadable_patch,
    with_condition,
    with_stated,
)
from .custom_resource import CustomResource
from .fields import API_VERSION, GROUP, VERSION
from .host_pool import HOST_POOL, HostPoolSpec, HostPoolStatus, MembershipMode
from .job import JOB, Fusion, JobCondition, JobPhase, JobSpec, JobStatus
from .parallel_region import PARALLEL_REGION, ParallelRegionSpec, ParallelRegionStatus
from .placement import PLACEMENT, PlacementPhase, PlacementSpec, PlacementStatus
from .processing_element import (
    PROCESSING_ELEMENT,
    Connectivity,
    PePhase,
    ProcessingElementSpec,
    ProcessingElementStatus,
    ProcessingElementTemplate,
)

CUSTOM_RESOURCES: tuple[CustomResource, ...] = (
    JOB,
    PARALLEL_REGION,
    HOST_POOL,
    PLACEMENT,
    PROCESSING_ELEMENT,
)
"""The row of each kind: a Job before its children, processing elements after what they need."""

__all__ = [
    "API_VERSION",
    "CUSTOM_RESOURCES",
    "GROUP",
    "HOST_POOL",
    "JOB",
    "PARALLEL_REGION",
    "PLACEMENT",
    "PROCESSING_ELEMENT",
    "VERSION",
    "Condition",
    "ConditionStatus",
    "Connectivity",
    "CustomResource",
    "Fusion",
    "HostPoolSpec",
    "HostPoolStatus",
    "IgnoredField",
    "JobCondition",
    "JobPhase",
    "JobSpec",
    "JobStatus",
    "MembershipMode",
    "ParallelRegionSpec",
    "ParallelRegionStatus",
    "PePhase",
    "PlacementPhase",
    "PlacementSpec",
    "PlacementStatus",
    "ProcessingElementSpec",
    "ProcessingElementStatus",
    "ProcessingElementTemplate",
    "StatedCondition",
    "condition_holds",
    "ignored_fields",
    "stalled_patch",
    "unreadable_patch",
    "with_condition",
    "with_stated",
]
