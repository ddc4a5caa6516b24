"""Cleans up behind a root that is gone: its pods are deleted by collection, and nobody else's.

The garbage collector, which is slow, deletes what is left.
"""

from __future__ import annotations

from contracts import labels
from contracts.belonging import Root, controller, labelled, owns_pods
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Writer
from services.chassis.process.errors import Superseded
from services.chassis.table.entries import Entry, is_deleting
from services.chassis.table.table import Table
from services.launching.adapters.carry_out import POD


def is_left(pod: Entry, root: Root) -> bool:
    """Whether a pod with the uid of a root is to be deleted: its label names the root, too."""
    owner = controller(pod.data["metadata"]["owners"])
    is_launched = owner is not None and owns_pods(owner[0])
    return labelled(pod.kind, pod.data) == root and is_launched and not is_deleting(pod)


async def delete_pods(table: Table, writer: Writer, namespace: str, root: Root, uid: str) -> str:
    """Delete the pods of a root by its uid; raises Superseded where it exists after all."""
    if not await writer.confirm_absent(resource_of(root.kind), namespace, root.name):
        found = table.get(root.kind, namespace, root.name)
        # None: the table took it for gone.
        if found is None or (found.uid == uid and not is_deleting(found)):
            what = f"{root.kind.lower()} {namespace}/{root.name}"
            raise Superseded(f"{what} exists after all")
    return await writer.delete_collection(
        resource_of(POD),
        namespace,
        label_selector=f"{root.selector_of_uid(uid)},{labels.APP}={labels.APP_VALUE}",
    )
