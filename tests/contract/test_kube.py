"""The Kubernetes contract: one suite, run against every API server that services may meet."""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Cluster
from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.server import serving
from services.chassis.kube.http import HttpTransport, load_configuration
from services.chassis.kube.port import Json, KubeClient, Resource, WatchType
from services.chassis.process.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    NotFound,
    Rejected,
    Transient,
)
from tests.contract import pod_resizing
from tests.patience import patient
from tests.sandboxed import SandboxTransport

CONFIG_MAP = Resource("", "v1", "configmaps", "ConfigMap")
POD = Resource("", "v1", "pods", "Pod")
NODE = Resource("", "v1", "nodes", "Node", namespaced=False)
LEASE = Resource("coordination.k8s.io", "v1", "leases", "Lease")
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
ACCOUNT = Resource("", "v1", "serviceaccounts", "ServiceAccount")
PATIENCE_S = patient(20.0)


def config_map(name: str, *, labels: Mapping[str, str] | None = None, **data: str) -> Json:
    """A ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "data": data,
    }


def pod(name: str, **metadata: Any) -> Json:
    """A pod that no node takes."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"},
    }


def version_of(obj: Json) -> int:
    return int(obj["metadata"]["resourceVersion"])


def names(objects: Iterable[Json]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]


class KubeContract:
    """What services rely on; a subclass says what `kube` is, and which namespace is empty."""

    @pytest.fixture
    def ns(self) -> str:
        return "default"

    async def test_an_object_is_created_once(self, kube: KubeClient, ns: str) -> None:
        created = await kube.create(CONFIG_MAP, ns, config_map("a", k="v"))
        assert created["metadata"]["uid"]
        assert await kube.get(CONFIG_MAP, ns, "a") == created
        with pytest.raises(AlreadyExists) as refused:
            await kube.create(CONFIG_MAP, ns, config_map("a", k="w"))
        assert (refused.value.code, refused.value.reason) == (409, "AlreadyExists")

    async def test_an_absent_object_is_not_found(self, kube: KubeClient, ns: str) -> None:
        with pytest.raises(NotFound):
            await kube.get(CONFIG_MAP, ns, "nobody")
        with pytest.raises(NotFound):
            await kube.patch(CONFIG_MAP, ns, "nobody", {"data": {}}, resource_version=1)
        with pytest.raises(NotFound):
            await kube.delete(CONFIG_MAP, ns, "nobody", uid="u")

    async def test_an_object_that_is_not_valid_is_refused_for_good(
        self, kube: KubeClient, ns: str
    ) -> None:
        with pytest.raises(Rejected) as refused:
            await kube.create(CONFIG_MAP, ns, config_map("Not A Name"))
        assert refused.value.code == 422
        assert refused.value.status["details"]["causes"]

    async def test_a_patch_merges_under_the_version_it_names(
        self, kube: KubeClient, ns: str
    ) -> None:
        first = await kube.create(CONFIG_MAP, ns, config_map("a", k="v", x="y"))
        patch = {"data": {"k": "w", "x": None}}
        second = await kube.patch(CONFIG_MAP, ns, "a", patch, resource_version=version_of(first))
        assert second["data"] == {"k": "w"}
        assert version_of(second) > version_of(first)

    async def test_a_patch_under_a_stale_version_conflicts(self, kube: KubeClient, ns: str) -> None:
        first = await kube.create(CONFIG_MAP, ns, config_map("a", k="v"))
        await kube.patch(
            CONFIG_MAP, ns, "a", {"data": {"k": "w"}}, resource_version=version_of(first)
        )
        with pytest.raises(Conflict):
            await kube.patch(
                CONFIG_MAP, ns, "a", {"data": {"k": "x"}}, resource_version=version_of(first)
            )
        assert (await kube.get(CONFIG_MAP, ns, "a"))["data"] == {"k": "w"}

    async def test_a_patch_that_changes_nothing_makes_no_version(
        self, kube: KubeClient, ns: str
    ) -> None:
        first = await kube.create(CONFIG_MAP, ns, config_map("a", k="v"))
        again = await kube.patch(
            CONFIG_MAP, ns, "a", {"data": {"k": "v"}}, resource_version=version_of(first)
        )
        assert version_of(again) == version_of(first)

    async def test_the_status_is_patched_where_it_lives(self, kube: KubeClient, ns: str) -> None:
        first = await kube.create(POD, ns, pod("p"))
        status = {"status": {"phase": "Running"}}
        spec_side = await kube.patch(POD, ns, "p", status, resource_version=version_of(first))
        assert spec_side["status"]["phase"] == "Pending"
        patched = await kube.patch(
            POD, ns, "p", status, resource_version=version_of(spec_side), subresource="status"
        )
        assert patched["status"]["phase"] == "Running"

    async def test_a_delete_names_the_uid_it_means(self, kube: KubeClient, ns: str) -> None:
        created = await kube.create(CONFIG_MAP, ns, config_map("a"))
        with pytest.raises(Conflict):
            await kube.delete(CONFIG_MAP, ns, "a", uid="another")
        assert (await kube.delete(CONFIG_MAP, ns, "a", uid=created["metadata"]["uid"])) is None
        with pytest.raises(NotFound):
            await kube.get(CONFIG_MAP, ns, "a")

    async def test_a_delete_may_name_the_version_too(self, kube: KubeClient, ns: str) -> None:
        first = await kube.create(CONFIG_MAP, ns, config_map("a"))
        uid = first["metadata"]["uid"]
        second = await kube.patch(
            CONFIG_MAP, ns, "a", {"data": {"k": "v"}}, resource_version=version_of(first)
        )
        with pytest.raises(Conflict):
            await kube.delete(CONFIG_MAP, ns, "a", uid=uid, resource_version=version_of(first))
        await kube.delete(CONFIG_MAP, ns, "a", uid=uid, resource_version=version_of(second))

    async def test_an_object_with_a_finalizer_answers_a_delete_as_terminating(
        self, kube: KubeClient, ns: str
    ) -> None:
        body = config_map("a")
        body["metadata"]["finalizers"] = ["example.com/wait"]
        created = await kube.create(CONFIG_MAP, ns, body)
        left = await kube.delete(CONFIG_MAP, ns, "a", uid=created["metadata"]["uid"])
        assert left is not None
        assert left["metadata"]["deletionTimestamp"]

    async def test_a_pod_that_no_node_has_is_gone_at_once(self, kube: KubeClient, ns: str) -> None:
        created = await kube.create(POD, ns, pod("p"))
        assert await kube.delete(POD, ns, "p", uid=created["metadata"]["uid"]) is None
        with pytest.raises(NotFound):
            await kube.get(POD, ns, "p")

    async def test_a_collection_is_deleted_under_its_selector(
        self, kube: KubeClient, ns: str
    ) -> None:
        for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
            await kube.create(CONFIG_MAP, ns, config_map(name, labels={"app": app}))
        await kube.delete_collection(CONFIG_MAP, ns, label_selector="app=x")
        left = [page async for page in kube.list_pages(CONFIG_MAP, ns, label_selector="app")]
        assert names(left[0].items) == ["c"]
        with pytest.raises(ValueError, match="label selector"):
            await kube.delete_collection(CONFIG_MAP, ns, label_selector="")

    async def test_lists_select_by_label_and_give_the_version_they_are_of(
        self, kube: KubeClient, ns: str
    ) -> None:
        for number in range(7):
            labels = {"odd": str(number % 2)}
            await kube.create(CONFIG_MAP, ns, config_map(f"c{number}", labels=labels))
        items: list[Json] = []
        versions = set()
        async for page in kube.list_pages(CONFIG_MAP, ns, label_selector="odd=1", limit=2):
            items += page.items
            versions.add(page.resource_version)
        assert names(items) == ["c1", "c3", "c5"]
        assert len(versions) == 1

    async def test_metadata_are_listed_without_data(self, kube: KubeClient, ns: str) -> None:
        await kube.create(CONFIG_MAP, ns, config_map("a", labels={"app": ns}, k="v"))
        pages = [
            page
            async for page in kube.list_pages(
                CONFIG_MAP, None, label_selector=f"app={ns}", metadata_only=True
            )
        ]
        [found] = pages[0].items
        assert found["metadata"]["labels"] == {"app": ns}
        assert "data" not in found

    async def test_a_watch_tells_what_happened_since_its_version(
        self, kube: KubeClient, ns: str
    ) -> None:
        first = await kube.create(CONFIG_MAP, ns, config_map("a", labels={"app": "x"}))
        changed = await kube.patch(
            CONFIG_MAP, ns, "a", {"data": {"k": "v"}}, resource_version=version_of(first)
        )
        await kube.create(CONFIG_MAP, ns, config_map("other"))
        await kube.delete(CONFIG_MAP, ns, "a", uid=first["metadata"]["uid"])
        await kube.create(CONFIG_MAP, ns, config_map("b", labels={"app": "x"}))
        seen = []
        async with (
            asyncio.timeout(PATIENCE_S),
            aclosing(
                kube.watch(
                    CONFIG_MAP,
                    ns,
                    resource_version=str(version_of(first)),
                    label_selector="app=x",
                    metadata_only=True,
                )
            ) as events,
        ):
            async for event in events:
                assert "data" not in event.object
                if event.type is not WatchType.BOOKMARK:
                    seen.append(event)
                if len(seen) == 3:
                    break
        assert [event.type.value for event in seen] == ["MODIFIED", "DELETED", "ADDED"]
        assert names(event.object for event in seen) == ["a", "a", "b"]
        assert seen[0].resource_version == str(version_of(changed))
        assert int(seen[1].resource_version) > version_of(changed)

    async def test_a_watch_ends_when_its_time_is_over(self, kube: KubeClient, ns: str) -> None:
        created = await kube.create(CONFIG_MAP, ns, config_map("a"))
        async with asyncio.timeout(PATIENCE_S):
            since = str(version_of(created))
            watch = kube.watch(
                *(CONFIG_MAP, ns),
                resource_version=since,
                timeout_s=1,  # unstretched: its end is what is tested
            )
            seen = [event async for event in watch]
        assert all(event.type is WatchType.BOOKMARK for event in seen)

    async def test_objects_of_the_cluster_have_no_namespace(self, kube: KubeClient) -> None:
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
        created = await kube.create(NODE, "", body)
        assert "namespace" not in created["metadata"]
        assert (await kube.get(NODE, "", "n1"))["metadata"]["uid"] == created["metadata"]["uid"]

    async def test_resources_of_a_pod_change_in_place(self, kube: KubeClient, ns: str) -> None:
        await pod_resizing.changes_in_place(kube, ns)

    async def test_what_no_container_can_change_is_refused(self, kube: KubeClient, ns: str) -> None:
        await pod_resizing.refuses_what_a_container_cannot_change(kube, ns)

    async def test_a_lease_is_an_object_as_others(self, kube: KubeClient, ns: str) -> None:
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "l"},
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15},
        }
        created = await kube.create(LEASE, ns, body)
        assert created["spec"]["holderIdentity"] == "me"


