"""Installations with Kafka elsewhere, on the real node: `millrace install`, and Helm's hooks."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
import yaml

from loadtest.api import Api
from tests.e2e.examples import OUTSIDE
from tests.e2e.following import ordeal
from tests.e2e.watching import Cluster, Obj, System
from tests.node.grounds import Ground
from tests.node.installing import CHART, RELEASE, REPOSITORY, TAGS, make_namespace
from tests.node.profiles import (
    AUTHORITY,
    common_values,
    make_secrets,
    make_volume,
    secured_kafka,
)
from tests.node.serving import served_bundles
from tests.node.steps import Steps
from tests.patience import patient
from tests.places import ROOT
from tests.real.secured import Secured
from tools.helm import helm_of
from tools.real.progress import Progress

pytestmark = [pytest.mark.node, pytest.mark.timeout(patient(600))]
MILLRACE = (sys.executable, "-m", "cli")
IMAGE = f"--image={REPOSITORY}:{TAGS[0]}"
WAIT_S = patient(120)
WIDTHS = (3, 5)
SECURED = {"caSecret": AUTHORITY}


async def test_the_profile_cluster_runs_a_job(up: Ground, steps: Steps, tmp_path: Path) -> None:
    async with _prepared(up, "of-cluster", tmp_path) as (api, values):
        words = (f"--brokers={up.pair.bootstrap_servers}", f"--values={values}")
        async with _installed(up, "of-cluster", "cluster", words, steps):
            await _job_runs(api, "clustered", steps)


async def test_the_profile_secured_runs_a_job_with_the_rights_that_the_gate_grants(
    up: Ground, steps: Steps, tmp_path: Path, secured: Secured
) -> None:
    """TLS, a login for each service, and ACLs, without which the broker refuses everything."""
    more = {"kafka": SECURED}
    async with _prepared(up, "of-secured", tmp_path, more, secured) as (api, values):
        words = ("--profile=secured", f"--brokers={secured.servers}", f"--values={values}")
        async with _installed(up, "of-secured", "secured", words, steps):
            await _job_runs(api, "secured", steps)


async def test_helms_hook_makes_topics_and_rights_before_the_services_start(
    up: Ground, steps: Steps, tmp_path: Path, secured: Secured
) -> None:
    kafka = {
        **SECURED,
        "bootstrapServers": secured.servers,
        "protocol": "SASL_SSL",
        "topics": {"acls": True},
    }
    more = {"kafka": kafka}
    async with _prepared(up, "of-helm", tmp_path, more, secured) as (api, values):
        with Progress() as progress:
            helm = str(await helm_of(progress))
        where = ("--namespace=of-helm", f"--kubeconfig={up.pair.kubeconfig}")
        with steps.step("helm install with a hook"):
            options = (
                "--take-ownership",
                "--wait",
                f"--timeout={WAIT_S:.0f}s",
                f"--values={values}",
            )
            await _run(helm, "install", RELEASE, str(CHART), *where, *options)
        jobs = await api.call("GET", "/apis/batch/v1/namespaces/of-helm/jobs")
        assert jobs["items"] == [], "a hook that succeeded is deleted"
        await _job_runs(api, "hooked", steps)
        with steps.step("helm uninstall"):
            await _run(helm, "uninstall", RELEASE, *where, "--wait")


@pytest.fixture(scope="module")
def secured(up: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The broker of the tests here."""
    with secured_kafka(up, tmp_path_factory.mktemp("secured")) as broker:
        yield broker


@asynccontextmanager
async def _prepared(
    up: Ground,
    namespace: str,
    folder: Path,
    more: Obj | None = None,
    secured: Secured | None = None,
) -> AsyncIterator[tuple[Api, Path]]:
    """What has to be there before; yields a client and a file with values."""
    async with served_bundles(up.node.host_ip) as port, Api.of(up.pair.kubeconfig) as api:
        await make_namespace(api, namespace)
        await make_volume(api, namespace, folder / "volume")
        if secured is not None:
            await make_secrets(api, namespace, secured)
        values = dict(common_values(up, namespace, port))
        for section, added in (more or {}).items():
            values[section] = {**values.get(section, {}), **added}
        file = folder / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        yield api, file


@asynccontextmanager
async def _installed(
    up: Ground, namespace: str, profile: str, words: tuple[str, ...], steps: Steps
) -> AsyncIterator[None]:
    """Install before the block, and uninstall after it."""
    with steps.step(f"millrace install --profile {profile}"):
        await _millrace(up, "install", namespace, IMAGE, *words)
    yield
    with steps.step("millrace uninstall"):
        await _millrace(up, "uninstall", namespace)


async def _job_runs(api: Api, name: str, steps: Steps) -> None:
    """Submitted, resized, deleted."""
    first, second = WIDTHS
    with steps.step("a job is submitted, resized and deleted"):
        # These tests ask nothing of `millrace up`.
        async with ordeal(Cluster(api, cast(System, None)), name, first) as job:
            await job.resize(second)
            await job.converge("a resize", second, second + OUTSIDE, WAIT_S)


async def _millrace(up: Ground, verb: str, namespace: str, *words: str) -> None:
    where = (f"--namespace={namespace}", f"--kubeconfig={up.pair.kubeconfig}")
    await _run(*MILLRACE, verb, *where, f"--timeout={WAIT_S:.0f}", *words)


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
