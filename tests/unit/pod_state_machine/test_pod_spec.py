"""The pod of a launch, word for word: what the runtime image of IBM Streams reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contracts import labels
from contracts.resources import ProcessingElementTemplate
from contracts.resources.processing_element import BuildType
from services.pod_state_machine.adapters.reading import job_view, pe_of
from services.pod_state_machine.core.pod_inputs import PodImpossible
from services.pod_state_machine.core.pod_spec import RuntimeImage, pod_of_launch
from tests.builders import a_job, a_pe, job_uid, pe_uid
from tests.golden_pods import IMAGE, REDIS_CONFIG, VARIANTS, golden_spec

Json = dict[str, Any]

MADE_BY_FUSION_BACKEND: Json = {
    "transportCertificate": {"secretName": "shop.transport"},
    "redisConfig": REDIS_CONFIG,
}


def pod(runtime: RuntimeImage | None = None, launch: int = 1, **spec: Any) -> Json:
    pe = a_pe().with_spec(**spec).with_label(labels.region_label(2), "true")
    job = a_job().with_status(**MADE_BY_FUSION_BACKEND)
    return pod_of_launch(
        pe_of(pe.entry()), job_view(job.entry()), launch, runtime or RuntimeImage()
    )


def golden(launch: int = 1) -> Json:
    return golden_spec(
        "shop", 0, content_id="c1", bundle="shop.sab", job_uid=job_uid("shop"), launch=launch
    )


def container(**spec: Any) -> Json:
    found: Json = pod(**spec)["spec"]["containers"][0]
    return found


def environment(**spec: Any) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container(**spec)["env"]}


def sources(manifest: Json) -> dict[str, Json]:
    """The source of each volume, by its name."""
    return {
        each["name"]: {key: value for key, value in each.items() if key != "name"}
        for each in manifest["spec"]["volumes"]
    }


def test_a_pe_in_the_service_of_its_job_has_a_host_name_there_and_the_domain() -> None:
    """And nothing else of the pod differs from that of the original."""
    found, theirs = pod(serviceName="shop-pes")["spec"], pod()["spec"]
    assert (found.pop("hostname"), found.pop("subdomain")) == ("shop-0", "shop-pes")
    (env,) = [each["env"] for each in found["containers"]]
    env.remove({"name": "STREAMS_PE_DOMAIN", "value": "shop-pes.default.svc"})
    assert found == theirs


def test_the_metadata_of_a_pod_is_exactly_this() -> None:
    assert pod()["metadata"] == {
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
    }


@pytest.mark.parametrize("option", VARIANTS)
def test_the_pod_with_an_option_is_the_golden_one_with_the_change_of_the_option(
    option: str,
) -> None:
    """The golden pod and its variants: a change of any field is a decision."""
    variant = VARIANTS[option]
    assert pod(**variant.spec)["spec"] == variant.applied(golden(), "shop")


def test_every_option_of_a_pod_has_a_variant() -> None:
    """Restart policies make no pod; what the operator writes is in all of them."""
    given = {name for variant in VARIANTS.values() for name in variant.spec}
    known = {each.alias for each in ProcessingElementTemplate.model_fields.values()}
    made_elsewhere = {
        name
        for name in known
        if name is not None
        and name.startswith(("restart", "deleteFailed", "failedPod", "max", "nodeLoss", "force"))
    }
    operators = {"id", "contentId", "launchCount", "connectivity", "placement", "operators"}
    assert known - given - made_elsewhere - operators == {"bundleName", "regions"}


def test_the_number_of_the_launch_and_the_bundle_of_the_job_reach_the_process() -> None:
    assert pod(launch=7)["spec"] == golden(launch=7)
    assert environment(bundleName=None)["STREAMS_SAB_NAME"] == "shop.sab"


@pytest.mark.parametrize(
    ("spec", "setting", "build"),
    [
        ({}, BuildType.DEBUG, "debug"),
        ({}, BuildType.RELEASE, "release"),
        ({"buildType": "debug"}, BuildType.RELEASE, "debug"),
        ({"buildType": "release"}, BuildType.DEBUG, "release"),
        ({"buildType": "release", "runWithValgrind": True}, BuildType.RELEASE, "debug"),
    ],
)
def test_the_build_is_the_setting_s_else_the_pe_s_else_what_valgrind_needs(
    spec: Json, setting: BuildType, build: str
) -> None:
    manifest = pod(RuntimeImage(build_type=setting), **spec)
    assert manifest["spec"]["containers"][0]["image"] == f"{IMAGE}.{build}"


def test_registry_and_repository_of_the_image_come_from_the_settings() -> None:
    manifest = pod(RuntimeImage(registry="here:5000", repository="ours"))
    assert manifest["spec"]["containers"][0]["image"] == "here:5000/ours/streams-runtime:6.debug"


def test_data_comes_from_the_claim_else_the_path_else_the_settings() -> None:
    """The first one that is set."""
    setting = RuntimeImage(data_path="/s")
    on_claim = pod(setting, dataVolumeClaim={"name": "disk"}, dataPath="/d")
    assert sources(on_claim)["data-volume"] == {"persistentVolumeClaim": {"claimName": "disk"}}
    assert sources(pod(setting, dataPath="/d"))["data-volume"]["hostPath"]["path"] == "/d"
    assert sources(pod(setting))["data-volume"] == {"hostPath": {"path": "/s", "type": ""}}


@pytest.mark.parametrize("synonym", ["checkpointRepository", "checkpointDataStore"])
def test_checkpoints_come_from_the_claim_else_the_path_else_the_settings(synonym: str) -> None:
    """A path that is left out is that of the settings, on the node alone."""
    setting = RuntimeImage(checkpoint_path="/s")

    def source(**files: Any) -> Json | None:
        in_files: Json = {synonym: {"fileSystem": files}}
        return sources(pod(setting, **in_files)).get("checkpoint-volume")

    on_claim = source(volumeClaim={"name": "disk"}, path=None)
    assert on_claim == {"persistentVolumeClaim": {"claimName": "disk"}}
    assert source(path="/c") == {"hostPath": {"path": "/c", "type": ""}}
    for left_out in ({}, {"path": None}):
        assert source(**left_out) == {"hostPath": {"path": "/s", "type": ""}}
    nowhere: Json = {synonym: {"fileSystem": {}}}
    assert sources(pod(**nowhere))["checkpoint-volume"]["hostPath"]["path"] == "/checkpoint"
    with pytest.raises(PodImpossible, match=f"spec.{synonym}.fileSystem.path: give a path or"):
        pod(RuntimeImage(checkpoint_path=""), **nowhere)


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({}, "/checkpoint"),
        ({"path": "/c"}, "/c"),
        ({"volumeClaim": {"name": "disk"}}, "/checkpoint"),
        ({"volumeClaim": {"name": "disk"}, "path": "/c"}, "/c"),
    ],
)
def test_checkpoints_are_in_the_pe_where_the_spec_says(files: Json, path: str) -> None:
    """Beside a volume claim, too; and the runtime gets the same path."""
    manifest = pod(RuntimeImage(checkpoint_path="/s"), checkpointRepository={"fileSystem": files})
    container = manifest["spec"]["containers"][0]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounts["checkpoint-volume"] == path
    variables = {each["name"]: each.get("value") for each in container["env"]}
    configuration = variables["STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION"]
    assert json.loads(configuration) == {"Dir": path}


def test_checkpoints_are_not_mounted_over_another_volume() -> None:
    with pytest.raises(PodImpossible, match=r"fileSystem\.path: another volume.*'/data/'"):
        pod(dataPath="/d", checkpointRepository={"fileSystem": {"path": "/data/"}})


@pytest.mark.parametrize(
    ("image", "is_ours"),
    [
        ("millrace/runtime", True),
        ("millrace/runtime:0.5", True),
        ("here:5000/millrace/runtime", True),
        ("docker.io/millrace/runtime:1@sha256:0", True),
        ("mymillrace/runtime", False),
        ("millrace/runtime/more", False),
        ("runtime", False),
        ("docker.io/openstreams/streams-runtime:6.debug", False),
    ],
)
def test_only_a_pod_of_our_runtime_may_take_longer_to_end(image: str, is_ours: bool) -> None:
    """It saves its state; another image that does not end would end its resizes later."""
    found = pod(image=image)["spec"].get("terminationGracePeriodSeconds")
    assert found == (35 if is_ours else None)


@pytest.mark.parametrize(
    ("seconds", "grace"), [(0, None), (25, None), (26, 31), (600, 605)], ids=str
)
def test_the_time_of_a_hand_over_reaches_the_pod(seconds: int, grace: int | None) -> None:
    job = a_job().with_spec(scaling={"handOverSeconds": seconds})
    pe = pe_of(a_pe().with_spec(image="millrace/runtime").entry())
    made = pod_of_launch(pe, job_view(job.entry()), 1, RuntimeImage())["spec"]
    assert made.get("terminationGracePeriodSeconds") == grace
    (variable,) = (
        each for each in made["containers"][0]["env"] if each["name"].endswith("OVER_SECONDS")
    )
    assert variable["value"] == str(seconds)


def test_a_template_says_how_long_a_pod_of_our_runtime_may_take_to_end() -> None:
    template: Json = {"spec": {"terminationGracePeriodSeconds": 7}}
    made = pod(image="millrace/runtime", podTemplate=template)["spec"]
    assert made["terminationGracePeriodSeconds"] == 7


@pytest.mark.parametrize(
    ("image", "given", "timeout_s", "failures"),
    [
        ("millrace/runtime:1.2.0", {}, 5, 3),
        ("here:5000/millrace/runtime", {"probeFailureThreshold": 2}, 5, 2),
        ("millrace/runtime", {"probeFailureThreshold": 7}, 5, 7),
        ("millrace/runtime", {"probeFailureThreshold": 1}, 5, 3),
        ("millrace/runtime", {"probeFailureThreshold": 1, "probeTimeoutInSeconds": 60}, 60, 1),
        ("millrace/runtime", {"probeTimeoutInSeconds": 20}, 20, 3),
        ("docker.io/openstreams/streams-runtime:6.debug", {}, None, 1),
        ("docker.io/openstreams/streams-runtime:6.debug", {"probeTimeoutInSeconds": 9}, 9, 1),
        ("mine:1", {"probeFailureThreshold": 2}, None, 2),
        ("mine:1", {"probeFailureThreshold": 2, "probeTimeoutInSeconds": 9}, 9, 2),
    ],
)
def test_one_slow_probe_of_a_busy_node_ends_no_pe_of_our_runtime(
    image: str, given: Json, timeout_s: int | None, failures: int
) -> None:
    """It loses what it has in hand; other images are probed as the original did.

    A 1 alone is what earlier releases wrote into each PE, and is not meant for our runtime.
    """
    probe = pod(image=image, **given)["spec"]["containers"][0]["livenessProbe"]
    assert (probe.get("timeoutSeconds"), probe["failureThreshold"]) == (timeout_s, failures)


def test_the_address_of_the_gateway_is_in_the_pod_only_where_a_setting_gives_one() -> None:
    def gateway(url: str) -> list[Json]:
        env = pod(RuntimeImage(gateway_url=url))["spec"]["containers"][0]["env"]
        return [each for each in env if each["name"] == "MILLRACE_GATEWAY_URL"]

    assert gateway("") == []
    (found,) = gateway("http://10.0.0.1:1")
    assert found["value"] == "http://10.0.0.1:1"


def test_pull_policy_and_secret_are_those_of_the_pe_or_the_job() -> None:
    job = a_job().with_spec(imagePullPolicy="IfNotPresent", imagePullSecret="theirs")

    def made(**spec: Any) -> Json:
        pe = pe_of(a_pe().with_spec(**spec).entry())
        found: Json = pod_of_launch(pe, job_view(job.entry()), 1, RuntimeImage())["spec"]
        return found

    inherited = made(imagePullPolicy=None)
    assert inherited["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert inherited["imagePullSecrets"] == [{"name": "theirs"}]
    own = made(imagePullPolicy="Always", imagePullSecret="mine")
    assert own["containers"][0]["imagePullPolicy"] == "Always"
    assert own["imagePullSecrets"] == [{"name": "mine"}]


def test_a_spec_that_violates_the_schema_is_refused_instead_of_run() -> None:
    """A bad object delays only its own key; field and value are named."""
    with pytest.raises(PodImpossible, match=r"spec\.buildType: .*fastest"):
        pod(buildType="fastest")