class SandboxContract(KubeContract):
    """What can be tried only where history can be made to end."""

    @pytest.fixture
    def cluster(self) -> Cluster:
        uids = count(1)
        return Cluster(now=lambda: 1_700_000_000.0, new_uid=lambda: f"uid-{next(uids)}", nodes=0)

    async def test_a_version_that_history_does_not_reach_is_expired(
        self, kube: KubeClient, ns: str, cluster: Cluster
    ) -> None:
        created = await kube.create(CONFIG_MAP, ns, config_map("a"))
        await kube.create(CONFIG_MAP, ns, config_map("b"))
        cluster.store.forget_history()
        events = kube.watch(CONFIG_MAP, ns, resource_version=str(version_of(created)))
        async with aclosing(events):
            with pytest.raises(Expired):
                await anext(events)


class TestSandboxInProcess(SandboxContract):
    """The embedded API server without sockets."""

    @pytest.fixture
    async def kube(self, cluster: Cluster) -> KubeClient:
        return KubeClient(SandboxTransport(cluster), "contract")


class TestSandboxOverHttp(SandboxContract):
    """The embedded API server behind a socket, found by a kubeconfig."""

    @pytest.fixture
    async def kube(self, cluster: Cluster, tmp_path: Path) -> AsyncIterator[KubeClient]:
        async with serving(cluster.api) as port:
            file = tmp_path / "kubeconfig"
            write_kubeconfig(file, port=port)
            transport = HttpTransport(await load_configuration(str(file)))
            yield KubeClient(transport, "contract")
            await transport.close()

    async def test_a_server_that_is_away_is_a_transient_failure(
        self, kube: KubeClient, ns: str, cluster: Cluster, tmp_path: Path
    ) -> None:
        file = tmp_path / "away"
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        write_kubeconfig(file, port=port)
        transport = HttpTransport(await load_configuration(str(file)))
        away = KubeClient(transport, "contract")
        with pytest.raises(Transient) as failed:
            await away.get(CONFIG_MAP, ns, "a")
        assert not failed.value.outcome_unknown, "nothing was sent"
        with pytest.raises(Transient):
            await anext(away.watch(CONFIG_MAP, ns, resource_version="1"))
        await transport.close()

    async def test_a_watch_that_says_nothing_for_too_long_is_taken_for_dead(
        self, kube: KubeClient, ns: str
    ) -> None:
        created = await kube.create(CONFIG_MAP, ns, config_map("a"))
        events = kube.watch(
            CONFIG_MAP,
            ns,
            resource_version=str(version_of(created)),
            bookmarks=False,
            silence_s=0.05,
        )
        with pytest.raises(Transient):
            await anext(events)


