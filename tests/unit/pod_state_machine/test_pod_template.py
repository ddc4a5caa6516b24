"""The user's pod template adds to the pod; a template that contradicts millrace is refused."""

from __future__ import annotations

from typing import Any

import pytest

from services.pod_state_machine.core.pod_inputs import PodImpossible
from tests.unit.pod_state_machine.test_pod_spec import golden, pod

Json = dict[str, Any]


def with_template(**parts: Any) -> Json:
    return pod(podTemplate=parts)


def spec_with(**fields: Any) -> Json:
    found: Json = with_template(spec=fields)["spec"]
    return found


def refusal(**parts: Any) -> str:
    with pytest.raises(PodImpossible) as caught:
        with_template(**parts)
    return str(caught.value)


@pytest.mark.parametrize("template", [None, {}, {"metadata": None, "spec": None}, {"spec": {}}])
def test_an_empty_template_changes_nothing(template: Json | None) -> None:
    assert pod(podTemplate=template)["spec"] == golden()


def test_labels_and_annotations_are_added_to_ours() -> None:
    marks = with_template(metadata={"labels": {"team": "a"}, "annotations": {"x.io/b": "c"}})
    assert marks["metadata"]["labels"] == pod()["metadata"]["labels"] | {"team": "a"}
    assert marks["metadata"]["annotations"] == pod()["metadata"]["annotations"] | {"x.io/b": "c"}


@pytest.mark.parametrize(
    "spec",
    [
        {"automountServiceAccountToken": None},
        {"securityContext": {"seccompProfile": None}},
        {"securityContext": None, "serviceAccountName": None},
    ],
)
def test_a_null_suppresses_no_default(spec: Json) -> None:
    """A null token would give the pod the token of the account."""
    assert spec_with(**spec) == golden()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tolerations", [{"operator": "Exists"}]),
        ("nodeSelector", {"disk": "ssd"}),
        ("affinity", {"nodeAffinity": {}}),
        ("priorityClassName", "high"),
        ("serviceAccountName", "me"),
        ("automountServiceAccountToken", True),
        ("terminationGracePeriodSeconds", 60),
        ("topologySpreadConstraints", [{"maxSkew": 1}]),
        ("schedulerName", "mine"),
        ("runtimeClassName", "gvisor"),
        ("hostAliases", [{"ip": "1.2.3.4", "hostnames": ["a"]}]),
        ("initContainers", [{"name": "first", "image": "i"}]),
        ("imagePullSecrets", [{"name": "s"}]),
    ],
)
def test_fields_that_millrace_does_not_set_are_taken_unchanged(name: str, value: Any) -> None:
    assert spec_with(**{name: value}) == golden() | {name: value}


