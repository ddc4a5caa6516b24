"""The whole system with Docker Compose, as docs/compose.md describes it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest

from cli.ports import free_ports
from services.roster import NAMES
from tests.compose.conftest import TAG, Images
from tests.compose.engine import Engine
from tests.patience import patient

pytestmark = [pytest.mark.compose, pytest.mark.timeout(patient(1800))]  # parts may have to be built
OURS = set(NAMES)
HEALTHY, UNHEALTHY = "healthy", "unhealthy"
WAIT_S_MAX = patient(90)
POLL_S = 0.5
BUNDLE = "/var/lib/millrace/bundles/wordcount.WordCount.sab"
HOST_NETWORK = ("-f", "docker-compose.yml", "-f", "docker-compose.host-network.yml")


@dataclass(frozen=True, slots=True)
class Project:
    """One project of Docker Compose: `docker compose` with its variables, in the clone."""

    engine: Engine
    images: Images
    name: str
    port: int
    files: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def compose(self, *words: str, check: bool = True) -> str:
        """What `docker compose …` prints to stdout."""
        settings = {
            "COMPOSE_PROJECT_NAME": self.name,
            "KAFKA_IMAGE": self.images.kafka,
            "MILLRACE_TAG": TAG,
            "MILLRACE_API_PORT": str(self.port),
            **self.variables,
        }
        command = ("docker", "compose", *self.files, *words)
        return self.engine.run(*command, cwd=self.images.tree, check=check, **settings)

    def millrace(self, *words: str) -> str:
        """What the command prints in a container of its own."""
        return self.compose("run", "--rm", "-T", "millrace", *words)

    def make_bundle(self) -> None:
        """Pack the example without anything that is installed here."""
        self.millrace("bundle", "example", "--output", BUNDLE)

    def submit(self, name: str) -> None:
        """Submit the example as a job."""
        self.millrace("submit", BUNDLE, "--name", name, "--fusion", "legacy")

    def health(self) -> dict[str, str]:
        """The health of each container that runs."""
        lines = self.compose("ps", "--format", "json").splitlines()
        found = [json.loads(line) for line in lines]
        return {each["Service"]: each["Health"] for each in found}

    def wait_for(self, health: str, services: set[str]) -> None:
        """Return when all of the services have this health."""
        end = time.monotonic() + WAIT_S_MAX
        while any(self.health().get(each) != health for each in services):
            assert time.monotonic() < end, f"not {health}: {self.health()}"
            time.sleep(POLL_S)

    def check_of(self, service: str) -> str:
        """What the newest health check of a service printed."""
        container = self.compose("ps", "--quiet", service).strip()
        form = "{{json .State.Health}}"
        health = json.loads(self.engine.run("docker", "inspect", "--format", form, container))
        return str(health["Log"][-1]["Output"]).strip()


@pytest.fixture(scope="module")
def port() -> int:
    """The port of this machine on which the sandbox is published."""
    (found,) = free_ports(1, SystemRandom())
    return found


@pytest.fixture(scope="module")
def started(engine: Engine, images: Images, port: int) -> Iterator[Project]:
    """The whole system, once healthy, with a bundle; at the end nothing of it is left."""
    project = Project(engine, images, "millrace-tested", port)
    try:
        project.compose(
            "--profile", "sandbox", "up", "--wait", "--wait-timeout", f"{WAIT_S_MAX:.0f}"
        )
        project.make_bundle()
        yield project
    except AssertionError as failed:
        logs = project.compose("--profile", "sandbox", "logs", "--tail", "20", check=False)
        raise AssertionError(f"{failed}\n{logs}") from None
    finally:
        project.compose("--profile", "sandbox", "down", "--volumes", "--timeout", "5")
    left = {"label=com.docker.compose.project=millrace-tested"}
    for kind in ("container", "volume", "network"):
        (label,) = left
        assert engine.run("docker", kind, "ls", "--quiet", "--filter", label) == ""


@pytest.fixture
def system(started: Project) -> Project:
    """The whole system, healthy, whatever the test before has stopped."""
    if OURS - started.health().keys():
        started.compose("start", *OURS)
        started.wait_for(HEALTHY, OURS)
    return started


@pytest.fixture(scope="module")
def kubeconfig(started: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kubeconfig for clients of this machine."""
    file = tmp_path_factory.mktemp("host") / "kubeconfig"
    started.compose("cp", "sandbox:/run/millrace/host.kubeconfig", str(file))
    return file


def job_from_here(system: Project, name: str, kubeconfig: Path) -> Any:
    """A job as `millrace get` of this machine shows it, over the published port."""
    command = (sys.executable, "-m", "cli", "get", name, "--kubeconfig", str(kubeconfig))
    return json.loads(system.engine.run(*command, "-o", "json", cwd=system.images.tree))


def test_every_container_that_stays_up_is_healthy(system: Project) -> None:
    assert system.health() == dict.fromkeys(OURS | {"kafka", "sandbox"}, HEALTHY)


def test_a_job_is_submitted_runs_is_resized_and_goes(system: Project, kubeconfig: Path) -> None:
    system.submit("wordcount")
    job = job_from_here(system, "wordcount", kubeconfig)
    assert job["phase"] == "Submitted"
    assert [each["phase"] for each in job["processingElements"]] == ["Running"] * 7
    resized = system.millrace("scale", "wordcount", "Counted=5")
    assert "added        2" in resized
    assert system.millrace("delete", "wordcount") == "job wordcount is gone\n"


def test_containers_have_the_limits_and_no_rights(system: Project) -> None:
    containers = system.compose("ps", "--quiet").split()
    for each in json.loads(system.engine.run("docker", "inspect", *containers)):
        host: Any = each["HostConfig"]
        assert host["ReadonlyRootfs"] is True
        assert host["CapDrop"] == ["ALL"]
        assert host["SecurityOpt"] == ["no-new-privileges:true"]
        assert host["Memory"] > 0
        assert host["NanoCpus"] > 0


def test_a_broker_that_is_stopped_shows_in_the_health_and_nothing_restarts(
    system: Project, kubeconfig: Path
) -> None:
    system.submit("patient")
    before = job_from_here(system, "patient", kubeconfig)
    system.compose("stop", "kafka")
    system.wait_for(UNHEALTHY, OURS)
    assert "it is not ready (503)" in system.check_of("pod-state-machine")
    system.compose("start", "kafka")
    system.wait_for(HEALTHY, OURS | {"kafka"})
    assert launches(job_from_here(system, "patient", kubeconfig)) == launches(before)
    system.millrace("delete", "patient")


def launches(job: Any) -> dict[str, int]:
    """The number of launches of each PE."""
    return {each["name"]: each["launches"] for each in job["processingElements"]}


def test_services_reach_a_cluster_at_127_0_0_1_by_the_network_of_the_host(
    engine: Engine, images: Images, system: Project, kubeconfig: Path
) -> None:
    """The sandbox of the one project is the cluster of the services of the other."""
    system.compose("stop", *OURS)
    kubeconfig.chmod(0o644)  # the user of the containers is another one
    kubeconfig.parent.chmod(0o755)
    variables = {"MILLRACE_KUBECONFIG": str(kubeconfig)}
    other = Project(engine, images, "millrace-other", system.port, HOST_NETWORK, variables)
    try:
        other.compose("up", "--wait", "--wait-timeout", f"{WAIT_S_MAX:.0f}")
        other.make_bundle()
        other.submit("elsewhere")
        other.millrace("delete", "elsewhere")
    finally:
        other.compose("down", "--volumes", "--timeout", "5")
