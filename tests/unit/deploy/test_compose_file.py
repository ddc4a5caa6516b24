"""The rules of docker-compose.yml, which hold for each container; no Docker is needed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.layouts import RUNTIME_IMAGES
from contracts.runtime_image import BOOTSTRAP
from deploy.image.building import TARGETS
from sandbox.__main__ import _parser
from services.roster import NAMES
from tests.places import ROOT

Json = dict[str, Any]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
HOST_NETWORK = yaml.safe_load(
    (ROOT / "docker-compose.host-network.yml").read_text(encoding="utf-8")
)
OURS = set(NAMES)
ONCE = {"kafka-format", "topics"}
"""They do one thing and end."""
NO_SETTINGS = {"MILLRACE_BOOTSTRAP_SERVERS"}
"""Variables of the command `millrace`, which docs/settings.md does not list."""


def containers() -> list[Any]:
    """Every container, by name."""
    return [pytest.param(each, id=name) for name, each in sorted(COMPOSE["services"].items())]


@pytest.mark.parametrize("container", containers())
def test_a_container_has_no_rights_that_it_does_not_need(container: Json) -> None:
    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert "/tmp" in container["tmpfs"]
    refused = {"privileged", "cap_add", "devices", "pid", "ipc", "userns_mode", "user"}
    assert container.keys() & refused == set()
    assert "docker.sock" not in str(container)


@pytest.mark.parametrize("container", containers())
def test_a_container_has_limits_of_memory_and_cpu(container: Json) -> None:
    limits = container["deploy"]["resources"]["limits"]
    assert re.fullmatch(r"\d+[MG]", limits["memory"])
    assert 0 < float(limits["cpus"]) <= 2


@pytest.mark.parametrize("name", ["topics", "millrace"])
def test_the_command_has_the_settings_of_the_services(name: str) -> None:
    """Another prefix or number of partitions in `millrace.env` has to count for the topics, too."""
    of_services = {str(COMPOSE["services"][service]["env_file"]) for service in OURS}
    assert of_services == {str(COMPOSE["services"][name].get("env_file"))}


def test_what_stays_up_is_started_again_and_says_whether_it_makes_progress() -> None:
    stays = {n: c for n, c in COMPOSE["services"].items() if n not in ONCE | {"millrace"}}
    assert stays.keys() == OURS | {"kafka", "sandbox"}
    for container in stays.values():
        assert container["restart"] == "unless-stopped"
        check = container["healthcheck"]
        assert check["test"][0] == "CMD"  # CMD-SHELL needs a shell
        assert check["retries"] >= 3
    checks = {name: stays[name]["healthcheck"]["test"][3] for name in OURS}
    assert set(checks.values()) == {"services.chassis.running.health_checks"}


def test_services_start_when_topics_exist_and_the_sandbox_if_there_is_one_is_healthy() -> None:
    for name in OURS:
        assert COMPOSE["services"][name]["depends_on"] == {
            "topics": {"condition": "service_completed_successfully"},
            "sandbox": {"condition": "service_healthy", "required": False},
        }
    assert COMPOSE["services"]["topics"]["depends_on"] == {
        "kafka": {"condition": "service_started"}
    }


def test_only_what_a_profile_names_is_optional() -> None:
    profiles = {n: c["profiles"] for n, c in COMPOSE["services"].items() if "profiles" in c}
    assert profiles == {"sandbox": ["sandbox"], "millrace": ["command"]}


def test_ports_are_published_on_loopback_only() -> None:
    for file in (COMPOSE, HOST_NETWORK):
        ports = [port for each in file["services"].values() for port in each.get("ports", ())]
        assert ports
        assert all(port.startswith("127.0.0.1:") for port in ports)


def test_variables_are_settings_that_the_services_know() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| `(MILLRACE_\w+)`", page, re.MULTILINE)) | NO_SETTINGS
    for file in (COMPOSE, HOST_NETWORK):
        for name, container in file["services"].items():
            used = {each for each in container.get("environment", {}) if each != "KUBECONFIG"}
            assert used <= known, name


def test_images_are_those_of_make_image_but_for_that_of_pods() -> None:
    """Pods of PEs are processes in the container of the sandbox."""
    ours = {c["image"] for n, c in COMPOSE["services"].items() if not n.startswith("kafka")}
    defaults = {re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", image) for image in ours}
    names = TARGETS.keys() - {"runtime"}
    assert defaults == {f"localhost/{TARGETS[name]}:dev" for name in names}


def test_the_broker_is_that_of_the_real_pair() -> None:
    pom = (ROOT / "tools" / "real" / "pinned" / "pom.xml").read_text(encoding="utf-8")
    (version,) = re.findall(r"apache/kafka:([\d.]+)", COMPOSE["services"]["kafka"]["image"])
    assert f"<version>{version}</version>" in pom


def test_files_that_are_mounted_exist() -> None:
    mounts = [
        each.partition(":")[0]
        for container in COMPOSE["services"].values()
        for each in container.get("volumes", ())
        if isinstance(each, str)
    ]
    files = {Path(each) for each in mounts if each.startswith("./")}
    assert files
    assert all((ROOT / file).is_file() for file in files)


def test_a_kubeconfig_that_does_not_exist_is_refused_and_not_made_a_folder() -> None:
    for name in OURS | {"millrace"}:
        volumes = COMPOSE["services"][name]["volumes"]
        (given,) = [each for each in volumes if isinstance(each, dict)]
        assert given["target"] == "/run/millrace-given/kubeconfig"
        assert given["bind"] == {"create_host_path": False}


def test_with_the_network_of_the_host_each_service_has_a_port_of_its_own_on_loopback() -> None:
    services = {n: c for n, c in HOST_NETWORK["services"].items() if n in OURS}
    assert services.keys() == OURS
    ports = [each["environment"]["MILLRACE_METRICS_PORT"] for each in services.values()]
    assert len(set(ports)) == len(OURS)
    for each in services.values():
        assert each["network_mode"] == "host"
        assert each["environment"]["MILLRACE_METRICS_HOST"] == "127.0.0.1"


def test_the_sandbox_runs_pods_of_our_runtime_and_the_probe_of_a_pe() -> None:
    words = [
        each.replace("${MILLRACE_NODES:-4}", "4")
        for each in COMPOSE["services"]["sandbox"]["command"]
    ]
    options = _parser().parse_args(words[1:])
    assert options.run_image == [RUNTIME_IMAGES]
    programs = dict(options.run_program)
    assert programs[BOOTSTRAP] == ("/opt/millrace/bin/python", "-m", "millrace.runtime")
    assert dict(options.run_env) == {"MILLRACE_GATEWAY_URL": "http://pe-gateway:10000"}


def test_cat_of_the_sandbox_prints_a_file_or_fails(tmp_path: Path) -> None:
    words = [each for each in COMPOSE["services"]["sandbox"]["command"] if "=cat=" in each]
    python, *rest = shlex.split(words[0].removeprefix("--run-program=cat="))
    assert python == "/opt/millrace/bin/python"
    (tmp_path / "live").write_text("yes")
    command = [sys.executable, *rest]
    found = subprocess.run(
        [*command, tmp_path / "live"], capture_output=True, text=True, check=True
    )
    assert found.stdout == "yes\n"
    missing = subprocess.run([*command, tmp_path / "none"], capture_output=True, check=False)
    assert missing.returncode == 1
