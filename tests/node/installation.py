"""The chart, installed on the real node."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from loadtest.api import Api
from services.roster import NAMES
from tests.e2e.watching import Cluster, System
from tests.node.grounds import Ground
from tests.node.installing import NAMESPACE, REPOSITORY, TAGS, Installer, make_namespace
from tests.node.pods import ServicePods
from tests.node.profiles import make_volume
from tests.node.serving import NOTHING, served_bundles
from tests.node.steps import Steps
from tools.helm import helm_of
from tools.real.node_running import tag_image
from tools.real.progress import Progress


@dataclass(frozen=True, slots=True)
class Installation:
    """The services in their pods, and what tests ask of them."""

    installer: Installer
    api: Api
    cluster: Cluster
    services: tuple[ServicePods, ...]


@asynccontextmanager
async def installed(
    up: Ground, steps: Steps, bundles: Mapping[str, bytes] = NOTHING, store: Path | None = None
) -> AsyncIterator[Installation]:
    """Install the chart with Kafka in a pod; `bundles` are in its bundle root, by name.

    `store`: a folder of the bundle store, which pe-gateway reads, too; it is made.
    """
    steps.took("before: a pair with a real node, and its images", up.took_s)
    with Progress() as progress:
        helm = await helm_of(progress)
    async with served_bundles(up.node.host_ip, bundles) as port, Api.of(up.pair.kubeconfig) as api:
        first, second = TAGS
        await tag_image(up.folder, f"{REPOSITORY}:{first}", f"{REPOSITORY}:{second}")
        await make_namespace(api, NAMESPACE)
        if store is not None:
            await make_volume(api, NAMESPACE, store, mode="ReadWriteMany")
        installer = Installer(helm, up, port, shares_store=store is not None)
        with steps.step("helm install, until every service is ready"):
            await installer.install(first)
        services = tuple(ServicePods(api, service) for service in sorted(NAMES))
        # These tests ask nothing of `millrace up`.
        yield Installation(installer, api, Cluster(api, cast(System, None)), services)
