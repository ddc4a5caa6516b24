"""The volume claim that keeps the state of a job's operators: `millrace submit --store CLAIM`."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import Final

from cli.connecting import CLAIMS, JOBS, Cluster
from cli.failing import Failure
from cli.showing import print_lines
from services.chassis.kube.listing import Watched, list_all
from services.chassis.kube.port import Json
from services.chassis.process.errors import AlreadyExists, NotFound, Rejected, Transient

SHARED: Final = "ReadWriteMany"
_SIZE: Final = "1Gi"
"""The API requires a size; in a cluster of `millrace up` nothing is limited by it."""


def template_of(claim: str) -> Json:
    """The part of spec.processingElement that keeps state in a volume claim."""
    return {"checkpointRepository": {"fileSystem": {"volumeClaim": {"name": claim}}}}


async def ensure_claim(
    cluster: Cluster, namespace: str, name: str, undoing: AsyncExitStack
) -> None:
    """Create a volume claim that is missing, in a cluster of `millrace up`: each is a folder there.

    On another cluster it has to exist, and a line warns if it is not ReadWriteMany. `undoing` gets
    what deletes a claim that was created. Raises Failure if it does not exist, or cannot be read or
    created.
    """
    try:
        claim = await cluster.kube.get(CLAIMS, namespace, name)
    except NotFound:
        if cluster.up is None:
            raise Failure(
                f"there is no PersistentVolumeClaim {name} in namespace {namespace}: create it "
                f"with accessModes [{SHARED}], or name another one"
            ) from None
        uid = await create_claim(cluster, namespace, name)
        if uid:
            undoing.push_async_callback(_delete_claim, cluster, namespace, name, uid)
            print_lines(f"volume claim {name} is created, and goes when `millrace up` ends")
        return
    except Rejected as refused:
        raise Failure(f"the volume claim {name} cannot be read: {refused.message}") from None
    modes = (claim.get("spec") or {}).get("accessModes") or ()
    if cluster.up is None and SHARED not in modes:
        print_lines(
            f"the volume claim {name} has accessModes {', '.join(modes) or 'none'}: PEs on a node "
            f"that cannot mount it do not start. Name a claim with accessModes [{SHARED}]"
        )


async def _delete_claim(cluster: Cluster, namespace: str, name: str, uid: str) -> None:
    """Delete a claim, unless it is named in a Job: another submit has begun to use it."""
    try:
        jobs, _ = await list_all(cluster.kube, Watched(JOBS, namespace))
        if any(f'"{name}"' in json.dumps(each.get("spec")) for each in jobs):
            return
        await cluster.kube.delete(CLAIMS, namespace, name, uid=uid)
    except (Rejected, Transient):
        return  # an empty claim is left, which the next submit takes
    print_lines(f"volume claim {name} is removed again")


async def create_claim(cluster: Cluster, namespace: str, name: str) -> str:
    """Create a volume claim; its uid, empty if it exists. Raises Failure if it is refused."""
    claim = {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {"name": name},
        "spec": {"accessModes": [SHARED], "resources": {"requests": {"storage": _SIZE}}},
    }
    try:
        created = await cluster.kube.create(CLAIMS, namespace, claim)
    except AlreadyExists:  # another command was first
        return ""
    except Rejected as refused:
        raise Failure(f"the volume claim {name} was refused: {refused.message}") from None
    return str(created["metadata"]["uid"])
