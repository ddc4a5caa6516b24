"""On a real API server a service can do what its role says, and is refused everything else."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from cli.connecting import aclosing_transport
from deploy.roles import PERMISSIONS
from services.chassis.kube.http import HttpTransport
from services.chassis.kube.permissions import Permission
from services.chassis.kube.port import KubeClient, Resource
from services.chassis.kube.resources import resource_of
from services.chassis.process.errors import Rejected
from services.fusion_backend.adapters.cluster_cpu import POD_METRICS
from tools.real.accounts import Account, renew_token, service_accounts
from tools.real.pair import existing_pair

COVERS = (
    "deploy/rbac/*",
    "deploy/roles.py",
    "services/*/adapters/permissions.py",
    "tools/real/accounts.py",
    "services/chassis/kube/permissions.py",
)

pytestmark = [pytest.mark.real]
SERVICES = sorted(PERMISSIONS)
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
REVIEWS_IN_FLIGHT_MAX = 16
EVERYBODYS = frozenset(
    Permission(group, f"selfsubject{review}", "create")
    for group, review in (
        ("authorization.k8s.io", "accessreviews"),
        ("authorization.k8s.io", "rulesreviews"),
        ("authentication.k8s.io", "reviews"),
    )
)
"""What Kubernetes lets everybody ask who is known to it."""
SECRET = Resource("", "v1", "secrets", "Secret")
KEEPS_CERTIFICATES = "fusion-backend"
"""It may ask for a Secret by its name and make one; nobody may list them."""
ROLE_BINDING = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)


class Clients:
    """The administrator's transport, and one for each service with its own account."""

    def __init__(self, admin: HttpTransport) -> None:
        self.admin = admin
        self.accounts: dict[str, Account] = {}
        self.transports: dict[str, HttpTransport] = {}

    def kube(self, service: str) -> KubeClient:
        """The client that the service would have."""
        return KubeClient(self.transports[service], f"test-{service}")


@pytest.fixture
async def clients(tmp_path: Path) -> AsyncIterator[Clients]:
    pair = existing_pair(os.environ)
    if pair is None:
        pytest.skip("no pair: set MILLRACE_KUBECONFIG and MILLRACE_BOOTSTRAP_SERVERS (real-up)")
    async with AsyncExitStack() as stack:
        found = Clients(await stack.enter_async_context(aclosing_transport(pair.kubeconfig)))
        accounts = service_accounts(pair.kubeconfig, tmp_path / "accounts", print)
        for account in await stack.enter_async_context(accounts):
            found.accounts[account.service] = account
            found.transports[account.service] = await stack.enter_async_context(
                aclosing_transport(account.kubeconfig)
            )
        yield found


