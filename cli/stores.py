"""The claim in which a job keeps the state of its operators: `millrace submit --store CLAIM`."""

from __future__ import annotations

from typing import Final

from cli.connecting import Cluster
from cli.failing import Failure
from cli.showing import print_lines
from services.chassis.kube.port import Json, Resource
from services.chassis.process.errors import AlreadyExists, NotFound, Rejected

CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
SHARED: Final = "ReadWriteMany"
_SIZE: Final = "1Gi"
"""The API wants one; a claim of `millrace up` is a folder, which may grow."""


def template_of(claim: str) -> Json:
    """The part of spec.processingElement that keeps state in a claim."""
    return {"checkpointRepository": {"fileSystem": {"volumeClaim": {"name": claim}}}}


async def see_claim(cluster: Cluster, namespace: str, name: str) -> None:
    """Make sure that a claim exists; say so if not every node reaches it.

    In a cluster of `millrace up`, where any claim is a folder, one that is missing is created.
    Raises Failure if it is missing on another cluster, or cannot be read.
    """
    try:
        claim = await cluster.kube.get(CLAIMS, namespace, name)
    except NotFound:
        if cluster.up is None:
            raise Failure(
                f"there is no PersistentVolumeClaim {name} in namespace {namespace}: create it "
                f"with accessModes [{SHARED}], or name another one"
            ) from None
        await _create(cluster, namespace, name)
        return
    except Rejected as refused:
        raise Failure(f"the claim {name} cannot be read: {refused.message}") from None
    modes = (claim.get("spec") or {}).get("accessModes") or ()
    if SHARED not in modes:
        print_lines(
            f"the claim {name} has accessModes {', '.join(modes)}, not {SHARED}: PEs on a node "
            "that cannot mount it do not start"
        )


async def _create(cluster: Cluster, namespace: str, name: str) -> None:
    claim = {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {"name": name},
        "spec": {"accessModes": [SHARED], "resources": {"requests": {"storage": _SIZE}}},
    }
    try:
        await cluster.kube.create(CLAIMS, namespace, claim)
    except AlreadyExists:  # another command was first
        return
    except Rejected as refused:
        raise Failure(f"the claim {name} was refused: {refused.message}") from None
    print_lines(f"claim {name} is created: `up` keeps it as a folder, and removes it when it ends")
