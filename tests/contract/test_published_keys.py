"""Tokens of pods by the published keys of a cluster: one suite, run against every API server."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from services.chassis.kube.http import HttpTransport, load_configuration
from services.chassis.kube.port import Json, KubeClient, Resource
from services.chassis.process.clock import SystemClock
from services.chassis.process.errors import NotAllowed, NotFound
from services.pe_gateway.adapters.published_keys import CONFIGURATION
from services.pe_gateway.adapters.reviewing import TOKEN_REVIEW, Tokens
from services.pe_gateway.core.answers import Refused
from tests.sandboxed import SandboxTransport, new_cluster

POD = Resource("", "v1", "pods", "Pod")
ACCOUNT = Resource("", "v1", "serviceaccounts", "ServiceAccount")
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
AUDIENCE = "streams-api"
NAME = "keys"


class Unprivileged(KubeClient):
    """A client whose account may not create TokenReviews."""

    reviews = 0

    async def create(self, resource: Resource, namespace: str, body: Mapping[str, Any]) -> Json:
        """POST; NotAllowed for reviews."""
        if resource == TOKEN_REVIEW:
            self.reviews += 1
            raise NotAllowed(403, "Forbidden", "tokenreviews is forbidden", {})
        return await super().create(resource, namespace, body)


class PublishedKeysContract:
    """What pe-gateway relies on; a subclass says what `kube` is."""

    async def test_a_token_says_whose_it_is_where_no_review_is_allowed(
        self, kube: Unprivileged, pod: Json
    ) -> None:
        tokens = Tokens(kube, SystemClock(), AUDIENCE)
        for _ in range(2):
            owner = await tokens.owner_of(await _token(kube, pod, [AUDIENCE]))
            meta = pod["metadata"]
            assert owner == (meta["namespace"], NAME, meta["uid"])
        assert kube.reviews == 1

    async def test_both_ways_name_the_same_pod(self, kube: Unprivileged, pod: Json) -> None:
        token = await _token(kube, pod, ["another", AUDIENCE])
        reviewing = KubeClient(kube._transport, "contract")
        by_server = await Tokens(reviewing, SystemClock(), AUDIENCE).owner_of(token)
        assert await Tokens(kube, SystemClock(), AUDIENCE).owner_of(token) == by_server

    async def test_a_token_for_others_or_of_no_pod_or_changed_is_refused(
        self, kube: Unprivileged, pod: Json
    ) -> None:
        good = await _token(kube, pod, [AUDIENCE])
        head, claims, signature = good.split(".")
        other = (await _token(kube, pod, ["another"])).split(".")
        for token in (
            ".".join(other),
            await _token(kube, pod, [AUDIENCE], is_bound=False),
            f"{head}.{other[1]}.{signature}",
            f"{head}.{claims}.{signature[:-8]}AAAAAAAA",
            f"{head}.{claims}.",
        ):
            tokens = Tokens(kube, SystemClock(), AUDIENCE)
            with pytest.raises(Refused) as refused:
                await tokens.owner_of(token)
            assert refused.value.status == 401

    async def test_the_issuer_is_published(self, kube: Unprivileged) -> None:
        found = await kube.document(CONFIGURATION)
        assert found["issuer"].startswith("https://")
        with pytest.raises(NotFound):
            await kube.document("/openid/v1/nothing")


async def _token(
    kube: KubeClient, pod: Json, audiences: list[str], *, is_bound: bool = True
) -> str:
    meta, spec = pod["metadata"], {"audiences": audiences, "expirationSeconds": 600}
    ref = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": spec | ({"boundObjectRef": ref} if is_bound else {}),
    }
    requests = Resource("", "v1", f"serviceaccounts/{NAME}/token", "TokenRequest")
    answer = await kube.create(requests, meta["namespace"], body)
    return str(answer["status"]["token"])


async def _pod(kube: KubeClient) -> Json:
    """A namespace with an account and a pod of it that no node takes."""
    namespace = f"t{uuid.uuid4().hex[:12]}"
    await kube.create(NAMESPACE, "", _named("Namespace", namespace))
    await kube.create(ACCOUNT, namespace, _named("ServiceAccount"))
    containers = [{"name": "c", "image": "i"}]
    spec = {"containers": containers, "schedulerName": "nobody", "serviceAccountName": NAME}
    return await kube.create(POD, namespace, {**_named("Pod"), "spec": spec})


def _named(kind: str, name: str = NAME) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


class TestSandbox(PublishedKeysContract):
    """The embedded API server."""

    @pytest.fixture
    def kube(self) -> Unprivileged:
        cluster = new_cluster(now=time.time, nodes=0)
        return Unprivileged(SandboxTransport(cluster), "contract")

    @pytest.fixture
    async def pod(self, kube: Unprivileged) -> Json:
        return await _pod(kube)


@pytest.mark.real
class TestApiServer(PublishedKeysContract):
    """kube-apiserver, whose keys are RSA."""

    @pytest.fixture
    async def kube(self) -> AsyncIterator[Unprivileged]:
        transport = HttpTransport(await load_configuration(os.environ["MILLRACE_KUBECONFIG"]))
        yield Unprivileged(transport, "contract")
        await transport.close()

    @pytest.fixture
    async def pod(self, kube: Unprivileged) -> AsyncIterator[Json]:
        pod = await _pod(kube)
        yield pod
        name = pod["metadata"]["namespace"]
        uid = (await kube.get(NAMESPACE, "", name))["metadata"]["uid"]
        await kube.delete(NAMESPACE, "", name, uid=uid)
