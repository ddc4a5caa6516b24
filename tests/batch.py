"""A second kind of root, which only tests know: a Batch, whose Workers have a pod each.

`batches()` makes its rows known, as those of `contracts/resources` are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from contracts import belonging, labels, projections
from contracts.facts import KINDS, Projection
from contracts.resources import GROUP, VERSION
from contracts.resources.crds import definition
from contracts.resources.custom_resource import CustomResource
from contracts.resources.fields import Fields
from contracts.topics import RESOURCES
from services.chassis.kube import resources
from services.chassis.kube.port import Resource
from tests.builders import Builder, PodBuilder, a_pod
from tests.older_definitions import permissive
from tests.sandboxed import Sandboxed

BATCH: Final = "Batch"
WORKER: Final = "Worker"
CONTAINER: Final = "worker"


def _row(kind: str, container: str = "") -> CustomResource:
    return CustomResource(
        kind=kind,
        plural=f"streams{kind.lower()}s",
        singular=f"streams{kind.lower()}",
        short_name=f"st{kind[0].lower()}",
        spec=Fields,
        status=Fields,
        description="Of tests.",
        columns=(),
        topic=RESOURCES,
        root=BATCH,
        container=container,
        status_writers=(),
    )


ROWS: Final = {BATCH: _row(BATCH), WORKER: _row(WORKER, CONTAINER)}


@contextmanager
def batches() -> Iterator[None]:
    """Knows the rows of a Batch and its Workers for a while."""
    seen: Mapping[str, Any] = {
        kind: Projection(kind, RESOURCES, projections.custom_resource) for kind in ROWS
    }
    served = {row.kind: Resource(GROUP, VERSION, row.plural, row.kind) for row in ROWS.values()}
    with (
        patch.dict(belonging.ROWS, ROWS),
        patch.dict(KINDS, seen),
        patch.dict(resources._RESOURCES, served),
    ):
        yield


def sandboxed() -> Sandboxed:
    """A cluster that serves Batches and Workers as well."""
    found = Sandboxed()
    found.cluster.install(permissive([definition(row) for row in ROWS.values()]))
    return found


def _meta(name: str, batch: str) -> dict[str, Any]:
    marks = {labels.APP: labels.APP_VALUE}
    if name != batch:
        marks |= {
            belonging.label_of(BATCH): batch,
            belonging.uid_label_of(BATCH): f"uid-batch-{batch}",
        }
    return {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}" if name != batch else f"uid-batch-{batch}",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-11-20T00:00:00Z",
        "labels": marks,
        "annotations": {},
        "ownerReferences": [],
    }


def a_batch(name: str = "shop") -> Builder:
    """A Batch that may have the name of a Job."""
    return Builder(BATCH, {"metadata": _meta(name, name), "spec": {"workers": 2}, "status": {}})


def a_worker(batch: str = "shop", rank: int = 0) -> Builder:
    """A Worker of a Batch."""
    body = {"metadata": _meta(f"{batch}-w{rank}", batch), "spec": {"rank": rank}, "status": {}}
    return Builder(WORKER, body).owned_by(BATCH, batch, f"uid-batch-{batch}")


def a_worker_pod(batch: str = "shop", rank: int = 0) -> PodBuilder:
    """The pod of a Worker."""
    worker = f"{batch}-w{rank}"
    pod = a_pod(batch, rank).having("metadata", value=_meta(f"{worker}-0", batch))
    return pod.owned_by(WORKER, worker, f"uid-{worker}")
