"""How the command finds the cluster, and the bundle root of a running `millrace up`.

The kubeconfig is `--kubeconfig`, else those of $KUBECONFIG, else ~/.kube/config. `millrace up`
writes the bundle root into its context (`kubeconfigs.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import responses
from pathlib import Path

from cli.failing import CannotReach, Misused
from cli.kubeconfigs import (
    NAMESPACE,
    UpInfo,
    find_kubeconfig,
    namespace_of,
    read_as_kubeconfig,
    up_of,
)
from contracts.resources import CUSTOM_RESOURCES, JOB
from services.chassis.kube.http import HttpTransport, load_configuration
from services.chassis.kube.kubeconfig_files import Kubeconfig
from services.chassis.kube.port import KubeClient, Resource, Response, Transport
from services.chassis.kube.resources import resource_of
from services.chassis.process.errors import Misconfigured, NotAllowed, NotFound, Rejected, Transient

USER_AGENT = "millrace-cli"

JOBS = resource_of(JOB.kind)
PES = resource_of("ProcessingElement")
REGIONS = resource_of("ParallelRegion")
PODS = resource_of("Pod")
CONFIG_MAPS = resource_of("ConfigMap")
POOLS = resource_of("HostPool")
PLACEMENTS = resource_of("Placement")
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
UNWATCHED = tuple(
    resource
    for kind in ("Service", "ConfigMap", *(row.kind for row in CUSTOM_RESOURCES if row.created_by))
    if (resource := resource_of(kind)) not in (JOBS, PES, REGIONS)
)
"""The other kinds of children, which no command watches."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connection; `up` is None unless the current context is of a `millrace up`.

    `namespace` is the one of the command: of its option, else of the current context.
    """

    kube: KubeClient
    kubeconfig: Kubeconfig | Path
    up: UpInfo | None
    namespace: str = NAMESPACE


class StrictTransport:
    """A transport whose creates fail if the server would drop a field with a warning.

    The command shows no warnings, so a dropped field would only be noticed when the job runs.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request; raises Transient when the outcome is unknown or the server is away."""
        if method == "POST":
            path += f"{'&' if '?' in path else '?'}fieldValidation=Strict"
        return await self._transport.request(method, path, body=body, headers=headers)

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A watch; passed through to the transport."""
        return self._transport.stream(path, headers=headers, silence_s=silence_s)


@asynccontextmanager
async def connected(given: Path | None, namespace: str = "") -> AsyncIterator[Cluster]:
    """A connection to the cluster of the kubeconfig. Raises Misused, CannotReach.

    `namespace`: the one that an option names; else it is that of the context.
    """
    kubeconfig = find_kubeconfig(given)
    up, namespace = up_of(kubeconfig), namespace or namespace_of(kubeconfig)
    async with aclosing_transport(kubeconfig) as transport:
        kube = KubeClient(StrictTransport(transport), USER_AGENT)
        if problem := await _problem_of(kube, kubeconfig, namespace):
            why = "Is it running?"
            if up is not None and up.has_ended():
                why = "The `millrace up` of its current context has ended: start it again."
            what = f"the Kubernetes API of {kubeconfig} does not answer"
            raise CannotReach(f"{what}: {problem}. {why}")
        yield Cluster(kube, kubeconfig, up, namespace)


@asynccontextmanager
async def aclosing_transport(
    kubeconfig: Kubeconfig | Path, *, is_attended: bool = True
) -> AsyncIterator[HttpTransport]:
    """A transport that is closed at the end; raises Misused if the file is not a kubeconfig.

    `is_attended`: an exec plugin may ask the person at the terminal.
    """
    config = find_kubeconfig(kubeconfig)
    with read_as_kubeconfig():
        configuration = await load_configuration(config, is_attended=is_attended)
        try:
            transport = HttpTransport(configuration)
        except Misconfigured as problem:
            raise Misused(f"the kubeconfig {config} cannot be used: {problem}") from None
    try:
        yield transport
    finally:
        await transport.close()


async def _problem_of(kube: KubeClient, kubeconfig: Kubeconfig, namespace: str) -> str:
    """Why the API server does not answer; empty if it does. Raises CannotReach if it refuses us.

    Without the right to list Jobs it answers, too: the request of the command says what is lacking.
    """
    try:
        async for _ in kube.list_pages(JOBS, namespace, limit=1):
            return ""
    except Transient as away:
        return str(away).partition(": ")[2] or str(away)
    except NotAllowed as refused:
        if refused.code == HTTPStatus.UNAUTHORIZED:
            whose = f"context {kubeconfig.current} of {kubeconfig}"
            raise CannotReach(
                "the Kubernetes API does not accept the credentials of "
                f"{whose if kubeconfig.files else kubeconfig}: {refused.message}. Log in again, or "
                "use another context."
            ) from None
    except NotFound as refused:
        raise CannotReach(
            f"the cluster does not know Jobs of millrace: {refused.message}"
        ) from None
    except Rejected as refused:  # of a proxy, or of what is no API server
        what = refused.message.strip() or responses.get(refused.code, "it does not say why")
        return f"status {refused.code}: {what}"
    return ""
