"""Accounts for the services on a real cluster: roles, tokens of their own, kubeconfigs.

The rights of an account are generated into `deploy/rbac/` and applied here. A token is requested
(TokenRequest) and lives a day. It is renewed long before it ends, in a file that services read
again (`tokenFile` of their kubeconfigs). Only the owner can read the files.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from cli.cluster_requests import apply, checked
from cli.connecting import aclosing_transport
from cli.failing import Failure
from cli.private import private_folder, write_private
from cli.resources import RBAC
from cli.shipped import documents_in
from services.chassis.kube.http import HttpTransport
from services.chassis.kube.port import Response
from services.chassis.process.errors import Transient
from tools.real.preparing import FIELD_MANAGER
from tools.real.probing import HEALTHY, until

TOKEN_S = 24 * 3600
RENEW_S = TOKEN_S / 3
RENEW_RETRY_S = 60.0
RECOGNIZED_TIMEOUT_S = 30.0
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_FOLDERS: Mapping[str, str] = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Account:
    """What one file of `deploy/rbac/` says, and where the service finds itself."""

    service: str
    documents: tuple[Json, ...]
    folder: Path

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the service."""
        return self.folder / f"{self.service}.kubeconfig"

    @property
    def token(self) -> Path:
        """The file that the kubeconfig names."""
        return self.folder / f"{self.service}.token"

    @property
    def namespace(self) -> str:
        """Where the account is."""
        return next(
            str(each["metadata"]["namespace"])
            for each in self.documents
            if each["kind"] == "ServiceAccount"
        )


def accounts_in(folder: Path) -> list[Account]:
    """The accounts of all services, with their files in a folder, which is made if need be."""
    private_folder(folder)
    return [
        Account(file.stem, tuple(documents_in(file)), folder)
        for file in sorted(RBAC.glob("*.yaml"))
    ]


@asynccontextmanager
async def service_accounts(
    admin: Path, folder: Path, say: Callable[[str], None]
) -> AsyncIterator[list[Account]]:
    """Accounts that the API server knows, with tokens that stay valid inside of the block."""
    accounts = accounts_in(folder)
    async with aclosing_transport(admin) as transport:
        for account in accounts:
            for document in account.documents:
                path = path_of_document(document)
                await apply(transport, path, document, manager=FIELD_MANAGER)
            await renew_token(transport, account)
            write_private(account.kubeconfig, kubeconfig_of(admin, account))
        await asyncio.gather(*map(_until_recognized, accounts))
        renewing = asyncio.create_task(_renew_again(transport, accounts, say))
        try:
            yield accounts
        finally:
            renewing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await renewing


def path_of_document(document: Json) -> str:
    """Where an object of `deploy/rbac/` is on the API server."""
    meta = document["metadata"]
    folder = _FOLDERS[document["kind"]].format(namespace=meta.get("namespace", ""))
    return f"{folder}/{meta['name']}"


def kubeconfig_of(admin: Path, account: Account) -> str:
    """The administrator's cluster, and the account as its user."""
    config: Json = yaml.safe_load(admin.read_text(encoding="utf-8"))
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = dict(_named(config["clusters"], context["cluster"])["cluster"])
    if "certificate-authority" in cluster:
        cluster["certificate-authority"] = str(admin.parent / cluster["certificate-authority"])
    own = {"cluster": "cluster", "user": account.service, "namespace": account.namespace}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": account.service, "user": {"tokenFile": str(account.token)}}],
        "contexts": [{"name": account.service, "context": own}],
        "current-context": account.service,
    }
    return str(yaml.safe_dump(content, sort_keys=False))


def _named(items: Iterable[Json], name: str) -> Json:
    return next(item for item in items if item["name"] == name)


async def renew_token(transport: HttpTransport, account: Account) -> None:
    """Ask for a token and put it where the service reads it; raises Failure."""
    folder = _FOLDERS["ServiceAccount"].format(namespace=account.namespace)
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": TOKEN_S},
    }
    path = f"{folder}/{account.service}/token"
    answer: Json = orjson.loads(checked(await _post(transport, path, body), path).body)
    write_private(account.token, str(answer["status"]["token"]))


async def _renew_again(
    transport: HttpTransport, accounts: list[Account], say: Callable[[str], None]
) -> None:
    pause_s = RENEW_S
    while True:
        await asyncio.sleep(pause_s)
        pause_s = RENEW_S
        for account in accounts:
            try:
                await renew_token(transport, account)
            except (Failure, Transient) as problem:
                say(f"the token of {account.service} was not renewed, and will be: {problem}")
                pause_s = RENEW_RETRY_S


async def _until_recognized(account: Account) -> None:
    """Return when the authorizer knows the roles, a moment after they were written."""
    reviews = [
        _first_right(each) for each in account.documents if each["kind"] in ("ClusterRole", "Role")
    ]
    async with aclosing_transport(account.kubeconfig) as transport:
        for review in reviews:
            await until(
                lambda review=review: _denied(transport, review),  # type: ignore[misc]
                f"the rights of {account.service}",
                RECOGNIZED_TIMEOUT_S,
            )


def _first_right(role: Json) -> Json:
    """One right of a role, as the attributes of an access review."""
    rule = role["rules"][0]
    resource, _, subresource = rule["resources"][0].partition("/")
    return {
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
        "verb": rule["verbs"][0],
        "name": next(iter(rule.get("resourceNames", ())), ""),
        "namespace": role["metadata"].get("namespace", ""),
    }


async def _denied(transport: HttpTransport, attributes: Json) -> str:
    """What the authorizer says against a request of the transport's user."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    response = await _post(transport, _REVIEWS, body)
    if response.status >= 400:
        return f"{response.status} {response.body.decode(errors='replace')[:300]}"
    return HEALTHY if orjson.loads(response.body)["status"]["allowed"] else "not allowed yet"


async def _post(transport: HttpTransport, path: str, body: Json) -> Response:
    headers = {"content-type": "application/json"}
    return await transport.request("POST", path, body=orjson.dumps(body), headers=headers)