async def is_allowed(transport: HttpTransport, wanted: Permission, namespace: str) -> bool:
    """What the API server's authorizer says to whoever asks."""
    attributes = {
        "group": wanted.group,
        "resource": wanted.plural,
        "subresource": wanted.subresource,
        "verb": wanted.verb,
        "name": wanted.name,
        "namespace": namespace,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    headers = {"content-type": "application/json"}
    answer = await transport.request("POST", REVIEWS, body=orjson.dumps(body), headers=headers)
    assert answer.status == 201, answer.body
    return bool(orjson.loads(answer.body)["status"]["allowed"])


async def allowed_of(
    transport: HttpTransport, wanted: Iterable[Permission], namespace: str
) -> set[Permission]:
    """Those that the authorizer allows."""
    turn = asyncio.Semaphore(REVIEWS_IN_FLIGHT_MAX)

    async def ask(each: Permission) -> tuple[Permission, bool]:
        async with turn:
            return each, await is_allowed(transport, each, namespace)

    return {each for each, allowed in await asyncio.gather(*map(ask, wanted)) if allowed}


async def everything(admin: HttpTransport) -> set[Permission]:
    """Every verb on every resource and subresource that the API server serves."""

    async def read(path: str) -> Any:
        return orjson.loads((await admin.request("GET", path, body=None, headers={})).body)

    versions = [each["preferredVersion"] for each in (await read("/apis"))["groups"]]
    folders = {"/api/v1": "", **{f"/apis/{each['groupVersion']}": each for each in versions}}
    found = set()
    for folder in folders:
        group = folder.split("/")[2] if folder.startswith("/apis") else ""
        for resource in (await read(folder))["resources"]:
            plural, _, subresource = resource["name"].partition("/")
            found |= {Permission(group, plural, verb, subresource) for verb in VERBS}
    return found


@pytest.mark.parametrize("service", SERVICES)
async def test_everything_that_is_granted_is_allowed(clients: Clients, service: str) -> None:
    """The roles are written as the authorizer reads them: group, subresource, name, namespace."""
    transport, granted = clients.transports[service], PERMISSIONS[service]
    home = clients.accounts[service].namespace
    at_home = {each for each in granted if each.at_home}
    everywhere = granted - at_home
    assert await allowed_of(transport, everywhere, "anywhere") == everywhere
    assert await allowed_of(transport, at_home, home) == at_home


@pytest.mark.parametrize("service", SERVICES)
async def test_everything_else_that_the_server_serves_is_refused(
    clients: Clients, service: str
) -> None:
    """Every verb on every resource and subresource, in a namespace that is not the services'."""
    asked = await everything(clients.admin)
    granted = {each for each in PERMISSIONS[service] if not each.at_home and not each.name}
    assert len(asked) > 500, "there is something to refuse"
    not_asked = {each for each in granted - asked if each.subresource != "finalizers"}
    assert {each.group for each in not_asked} <= {POD_METRICS.group}, "the pair has no such server"
    allowed = await allowed_of(clients.transports[service], asked, "default")
    assert allowed - EVERYBODYS == granted & asked


async def test_a_right_on_one_object_is_none_on_another(clients: Clients) -> None:
    """Leases: its own, at home. Namespaces: the one that names the cluster."""
    transport = clients.transports["watch-ingest"]
    for each in PERMISSIONS["watch-ingest"]:
        if each.name:
            other = Permission(each.group, each.plural, each.verb, each.subresource, "another")
            assert not await is_allowed(
                transport, other, clients.accounts["watch-ingest"].namespace
            )
        if each.at_home:
            assert not await is_allowed(transport, each, "kube-system")


@pytest.mark.parametrize("service", SERVICES)
async def test_requests_beyond_the_role_end_with_403(clients: Clients, service: str) -> None:
    """Not only the review says so: the end of a Job, a Secret, a role of one's own.

    Two services write the status of Jobs and may patch them: they empty managedFields.
    """
    kube = clients.kube(service)
    binding = {
        "apiVersion": ROLE_BINDING.api_version,
        "kind": ROLE_BINDING.kind,
        "metadata": {"name": f"more-for-{service}"},
        "roleRef": {
            "apiGroup": ROLE_BINDING.group,
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
    }
    job, node = resource_of("Job"), resource_of("Node")
    of_secrets = (
        ()
        if service == KEEPS_CERTIFICATES
        else (
            kube.get(SECRET, "kube-system", "any"),
            kube.create(SECRET, "default", {"metadata": {"name": "any"}}),
        )
    )
    of_jobs = (
        ()
        if service in ("fusion-backend", "pe-gateway")
        else (kube.patch(job, "default", "any", {"spec": {}}, resource_version=1),)
    )
    forbidden = (
        *of_secrets,
        kube.delete(SECRET, "default", "any", uid="any"),
        kube.create(ROLE_BINDING, "", binding),
        *of_jobs,
        kube.delete(job, "default", "any", uid="any"),
        kube.delete(node, "", "node-0", uid="any"),
        kube.delete_collection(resource_of("Job"), "default", label_selector="a=b"),
    )
    for request in forbidden:
        with pytest.raises(Rejected) as refused:
            await request
        assert (refused.value.code, refused.value.reason) == (403, "Forbidden")


async def test_services_cannot_do_each_others_work(clients: Clients) -> None:
    """Pods are pod-state-machine's, what is planned is fusion-backend's."""
    pod, pe = resource_of("Pod"), resource_of("ProcessingElement")
    for service, resource in (
        ("fusion-backend", pod),
        ("watch-ingest", pod),
        ("pod-state-machine", pe),
        ("watch-ingest", pe),
    ):
        with pytest.raises(Rejected) as refused:
            await clients.kube(service).create(resource, "default", {"metadata": {"name": "any"}})
        assert refused.value.code == 403, service


async def test_a_token_is_its_owners_alone_and_can_be_renewed(clients: Clients) -> None:
    """Another token replaces it in its file, and is as good."""
    account = clients.accounts["watch-ingest"]
    before = account.token.read_text()
    for file in (account.token, account.kubeconfig):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    await renew_token(clients.admin, account)
    assert account.token.read_text() != before
    async with aclosing_transport(account.kubeconfig) as transport:
        system = await KubeClient(transport, "test").get(
            Resource("", "v1", "namespaces", "Namespace", namespaced=False), "", "kube-system"
        )
    assert system["metadata"]["uid"]
