"""What services rely on when the resources of a pod change while it exists: `pods/NAME/resize`."""

from __future__ import annotations

from typing import Any, Final

import pytest

from services.chassis.kube.port import Json, KubeClient, Resource
from services.chassis.process.errors import Conflict, Rejected

POD: Final = Resource("", "v1", "pods", "Pod")
RESOURCES: Final = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}


async def _pod(kube: KubeClient, ns: str) -> Json:
    """A pod that no node takes."""
    container = {"name": "pe", "image": "i", "resources": RESOURCES}
    spec = {"containers": [container, {"name": "beside", "image": "i"}], "schedulerName": "nobody"}
    return await kube.create(POD, ns, {"metadata": {"name": "p"}, "spec": spec})


async def _resize(kube: KubeClient, pod: Json, resources: Json | None, **more: Any) -> Json:
    meta = pod["metadata"]
    patch = {"spec": {"containers": [{"name": "pe", "resources": resources, **more}]}}
    return await kube.patch(
        POD,
        meta["namespace"],
        meta["name"],
        patch,
        resource_version=int(meta["resourceVersion"]),
        subresource="resize",
        merges_lists=True,
    )


async def changes_in_place(kube: KubeClient, ns: str) -> None:
    """Only the named amounts change, under the version, once; everything else is left alone."""
    assert await kube.serves(POD, "resize")
    assert not await kube.serves(POD, "resizes")
    pod = await _pod(kube, ns)
    wanted: Json = {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}
    changed = await _resize(kube, pod, wanted, image="other")
    first, second = changed["spec"]["containers"]
    assert first["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": "1"},
    }
    assert (first["image"], second["resources"]) == ("i", {})
    assert changed["metadata"]["generation"] == pod["metadata"]["generation"] + 1
    assert changed["status"]["qosClass"] == pod["status"]["qosClass"]
    again = await _resize(kube, changed, wanted)
    assert again["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
    with pytest.raises(Conflict):
        await _resize(kube, pod, {"limits": {"cpu": "3"}})


async def refuses_what_a_container_cannot_change(kube: KubeClient, ns: str) -> None:
    """The words are the same on every server: the Job repeats them."""
    pod = await _pod(kube, ns)
    for resources, text in (
        ({"requests": {"ephemeral-storage": "1Gi"}}, "only cpu and memory resources are mutable"),
        ({"limits": None}, "resource limits cannot be removed"),
        ({"requests": {"cpu": "3"}}, "must be less than or equal to cpu limit"),
    ):
        with pytest.raises(Rejected) as refused:
            await _resize(kube, pod, resources)
        assert refused.value.code == 422
        assert text in refused.value.message
    assert (await kube.get(POD, ns, "p"))["metadata"]["generation"] == pod["metadata"]["generation"]
