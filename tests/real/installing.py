"""An installation on the pair: kwok plays its pods, so that they are ready without images."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from cli.connecting import aclosing_transport
from cli.installing.cluster import Target
from cli.installing.filling import Wanted, wanted_of
from cli.installing.sequence import Waiting, install, uninstall
from cli.private import private_folder, write_private
from cli.resources import CRDS
from services.chassis.kube.http import HttpTransport
from services.chassis.kube.port import Response
from tests.patience import patient
from tools.real.accounts import Account, kubeconfig_of, renew_token

Json = dict[str, Any]

NAMESPACE = "millrace-installed"
TIMEOUT_S = patient(60.0)
DONE = {"sandbox.millrace.dev/behavior": "complete"}
"""For kwok: the pod of the Job that makes topics ends well."""


class Words:
    """What an installation reported."""

    def __init__(self) -> None:
        self.all: list[str] = []

    @property
    def waiting(self) -> Waiting:
        return Waiting(TIMEOUT_S, self.all.append)


def a_trial(**values: Any) -> Wanted:
    """A trial in the namespace of the tests."""
    return wanted_of(
        "trial",
        NAMESPACE,
        image="localhost/millrace:dev",
        brokers="",
        values={"kafka.topics.podAnnotations": DONE} | values,
    )


async def taken_back(transport: HttpTransport) -> None:
    """Uninstall, and give the definitions back the annotations that other tests compare."""
    await uninstall(Target(transport), NAMESPACE, Words().waiting)
    as_before = orjson.dumps({"metadata": {"annotations": {"helm.sh/resource-policy": None}}})
    headers = {"content-type": "application/merge-patch+json"}
    for file in sorted(CRDS.glob("*.yaml")):
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{file.stem}"
        await transport.request("PATCH", path, body=as_before, headers=headers)


@asynccontextmanager
async def installed_trial(transport: HttpTransport, **values: Any) -> AsyncIterator[Target]:
    """The cluster while a trial is installed in it."""
    target, words = Target(transport), Words()
    try:
        await install(target, a_trial(**values), words.waiting)
        yield target
    finally:
        await taken_back(transport)


@asynccontextmanager
async def transport_of(
    admin: HttpTransport,
    kubeconfig: Path,
    folder: Path,
    account: str,
    *,
    namespace: str = NAMESPACE,
    token: str = "",
) -> AsyncIterator[HttpTransport]:
    """A transport with a token of an account of the installation: this one, or a new one."""
    metadata = {"name": account, "namespace": namespace}
    known = Account(account, ({"kind": "ServiceAccount", "metadata": metadata},), folder)
    private_folder(folder)
    if token:
        write_private(known.token, token)
    else:
        await renew_token(admin, known)
    write_private(known.kubeconfig, kubeconfig_of(kubeconfig, known))
    async with aclosing_transport(known.kubeconfig) as transport:
        yield transport


async def ask(
    transport: HttpTransport,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    content_type: str = "application/json",
) -> Response:
    """One request, with whatever it is answered."""
    raw = None if body is None else orjson.dumps(body)
    return await transport.request(method, path, body=raw, headers={"content-type": content_type})
