"""The accounts of an installation: what the authorizer reports, and what admission refuses."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from cli.connecting import aclosing_transport
from cli.real.pair import existing_pair
from deploy.roles import PERMISSIONS
from services.chassis.kube.http import HttpTransport
from services.chassis.kube.permissions import Permission
from tests.real.installing import NAMESPACE, ask, installed_trial, transport_of

pytestmark = [pytest.mark.real]
Json = dict[str, Any]

RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
MERGE = "application/merge-patch+json"
ROLELESS = "without-roles"
SERVICES = sorted(PERMISSIONS)
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
POOLS = "/apis/streams.ibm.com/v1/namespaces/default/streamshostpools"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
OF_A_JOB = {"streams.ibm.com/job-uid": "uid"}


class Accounts:
    """The administrator, and every account of the installation."""

    def __init__(self, admin: HttpTransport) -> None:
        self.admin = admin
        self.of: dict[str, HttpTransport] = {}


@pytest.fixture
async def accounts(tmp_path: Path) -> AsyncIterator[Accounts]:
    pair = existing_pair(os.environ)
    if pair is None:
        pytest.skip("no pair: set MILLRACE_KUBECONFIG and MILLRACE_BOOTSTRAP_SERVERS (real-up)")
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(aclosing_transport(pair.kubeconfig))
        await stack.enter_async_context(installed_trial(admin))
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        await ask(admin, "POST", path, {"metadata": {"name": ROLELESS}})
        found = Accounts(admin)
        for service in (*SERVICES, ROLELESS):
            account = service if service == ROLELESS else f"millrace-{service}"
            transport = transport_of(admin, pair.kubeconfig, tmp_path / service, account)
            found.of[service] = await stack.enter_async_context(transport)
        yield found


async def rights(transport: HttpTransport, namespace: str) -> set[tuple[str, str, str, str]]:
    """What `kubectl auth can-i --list` shows: group, resource, name, verb."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    status = orjson.loads((await ask(transport, "POST", RULES, body)).body)["status"]
    return {
        (group, resource, name, verb)
        for rule in status["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


def generated(permissions: Iterable[Permission]) -> set[tuple[str, str, str, str]]:
    return {(each.group, each.resource, each.name, each.verb) for each in permissions}


async def test_accounts_may_do_what_the_generated_roles_list_and_foreign_writes_are_refused(
    accounts: Accounts,
) -> None:
    """One installation for all of it: it takes longer than all the questions."""
    for service in SERVICES:
        for namespace, at_home in (("default", False), (NAMESPACE, True)):
            own = await rights(accounts.of[service], namespace)
            everybodys = await rights(accounts.of[ROLELESS], namespace)
            granted = {each for each in PERMISSIONS[service] if at_home or not each.at_home}
            assert own - everybodys == generated(granted), (service, namespace)
    await _nodes_keep_what_is_not_a_pools(accounts)
    await _pods_are_those_of_processing_elements(accounts)
    await _objects_are_those_of_jobs(accounts)
    await _specs_are_their_authors(accounts)
    await _leases_are_the_services_own(accounts)


async def _nodes_keep_what_is_not_a_pools(accounts: Accounts) -> None:
    tainter = accounts.of["node-tainter"]
    name = f"foreign-{uuid.uuid4().hex[:8]}"
    path = f"/api/v1/nodes/{name}"
    taint = {"key": "maintenance", "effect": "NoExecute"}
    ours = {"key": "streams.ibm.com/exclusive", "value": "uid", "effect": "NoSchedule"}
    node = {"metadata": {"name": name}, "spec": {"taints": [taint]}}
    await ask(accounts.admin, "POST", "/api/v1/nodes", node)
    try:
        present = orjson.loads((await ask(tainter, "GET", path)).body)["spec"]["taints"]
        foreign: tuple[Json, ...] = (
            {"metadata": {"labels": {"zone": "b"}}},
            {"metadata": {"annotations": {"a": "b"}}},
            {"spec": {"taints": [ours]}},
            {"spec": {"unschedulable": True}},
        )
        for patch in foreign:
            await _refused(tainter, "PATCH", path, patch, "node-tainter may")
        own = {
            "metadata": {"labels": {"member.streams.ibm.com/uid": "1"}},
            "spec": {"taints": [*present, ours]},
        }
        assert (await ask(tainter, "PATCH", path, own, MERGE)).status == 200
    finally:
        await ask(accounts.admin, "DELETE", path)


async def _pods_are_those_of_processing_elements(accounts: Accounts) -> None:
    machine = accounts.of["pod-state-machine"]
    spec: Json = {"containers": [{"name": "pe", "image": "runtime:1"}], "nodeName": "nowhere"}
    owner = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "ProcessingElement",
        "name": "any",
        "uid": "any",
        "controller": True,
    }
    foreign = {"metadata": {"name": "foreign"}, "spec": spec}
    await _refused(machine, "POST", PODS, foreign, "pods of ProcessingElements only")
    # The pod of somebody, which the right to delete pods would cover.
    assert (await ask(accounts.admin, "POST", PODS, foreign)).status == 201
    await _refused(machine, "DELETE", f"{PODS}/foreign", None, "pods of ProcessingElements only")
    await ask(accounts.admin, "DELETE", f"{PODS}/foreign?gracePeriodSeconds=0")
    with_account = {**spec, "serviceAccountName": "builder"}
    owned = {"metadata": {"name": "own", "ownerReferences": [owner]}}
    account = {"metadata": {"name": "builder"}}
    await ask(accounts.admin, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
    await _refused(machine, "POST", PODS, {**owned, "spec": with_account}, "have no account")
    answer = await ask(machine, "POST", PODS, {**owned, "spec": spec})
    assert answer.status == 201, answer.body
    for patch in ({"metadata": {"annotations": {"a": "b"}}}, {"metadata": {"labels": {"a": "b"}}}):
        await _refused(machine, "PATCH", f"{PODS}/own", patch, "pod-state-machine may")
    aside = {"metadata": {"labels": {"svc": "zombie"}}}
    assert (await ask(machine, "PATCH", f"{PODS}/own", aside, MERGE)).status == 200
    assert (await ask(machine, "DELETE", f"{PODS}/own?gracePeriodSeconds=0")).status == 200


async def _objects_are_those_of_jobs(accounts: Accounts) -> None:
    backend = accounts.of["fusion-backend"]
    foreign = {"metadata": {"name": "foreign"}, "data": {"a": "b"}}
    await _refused(backend, "POST", MAPS, foreign, "objects of Jobs only")
    await ask(accounts.admin, "POST", MAPS, foreign)
    patch = {"data": {"a": "c"}}
    await _refused(backend, "PATCH", f"{MAPS}/foreign", patch, "objects of Jobs only")
    await _refused(backend, "DELETE", f"{MAPS}/foreign", None, "objects of Jobs only")
    await ask(accounts.admin, "DELETE", f"{MAPS}/foreign")
    token = {
        "metadata": {
            "name": "token",
            "labels": OF_A_JOB,
            "annotations": {"kubernetes.io/service-account.name": "default"},
        },
        "type": "kubernetes.io/service-account-token",
    }
    await _refused(backend, "POST", SECRETS, token, "type Opaque only")
    own = {"metadata": {"name": "own", "labels": OF_A_JOB}}
    assert (await ask(backend, "POST", MAPS, own)).status == 201
    assert (await ask(backend, "DELETE", f"{MAPS}/own")).status == 200


async def _specs_are_their_authors(accounts: Accounts) -> None:
    pool = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "HostPool",
        "metadata": {"name": "foreign"},
        "spec": {"hostpool": {"name": "gpu"}},
    }
    answer = await ask(accounts.admin, "POST", POOLS, pool)
    assert answer.status == 201, answer.body
    path = f"{POOLS}/foreign"
    labels = {"metadata": {"labels": {"a": "b"}}}
    try:
        await _refused(accounts.of["hostpool-manager"], "PATCH", path, labels, "status alone")
        await _refused(accounts.of["node-tainter"], "PATCH", path, labels, "finalizer")
        claim = {"metadata": {"finalizers": ["streams.ibm.com/node-claims"]}}
        tainter = accounts.of["node-tainter"]
        assert (await ask(tainter, "PATCH", path, claim, MERGE)).status == 200
        empty = {"metadata": {"finalizers": None}}
        assert (await ask(tainter, "PATCH", path, empty, MERGE)).status == 200
        members = {"status": {"members": ["node-0"]}}
        watcher = accounts.of["watch-ingest"]
        await _refused(watcher, "PATCH", f"{path}/status", members, "conditions of a status only")
    finally:
        await ask(accounts.admin, "DELETE", path)


async def _leases_are_the_services_own(accounts: Accounts) -> None:
    for service in ("watch-ingest", "hostpool-manager"):
        other = {"metadata": {"name": "another"}}
        await _refused(
            accounts.of[service], "POST", LEASES, other, f"one Lease, millrace-{service}"
        )


async def _refused(
    transport: HttpTransport, method: str, path: str, body: Mapping[str, Any] | None, words: str
) -> None:
    """Within the rights, and refused by a policy, which names itself."""
    kind = MERGE if method == "PATCH" else "application/json"
    answer = await ask(transport, method, path, body, kind)
    message = orjson.loads(answer.body).get("message", "")
    assert answer.status in (403, 422), (path, answer.status, message)
    assert "ValidatingAdmissionPolicy" in message, message
    assert words in message, message