def test_the_container_pe_is_ours_with_what_is_added_and_others_come_after_it() -> None:
    added = {
        "name": "pe",
        "env": [{"name": "A", "value": "b"}],
        "ports": [{"containerPort": 80}],
        "securityContext": {"readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
    }
    beside = {"name": "beside", "image": "b:1"}
    first, second = spec_with(containers=[beside, added])["containers"]
    ours = golden()["containers"][0]
    assert second == beside
    assert first == ours | {
        "env": [*ours["env"], {"name": "A", "value": "b"}],
        "ports": [{"containerPort": 80}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def test_an_init_container_may_be_called_pe() -> None:
    """The API server refuses it; it is not laid over the PE's container."""
    found = spec_with(initContainers=[{"name": "pe", "image": "other"}])
    assert found["containers"] == golden()["containers"]


def test_capabilities_of_a_debugger_stay_beside_dropped_ones() -> None:
    dropped = {"name": "pe", "securityContext": {"capabilities": {"drop": ["NET_RAW"]}}}
    manifest = pod(allowPtrace=True, podTemplate={"spec": {"containers": [dropped]}})
    assert manifest["spec"]["containers"][0]["securityContext"] == {
        "capabilities": {"add": ["SYS_PTRACE"], "drop": ["NET_RAW"]}
    }


def test_objects_are_merged_and_defaults_yield() -> None:
    context = {"fsGroup": 1, "seccompProfile": {"type": "Localhost", "localhostProfile": "p"}}
    found = spec_with(securityContext=context, dnsConfig={"options": [{"name": "ndots"}]})
    assert found["securityContext"] == {"runAsUser": 2098, "runAsGroup": 2015, **context}
    assert found["dnsConfig"]["options"] == [{"name": "single-request-reopen"}, {"name": "ndots"}]


def test_pull_secrets_are_those_of_the_pe_and_of_the_template() -> None:
    template = {"spec": {"imagePullSecrets": [{"name": "mine"}, {"name": "more"}]}}
    manifest = pod(imagePullSecret="mine", podTemplate=template)
    assert manifest["spec"]["imagePullSecrets"] == [{"name": "mine"}, {"name": "more"}]


PE_IMAGE = {"name": "pe", "image": "evil:1"}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"spec": {"restartPolicy": "Always"}},
            "spec.podTemplate.spec.restartPolicy: leave it out",
        ),
        ({"spec": {"nodeName": "n1"}}, "nodeSelector or affinity (it is 'n1')"),
        ({"spec": {"securityContext": {"runAsUser": 0}}}, "spec.securityContext.runAsUser"),
        ({"spec": {"containers": [PE_IMAGE]}}, "spec.containers[0].image: leave it out; use"),
        (
            {"spec": {"containers": [{"name": "pe", "securityContext": {"privileged": True}}]}},
            "securityContext.privileged: leave it out; use processingElement.allowPtrace",
        ),
        (
            {"spec": {"containers": [{"name": "pe", "env": [{"name": "STREAMS_PE_ID"}]}]}},
            "spec.containers[0].env[0].name: variables that begin with STREAMS_",
        ),
        (
            {"spec": {"containers": [{"name": "pe", "env": [{"name": "MILLRACE_POD_IP"}]}]}},
            "spec.containers[0].env[0].name: variables like it are the runtime's",
        ),
        (
            {
                "spec": {
                    "containers": [
                        {
                            "name": "pe",
                            "volumeMounts": [{"mountPath": "/var/run/secrets/streams-api"}],
                        }
                    ]
                }
            },
            "volumeMounts[0].mountPath: the runtime reads its configuration there",
        ),
        (
            {
                "spec": {
                    "containers": [
                        {"name": "pe", "volumeMounts": [{"mountPath": "/etc/config/job/x"}]}
                    ]
                }
            },
            "volumeMounts[0].mountPath: the runtime reads its configuration there",
        ),
        ({"spec": {"volumes": [{"name": "data-volume"}]}}, "spec.volumes[0].name"),
        ({"metadata": {"labels": {"app": "mine"}}}, "metadata.labels.app"),
        ({"metadata": {"labels": {"streams.ibm.com/pe": "3"}}}, "labels.streams.ibm.com/pe"),
        ({"metadata": {"labels": {"region.streams.ibm.com/1": "3"}}}, "region.streams.ibm.com/1"),
        ({"metadata": {"annotations": {"streams.ibm.com/contentId": "x"}}}, "contentId"),
        ({"spec": {"containers": "pe"}}, "it must be a list of objects (it is 'pe')"),
        ({"spec": {"volumes": [{}]}}, "each must have a name"),
        ({"spec": {"volumes": [{"name": {}}]}}, "each must have a name"),
        ({"spec": {"securityContext": "none"}}, "it must be an object (it is 'none')"),
        ({"spec": {"dnsConfig": {"options": {}}}}, "it must be a list"),
    ],
)
def test_what_contradicts_us_is_refused_with_field_and_value(parts: Json, message: str) -> None:
    """Even if the values are equal: the rule does not depend on the value of millrace."""
    assert message in refusal(**parts)


def test_a_mount_path_is_free_for_a_template_unless_a_volume_of_the_pe_uses_it() -> None:
    mount = {"name": "scratch", "mountPath": "/data"}
    template = {
        "spec": {
            "containers": [{"name": "pe", "volumeMounts": [mount]}],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        }
    }
    assert mount in pod(podTemplate=template)["spec"]["containers"][0]["volumeMounts"]
    with pytest.raises(PodImpossible, match="millrace has one of that mountPath"):
        pod(dataPath="/d", podTemplate=template)
