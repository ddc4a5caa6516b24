"""How the command finds the cluster, and the bundle root of a running `millrace up`.

The kubeconfig is `--kubeconfig`, else that of $KUBECONFIG, else ~/.kube/config. `millrace up`
writes the bundle root into its context (`kubeconfigs.py`).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from cli.failing import CannotReach, Misused
from cli.kubeconfigs import UpInfo, default_kubeconfig, read_as_kubeconfig, up_of
from contracts.resources import CUSTOM_RESOURCES
from services.chassis.kube.http import HttpTransport, load_configuration
from services.chassis.kube.port import KubeClient, Resource, Response, Transport
from services.chassis.kube.resources import resource_of
from services.chassis.process.errors import Rejected, Transient

USER_AGENT = "millrace-cli"
_SERVERS = re.compile(r"[^\s,/:]+:\d{1,5}(,[^\s,/:]+:\d{1,5})*")
PORT_MAX = 65535

JOBS = resource_of("Job")
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


def are_brokers(text: str) -> bool:
    """Whether a text is HOST:PORT[,HOST:PORT] with ports from 1 to 65535."""
    if not _SERVERS.fullmatch(text):
        return False
    return all(0 < int(each.rpartition(":")[2]) <= PORT_MAX for each in text.split(","))


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connection; `up` is None unless the current context is of a `millrace up`."""

    kube: KubeClient
    kubeconfig: Path
    up: UpInfo | None


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


def find_kubeconfig(given: Path | None) -> Path:
    """The kubeconfig to use; raises Misused if it does not exist."""
    path = given or default_kubeconfig()
    if not path.is_file():
        raise Misused(
            f"there is no kubeconfig at {path}. Say --kubeconfig FILE, or set KUBECONFIG. "
            "(`millrace up` writes one for its own cluster.)"
        )
    return path


@asynccontextmanager
async def connected(given: Path | None) -> AsyncIterator[Cluster]:
    """A connection to the cluster of the kubeconfig. Raises Misused, CannotReach."""
    kubeconfig = find_kubeconfig(given)
    up = up_of(kubeconfig)
    async with aclosing_transport(kubeconfig) as transport:
        kube = KubeClient(StrictTransport(transport), USER_AGENT)
        if not await _answers(kube):
            why = "Is it running?"
            if up is not None and up.has_ended():
                why = "The `millrace up` of its current context has ended: start it again."
            raise CannotReach(f"the Kubernetes API of {kubeconfig} does not answer. {why}")
        yield Cluster(kube, kubeconfig, up)


@asynccontextmanager
async def aclosing_transport(kubeconfig: Path) -> AsyncIterator[HttpTransport]:
    """A transport that is closed at the end; raises Misused if the file is not a kubeconfig."""
    with read_as_kubeconfig(kubeconfig):
        _check_context(kubeconfig)
        configuration = await load_configuration(str(kubeconfig))
    transport = HttpTransport(configuration)
    try:
        yield transport
    finally:
        await transport.close()


def _check_context(kubeconfig: Path) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    current = config["current-context"]
    if current not in [context["name"] for context in config["contexts"]]:
        raise ValueError(f"current-context {current!r} is not among its contexts")


async def _answers(kube: KubeClient) -> bool:
    try:
        async for _ in kube.list_pages(JOBS, "default", limit=1):
            return True
    except Transient:
        return False
    except Rejected as refused:
        raise CannotReach(
            f"the cluster does not know Jobs of millrace: {refused.message}"
        ) from None
    return True
