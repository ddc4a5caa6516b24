"""A pod that waits for a Secret, ConfigMap or claim: its PE names the object and the field."""

from __future__ import annotations

from typing import Any

import pytest

from services.launching.core.effects import PatchStatus
from services.launching.core.rules import Observation
from tests.builders import EPOCH_TIME, Builder, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import NOW, decided, observed, situation, submitted

SINCE = NOW - 60.0
"""When the builders' objects were made, and the pod came to its node."""
UNREADY = {
    "type": "PodReadyToStartContainers",
    "status": "False",
    "lastTransitionTime": EPOCH_TIME,
}


def pe(**spec: object) -> Builder:
    return a_pe().launched(1, phase="Starting").with_spec(**spec)


def creating() -> Builder:
    return a_pod().waiting("ContainerCreating").on_node("node-1").with_status(conditions=[UNREADY])


def message(pe: Builder, pod: Builder) -> str:
    (effect,) = decided(pe, pod, submitted()).effects
    assert isinstance(effect, PatchStatus)
    return effect.status.message


def fields(**spec: Any) -> list[str]:
    return [each.text for each in situation(pe(**spec), submitted()).context.named()]


def test_volumes_that_are_not_mounted_are_reported_after_ten_seconds() -> None:
    """The decision before that asks to be made again then."""
    before = decided(pe(), creating(), submitted(), now=SINCE + 9.9)
    assert before.rules["PE"] == Observation.POD_PENDING.name
    assert before.requeue_at == SINCE + 10.0
    at = SINCE + 10.0
    assert observed(pe(), creating(), submitted(), now=at) is Observation.NOT_MOUNTED


@pytest.mark.parametrize(
    "pod",
    [
        a_pod().waiting("ContainerCreating").on_node("node-1"),
        creating().with_status(phase="Running"),
        creating().with_status(conditions=[{**UNREADY, "status": "True"}]),
        a_pod().waiting("ContainerCreating").with_status(conditions=[UNREADY]),
    ],
    ids=["no condition", "running", "ready", "on no node"],
)
def test_a_pod_that_may_start_is_not_reported_and_its_projection_is_as_ever(pod: Builder) -> None:
    assert observed(pe(), pod, submitted()) is not Observation.NOT_MOUNTED
    assert "notReadyToStartSince" not in pod.entry().data


def test_the_message_names_each_object_and_field_and_is_written_once() -> None:
    waiting = pe(appPropertiesSecret="open", dataVolumeClaim={"name": "data"})
    (effect,) = decided(waiting, creating(), submitted()).effects
    assert isinstance(effect, PatchStatus)
    status = effect.status
    assert (status.reason, status.phase.value) == ("VolumesNotMounted", "Starting")
    assert "spec.appPropertiesSecret: Secret open, " in status.message
    assert "spec.dataVolumeClaim.name: PersistentVolumeClaim data." in status.message
    assert effect.event is not None
    assert effect.event.message == status.message
    recorded = waiting.with_status(
        reason=status.reason,
        message=status.message,
        conditions=[each.to_json() for each in status.conditions],
        pod=status.pod,
        node=status.node,
        observedGeneration=status.observed_generation,
    ).with_spec(appPropertiesSecret="other")
    assert decided(recorded, creating(), submitted(), now=NOW + 100.0).effects == ()


def test_every_field_that_asks_for_an_object_is_named_and_optional_ones_are_not() -> None:
    template = {
        "imagePullSecrets": [{"name": "hub"}],
        "volumes": [
            {"name": "a", "secret": {"secretName": "s"}},
            {"name": "b", "configMap": {"name": "m", "optional": True}},
            {"name": "c", "projected": {"sources": [{"configMap": {"name": "p"}}]}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "q"}},
        ],
        "containers": [
            {
                "name": "pe",
                "envFrom": [{"secretRef": {"name": "e"}}],
                "env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "k"}}}],
            }
        ],
    }
    files = {"fileSystem": {"volumeClaim": {"name": "saved"}}}
    at = "spec.podTemplate.spec"
    assert fields(
        restrictedPropertiesSecret="r",
        checkpointRepository=files,
        podTemplate={"spec": template},
    ) == [
        "spec.restrictedPropertiesSecret: Secret r",
        "spec.checkpointRepository.fileSystem.volumeClaim.name: PersistentVolumeClaim saved",
        f"{at}.imagePullSecrets[0].name: Secret hub",
        f"{at}.volumes[0].secret.secretName: Secret s",
        f"{at}.volumes[2].projected.sources[0].configMap.name: ConfigMap p",
        f"{at}.volumes[3].persistentVolumeClaim.claimName: PersistentVolumeClaim q",
        f"{at}.containers[0].envFrom[0].secretRef.name: Secret e",
        f"{at}.containers[0].env[0].valueFrom.configMapKeyRef.name: ConfigMap k",
    ]


@pytest.mark.parametrize("template", [None, {}, {"spec": {"volumes": [1, None, {"secret": "x"}]}}])
def test_a_template_of_any_form_is_read(template: object) -> None:
    assert fields(podTemplate=template) == []


def test_an_image_that_cannot_be_pulled_names_the_pull_secret() -> None:
    pod = a_pod().waiting("ErrImagePull", "denied")
    text = message(pe(imagePullSecret="hub"), pod)
    assert "ErrImagePull: denied. See that its pull secrets exist" in text
    assert "spec.imagePullSecret: Secret hub." in text


def test_words_of_the_kubelet_and_scheduler_get_the_field_of_what_they_miss() -> None:
    container = {"name": "pe", "envFrom": [{"secretRef": {"name": "e"}}]}
    with_env = pe(podTemplate={"spec": {"containers": [container]}})
    pod = a_pod().waiting("CreateContainerConfigError", 'secret "e" not found')
    text = message(with_env, pod)
    assert "spec.podTemplate.spec.containers[0].envFrom[0].secretRef.name: Secret e" in text
    other = a_pod().waiting("CreateContainerConfigError", 'secret "other" not found')
    assert "envFrom" not in message(with_env, other)
    unbound = a_pod().unschedulable('persistentvolumeclaim "data" not found')
    text = message(pe(dataVolumeClaim={"name": "data"}), unbound)
    assert "spec.dataVolumeClaim.name: PersistentVolumeClaim data" in text
