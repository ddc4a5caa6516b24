"""The pod of a launch, field by field: what the runtime image of IBM Streams reads."""

from __future__ import annotations

from typing import Any

import pytest

from contracts import labels
from services.pod_state_machine.adapters.reading import job_view, pe_of
from services.pod_state_machine.core.pod_spec import RuntimeImage, pod_of_launch
from tests.builders import a_job, a_pe, job_uid, pe_uid

Json = dict[str, Any]


def pod(runtime: RuntimeImage | None = None, launch: int = 1, **spec: Any) -> Json:
    pe = a_pe().with_spec(**spec).with_label(labels.region_label(2), "true")
    return pod_of_launch(
        pe_of(pe.entry()), job_view(a_job().entry()), launch, runtime or RuntimeImage()
    )


def container(**spec: Any) -> Json:
    (found,) = pod(**spec)["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def environment(**spec: Any) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container(**spec)["env"]}


def mounts(manifest: Json) -> dict[str, tuple[str, str | None, Json]]:
    """By volume: mount path, path in the claim, source."""
    sources = {each["name"]: each for each in manifest["spec"]["volumes"]}
    (only,) = manifest["spec"]["containers"]
    return {
        each["name"]: (
            each["mountPath"],
            each.get("subPath"),
            {key: value for key, value in sources[each["name"]].items() if key != "name"},
        )
        for each in only["volumeMounts"]
    }


def test_the_pod_of_a_default_pe_is_exactly_this() -> None:
    """The golden pod: a change of any field is a decision."""
    assert pod() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": labels.pod_name("shop", 0, pe_uid("shop", 0), 1),
            "namespace": "default",
            "labels": {
                "app": "streams",
                "svc": "pe",
                "streams.ibm.com/job": "shop",
                "streams.ibm.com/job-uid": job_uid("shop"),
                "streams.ibm.com/generation": "0",
                "streams.ibm.com/pe": "0",
                "streams.ibm.com/launch-count": "1",
                "region.streams.ibm.com/2": "true",
            },
            "annotations": {"streams.ibm.com/contentId": "c1"},
            "ownerReferences": [
                {
                    "apiVersion": "streams.ibm.com/v1",
                    "kind": "ProcessingElement",
                    "name": "shop-0",
                    "uid": pe_uid("shop", 0),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsUser": 2098,
                "runAsGroup": 2015,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "dnsConfig": {"options": [{"name": "single-request-reopen"}]},
            "containers": [GOLDEN_CONTAINER],
            "volumes": [
                {"name": "pe-config-volume", "configMap": {"name": "shop-0-c1"}},
                {"name": "job-config-volume", "configMap": {"name": "shop"}},
            ],
        },
    }


GOLDEN_CONTAINER = {
    "name": "pe",
    "image": "docker.io/openstreams/streams-runtime:6.debug",
    "imagePullPolicy": "Always",
    "args": ["/usr/local/streams/system/impl/bin/streams-k8s-bootstrap"],
    "env": [
        {"name": "STREAMS_DOMAIN_ID", "value": "kubernetes"},
        {"name": "STREAMS_INITIAL_TRACE_LEVEL", "value": "INFO"},
        {"name": "STREAMS_INSTALL", "value": "/usr/local/streams"},
        {"name": "STREAMS_INSTANCE_ID", "value": "default"},
        {"name": "STREAMS_JOB_NAME", "value": "shop"},
        {"name": "STREAMS_NS", "value": "K8S:"},
        {"name": "STREAMS_PE_ID", "value": "0"},
        {"name": "STREAMS_PE_LAUNCH_COUNT", "value": "1"},
        {"name": "STREAMS_PE_NAME", "value": "shop-0"},
        {"name": "STREAMS_PE_USE_VALGRIND", "value": "false"},
        {"name": "STREAMS_SAB_NAME", "value": "shop.sab"},
        {"name": "STREAMS_TRANSPORT_SECURITY_TYPE", "value": "none"},
    ],
    "livenessProbe": {
        "exec": {"command": ["cat", "/tmp/live"]},
        "initialDelaySeconds": 30,
        "periodSeconds": 10,
        "failureThreshold": 1,
    },
    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    "securityContext": {"allowPrivilegeEscalation": False},
    "volumeMounts": [
        {"name": "pe-config-volume", "mountPath": "/etc/config/pe"},
        {"name": "job-config-volume", "mountPath": "/etc/config/job"},
    ],
}


@pytest.mark.parametrize(
    ("spec", "image"),
    [
        ({"image": "mine:1"}, "mine:1"),
        ({"buildType": "release"}, "docker.io/openstreams/streams-runtime:6.release"),
        (
            {"buildType": "release", "runWithValgrind": True},
            "docker.io/openstreams/streams-runtime:6.debug",
        ),
    ],
)
def test_the_image_is_that_of_the_pe_or_of_its_build_type(spec: Json, image: str) -> None:
    """Valgrind needs the debug build."""
    assert container(**spec)["image"] == image


@pytest.mark.parametrize("option", ["allowPtrace", "runWithValgrind"])
def test_debuggers_get_the_capabilities_to_attach(option: str) -> None:
    """And nothing else does."""
    context = container(**{option: True})["securityContext"]
    assert context == {"capabilities": {"add": ["SYS_ADMIN", "SYS_PTRACE"]}}
    assert environment(runWithValgrind=True)["STREAMS_PE_USE_VALGRIND"] == "true"


def test_trace_levels_bundle_and_launch_reach_the_process() -> None:
    """By environment variables."""
    assert environment(appTraceLevel="DEBUG")["STREAMS_APP_TRACE_LEVEL"] == "DEBUG"
    assert environment(runtimeTraceLevel="TRACE")["STREAMS_INITIAL_TRACE_LEVEL"] == "TRACE"
    assert environment(bundleName=None, sabName="other.sab")["STREAMS_SAB_NAME"] == "other.sab"
    assert environment(bundleName=None)["STREAMS_SAB_NAME"] == "shop.sab"
    (only,) = pod(launch=7)["spec"]["containers"]
    assert {"name": "STREAMS_PE_LAUNCH_COUNT", "value": "7"} in only["env"]


def test_the_probe_and_the_resources_are_those_of_the_pe() -> None:
    """Numbers go through unchanged."""
    spec = {
        "initialProbeDelayInSeconds": 3,
        "probeIntervalInSeconds": 4,
        "probeFailureThreshold": 5,
        "resources": {"limits": {"cpu": "4", "memory": "16Gi"}},
    }
    probe = container(**spec)["livenessProbe"]
    assert (probe["initialDelaySeconds"], probe["periodSeconds"], probe["failureThreshold"]) == (
        3,
        4,
        5,
    )
    assert container(**spec)["resources"] == {"limits": {"cpu": "4", "memory": "16Gi"}}


def test_the_pull_secret_is_that_of_the_pe_or_the_job() -> None:
    """None by default."""
    assert "imagePullSecrets" not in pod()["spec"]
    assert pod(imagePullSecret="mine")["spec"]["imagePullSecrets"] == [{"name": "mine"}]


def test_data_comes_from_the_claim_else_the_path_else_the_settings() -> None:
    """The first that applies."""
    claim = {"name": "disk", "subPath": "a/b"}
    both = pod(dataVolumeClaim=claim, dataPath="/d")
    assert mounts(both)["data-volume"] == (
        "/data",
        "a/b",
        {"persistentVolumeClaim": {"claimName": "disk"}},
    )
    path = {"hostPath": {"path": "/d", "type": ""}}
    assert mounts(pod(dataPath="/d"))["data-volume"] == ("/data", None, path)
    assert mounts(pod(RuntimeImage(data_path="/d")))["data-volume"] == ("/data", None, path)
    assert "data-volume" not in mounts(pod())


@pytest.mark.parametrize("synonym", ["checkpointRepository", "checkpointDataStore"])
def test_checkpoints_in_a_file_system_are_mounted_under_either_name(synonym: str) -> None:
    """The seed and the original name the field differently."""
    in_files: Json = {synonym: {"fileSystem": {}}}
    on_claim: Json = {synonym: {"fileSystem": {"volumeClaim": {"name": "disk"}}}}
    path = pod(**in_files)
    assert mounts(path)["checkpoint-volume"] == (
        "/checkpoint",
        None,
        {"hostPath": {"path": "/checkpoint", "type": ""}},
    )
    claim = pod(**on_claim)
    assert mounts(claim)["checkpoint-volume"][2] == {"persistentVolumeClaim": {"claimName": "disk"}}
    seen = environment(**in_files)
    assert seen["STREAMS_CHECKPOINT_REPOSITORY"] == "fileSystem"
    assert seen["STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION"] == '{ "Dir" : "/checkpoint" }'
    assert "STREAMS_CHECKPOINT_REPOSITORY" not in environment()


def test_secrets_are_mounted_where_the_runtime_looks_for_them() -> None:
    """One for the application, one that is restricted."""
    found = mounts(pod(appPropertiesSecret="open", restrictedPropertiesSecret="closed"))
    assert found["app-properties-secret-volume"] == (
        "/etc/config/app",
        None,
        {"secret": {"secretName": "open"}},
    )
    assert found["restricted-properties-secret-volume"][0] == "/etc/config/restricted"


def test_a_spec_that_no_schema_has_seen_is_refused_instead_of_run() -> None:
    """A bad object delays only its own key."""
    with pytest.raises(ValueError, match="buildType"):
        pod(buildType="fastest")
