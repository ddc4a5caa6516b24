"""The chart as Helm renders it: lint, schema, a set of values, and `install` beside it."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.failing import Failure
from cli.installing.filling import manifest_of, values_of_files, wanted_of
from cli.installing.objects import ref_of
from cli.resources import CHART
from tests.places import ROOT
from tests.real.chart_renders import OPTIONS, RENDER, rendered_of
from tools.helm import helm_of
from tools.real.progress import Progress
from tools.rendering import documents_of, text_of

COVERS = (
    "deploy/chart/*",
    "deploy/chart*",
    "deploy/install.yaml",
    "deploy/settings.py",
    "cli/installing/*",
    "tests/real/chart_render*",
    "tools/rendering.py",
)

pytestmark = [pytest.mark.real]
Json = dict[str, Any]
BROKERS = {"kafka": {"bootstrapServers": "kafka:9092"}}


@pytest.fixture(scope="module")
def helm() -> Path:
    """Built once, into the cache."""

    async def built() -> Path:
        with Progress() as progress:
            return await helm_of(progress)

    return asyncio.run(built())


def test_helm_finds_nothing_to_complain_about(helm: Path) -> None:
    command = [str(helm), "lint", "--strict", str(CHART), "--set", "kafka.bootstrapServers=k:9092"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_chart_is_of_the_package_s_version() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in project
    assert chart["version"] == chart["appVersion"]


def test_the_chart_renders_what_was_reviewed(helm: Path) -> None:
    """`python -m tests.real.chart_renders` writes the file again."""
    assert text_of(rendered_of(helm, OPTIONS), sort_keys=True) == RENDER.read_text()


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"replica": 1}, "replica"),
        ({"kafka": {"brokers": "kafka:9092"}}, "brokers"),
        ({"kafka": {"bootstrapServers": "kafka"}}, "/kafka/bootstrapServers"),
        (
            {"services": {"fusion-backend": {"replicas": "two"}}},
            "/services/fusion-backend/replicas",
        ),
        ({"services": {"node-tainter": {"env": {"MILLRACE_BUS": "memory:"}}}}, "MILLRACE_BUS"),
        ({"podSecurity": "none"}, "/podSecurity"),
        ({}, "set kafka.bootstrapServers to HOST:PORT"),
        (
            BROKERS | {"services": {"fusion-backend": {"replicas": 2}}},
            "bundles.store.accessMode is ReadWriteOnce",
        ),
        (BROKERS | {"peGateway": {"redis": True}}, "accessMode is ReadWriteMany"),
    ],
)
def test_values_that_cannot_be_used_are_refused_with_the_field(
    helm: Path, values: Json, field: str
) -> None:
    with pytest.raises(Failure) as refused:
        rendered_of(helm, values)
    assert field in str(refused.value)


@pytest.mark.parametrize("release", ["2024", "true", "null", "1e3"])
def test_names_that_yaml_takes_for_something_else_stay_names(helm: Path, release: str) -> None:
    """Of the release, its namespace, and the namespaces of Jobs."""
    options = ("--set", "kafka.bootstrapServers=k:1", "--set-json", f'namespaces=["{release}"]')
    documents = documents_of(helm, CHART, release, release, *options)
    namespaced = [each for each in documents if "namespace" in each["metadata"]]
    assert len(namespaced) > 20
    assert {each["metadata"]["namespace"] for each in namespaced} == {release}
    labels = [each["metadata"].get("labels", {}) for each in namespaced]
    assert {each["app.kubernetes.io/instance"] for each in labels} == {release}


def test_a_long_name_is_cut_to_one_that_objects_can_have(helm: Path) -> None:
    release = "a" * 39 + "." + "b" * 13
    documents = documents_of(helm, CHART, release, "n", "--set", "kafka.bootstrapServers=k:1")
    names = {each["metadata"]["name"] for each in documents if each["kind"] == "Deployment"}
    assert f"{'a' * 39}-watch-ingest" in names


@pytest.mark.parametrize("release", ["1st", "my.release"])
def test_a_name_that_no_service_can_have_is_refused(helm: Path, release: str) -> None:
    with pytest.raises(Failure, match="fullnameOverride"):
        documents_of(helm, CHART, release, "n", "--set", "kafka.embedded.enabled=true")


INSTALLED: Json = {
    "services": {
        "hostpool-manager": {
            "replicas": 2,
            "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "2Gi"}},
            "env": {"MILLRACE_SEARCH_S": 2.5},
            "nodeSelector": {"disk": "ssd"},
        },
    },
    "image": {"pullSecrets": [{"name": "registry"}]},
    "logLevel": "DEBUG",
    "metricsPort": 9000,
    "podSecurity": "restricted",
    "podAnnotations": {"team": "streams"},
}


@pytest.mark.parametrize(
    ("profile", "fixed"),
    [
        ("cluster", BROKERS),
        (
            "secured",
            {
                "kafka": {
                    "bootstrapServers": "a:9093,b:9094",
                    "protocol": "SASL_SSL",
                    "topics": {"acls": True},
                    "caSecret": "kafka-ca",
                }
            },
        ),
        (
            "trial",
            {
                "kafka": {"embedded": {"enabled": True, "persistent": False}},
                "bundles": {"store": {"kind": "emptyDir"}},
            },
        ),
    ],
)
def test_millrace_install_applies_what_helm_would(
    helm: Path, tmp_path: Path, profile: str, fixed: Json
) -> None:
    """The manifests are rendered before anybody has values; they must not come out otherwise."""
    values = fixed | INSTALLED
    values["image"] = values["image"] | {"repository": "registry.example/millrace", "tag": "2"}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    chosen = values_of_files(profile, [tmp_path / "values.yaml"])
    brokers = "" if profile == "trial" else fixed["kafka"]["bootstrapServers"]
    wanted = wanted_of(profile, "millrace", image="", brokers=brokers, values=chosen)
    ours = {ref_of(each): each for each in manifest_of(wanted)}
    helms = {ref_of(each): each for each in rendered_of(helm, values)}
    for found in (ours, helms):
        for document in found.values():
            document["metadata"].get("labels", {}).pop("app.kubernetes.io/managed-by", None)
    ours = {ref: each for ref, each in ours.items() if ref.kind != "CustomResourceDefinition"}
    assert {ref for ref in ours if ref.kind != "Job"} == {ref for ref in helms if ref.kind != "Job"}
    assert len(ours) == len(helms)
    for ref, document in ours.items():
        if ref.kind != "Job":  # with Kafka in a pod its name is a digest
            assert document == helms[ref], ref


@pytest.mark.parametrize("values", [BROKERS, OPTIONS], ids=["usual", "options"])
def test_pods_of_the_chart_meet_the_restricted_level(helm: Path, values: Json) -> None:
    for document in rendered_of(helm, values):
        for pod in _pods(document):
            assert pod["securityContext"]["runAsNonRoot"]
            assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC"}
            assert not [each for each in pod["volumes"] if "hostPath" in each]
            for container in [*pod["containers"], *pod.get("initContainers", ())]:
                security = container["securityContext"]
                assert security["capabilities"] == {"drop": ["ALL"]}
                assert not security["allowPrivilegeEscalation"]
                assert security["readOnlyRootFilesystem"]


def test_no_ports_in_the_values_is_no_connection_and_not_any(helm: Path) -> None:
    """Kubernetes takes a rule without ports for a rule of all ports."""
    none: Json = {"bundlePorts": [], "dnsPorts": [], "apiServerPorts": []}
    embedded: Json = {"kafka": {"embedded": {"enabled": True, "persistent": False}}}
    policies = [
        each
        for values in (BROKERS, embedded)
        for each in rendered_of(helm, values | {"networkPolicies": none})
        if each["kind"] == "NetworkPolicy"
    ]
    assert policies
    for policy in policies:
        assert all(rule["ports"] for rule in policy["spec"].get("egress") or ())


def _pods(document: Json) -> Iterator[Json]:
    if document["kind"] in ("Deployment", "StatefulSet", "Job"):
        yield document["spec"]["template"]["spec"]


def test_a_list_of_namespaces_gets_cluster_roles_for_what_is_in_no_namespace(helm: Path) -> None:
    """Without exclusive pools nobody writes nodes; pe-gateway lets tokens be reviewed."""
    roles = [each for each in rendered_of(helm, OPTIONS) if each["kind"] == "ClusterRole"]
    granted = {
        (resource, verb)
        for role in roles
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    reviews = {("tokenreviews", "create")}
    assert granted >= reviews
    assert {resource for resource, _ in granted - reviews} == {"nodes", "namespaces"}
    assert {verb for _, verb in granted - reviews} == {"get", "list", "watch"}
