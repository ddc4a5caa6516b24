"""A pair with a real node on which the chart is installed, inside of a block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from cli.real.helm import helm_of
from cli.real.node_running import tag_image
from cli.real.progress import Progress
from contracts.topics import SERVICES
from loadtest.api import Api
from tests.e2e.watching import Cluster, System
from tests.node.grounds import KAFKA_IMAGE_SETTING, SERVICES_IMAGE_SETTING, ground, image_of
from tests.node.installing import REPOSITORY, TAGS, Installer, make_namespace
from tests.node.pods import ServicePods
from tests.node.serving import served_bundles
from tests.node.steps import Steps


@dataclass(frozen=True, slots=True)
class Installation:
    """The services in their pods, and what tests ask of them."""

    installer: Installer
    api: Api
    cluster: Cluster
    services: tuple[ServicePods, ...]


@asynccontextmanager
async def installed(folder: Path, steps: Steps) -> AsyncIterator[Installation]:
    """Bring the pair up and install the chart; the pair is down at the end, come what may."""
    with Progress() as progress:
        helm = await helm_of(progress)
    images = [image_of(setting) for setting in (SERVICES_IMAGE_SETTING, KAFKA_IMAGE_SETTING)]
    async with (
        ground(folder / "pair", *images) as up,
        served_bundles(up.node.host_ip) as port,
        Api.of(up.pair.kubeconfig) as api,
    ):
        steps.passed("a pair with a real node, and its images")
        first, second = TAGS
        await tag_image(up.folder, f"{REPOSITORY}:{first}", f"{REPOSITORY}:{second}")
        await make_namespace(api)
        installer = Installer(helm, up, port)
        with steps.step("helm install, until every service is ready"):
            await installer.install(first)
        services = tuple(ServicePods(api, service) for service in sorted(SERVICES))
        # These tests ask nothing of `millrace up`.
        yield Installation(installer, api, Cluster(api, cast(System, None)), services)
