"""What the accounts of an installation may do: what the authorizer answers, and attempts.

The tests of the pair and those of the real node share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from deploy.roles import PERMISSIONS
from services.chassis.kube.http import HttpTransport
from services.chassis.kube.permissions import Permission
from tests.real.installing import ask

Json = dict[str, Any]

RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
MERGE = "application/merge-patch+json"
ROLELESS = "without-roles"
"""An account that has the rights of everybody and no others."""
SERVICES = sorted(PERMISSIONS)
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES_OF_USERS = "/api/v1/namespaces/default/services"


class Accounts:
    """The administrator, and every account of an installation in the namespace `home`."""

    def __init__(self, admin: HttpTransport, home: str) -> None:
        self.admin = admin
        self.home = home
        self.of: dict[str, HttpTransport] = {}


async def make_roleless(accounts: Accounts) -> None:
    """Make the account without roles; the namespace goes with the installation."""
    path = f"/api/v1/namespaces/{accounts.home}/serviceaccounts"
    await ask(accounts.admin, "POST", path, {"metadata": {"name": ROLELESS}})


async def check_rights(accounts: Accounts) -> None:
    """`kubectl auth can-i --list` of each account is what the generated roles say."""
    for service in SERVICES:
        for namespace in ("default", accounts.home):
            own = await rights(accounts.of[service], namespace)
            everybodys = await rights(accounts.of[ROLELESS], namespace)
            at_home = namespace == accounts.home
            granted = {each for each in PERMISSIONS[service] if at_home or not each.at_home}
            assert own - everybodys == generated(granted), (service, namespace)


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


async def check_foreign_writes(accounts: Accounts) -> None:
    """Each account has the right to a write of this kind, and a policy refuses this one."""
    nodes = orjson.loads((await ask(accounts.admin, "GET", NODES)).body)["items"]
    node = f"{NODES}/{nodes[0]['metadata']['name']}"
    label: Json = {"metadata": {"labels": {"zone": "b"}}}
    foreign: Json = {"metadata": {"name": "foreign"}}
    pod = {**foreign, "spec": {"containers": [{"name": "pe", "image": "runtime:1"}]}}
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{accounts.home}/leases"
    writes: Mapping[str, tuple[str, str, Json, str]] = {
        "fusion-backend": ("POST", MAPS, foreign, "objects of Jobs only"),
        "hostpool-manager": ("POST", leases, foreign, "one Lease, millrace-hostpool-manager"),
        "node-tainter": ("PATCH", node, label, "node-tainter may"),
        "pe-gateway": ("PATCH", f"{SERVICES_OF_USERS}/foreign", label, "Services of Jobs only"),
        "pod-state-machine": ("POST", PODS, pod, "pods of ProcessingElements only"),
        "watch-ingest": ("POST", leases, foreign, "one Lease, millrace-watch-ingest"),
    }
    assert sorted(writes) == SERVICES
    service_of_user = {**foreign, "spec": {"clusterIP": "None", "ports": [{"port": 1}]}}
    await ask(accounts.admin, "POST", SERVICES_OF_USERS, service_of_user)
    try:
        for service, write in writes.items():
            await refused(accounts.of[service], *write)
    finally:
        await ask(accounts.admin, "DELETE", f"{SERVICES_OF_USERS}/foreign")


async def refused(
    transport: HttpTransport, method: str, path: str, body: Mapping[str, Any] | None, words: str
) -> None:
    """Within the rights, and refused by a policy, which names itself."""
    kind = MERGE if method == "PATCH" else "application/json"
    answer = await ask(transport, method, path, body, kind)
    message = orjson.loads(answer.body).get("message", "")
    assert answer.status in (403, 422), (path, answer.status, message)
    assert "ValidatingAdmissionPolicy" in message, message
    assert words in message, message