@pytest.mark.real
class TestApiServer(KubeContract):
    """kube-apiserver; every test has a namespace of its own, and leaves nothing behind."""

    @pytest.fixture
    async def kube(self) -> AsyncIterator[KubeClient]:
        transport = HttpTransport(await load_configuration(os.environ["MILLRACE_KUBECONFIG"]))
        yield KubeClient(transport, "contract")
        await transport.close()

    @pytest.fixture
    async def ns(self, kube: KubeClient) -> AsyncIterator[str]:
        name = f"t{uuid.uuid4().hex[:12]}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        created = await kube.create(NAMESPACE, "", body)
        await until_found(kube, ACCOUNT, name, "default")
        yield name
        async for page in kube.list_pages(CONFIG_MAP, name):
            for left in page.items:
                if left["metadata"].get("finalizers"):
                    await kube.patch(
                        CONFIG_MAP,
                        name,
                        left["metadata"]["name"],
                        {"metadata": {"finalizers": None}},
                        resource_version=version_of(left),
                    )
        await kube.delete(NAMESPACE, "", name, uid=created["metadata"]["uid"])

    async def test_objects_of_the_cluster_have_no_namespace(self, kube: KubeClient) -> None:
        try:
            await super().test_objects_of_the_cluster_have_no_namespace(kube)
        finally:
            node = await kube.get(NODE, "", "n1")
            await kube.delete(NODE, "", "n1", uid=node["metadata"]["uid"])


async def until_found(kube: KubeClient, resource: Resource, namespace: str, name: str) -> None:
    """Wait for what a controller makes in a new namespace; admission wants it for pods."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await kube.get(resource, namespace, name)
            except NotFound:
                await asyncio.sleep(0.02)
                continue
            return
