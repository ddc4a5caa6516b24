"""A pod template's spec is held to the shape of a PodSpec, before a job is planned."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.resources import JobSpec
from contracts.resources.pod_shapes import misshapen, unknown
from contracts.resources.pod_template import contradictions
from services.fusion_backend.core.spec.accepting import ignored, refusal_of_spec

PLACE = "spec.processingElement.podTemplate.spec"


def job(template: dict[str, Any]) -> dict[str, Any]:
    pod = {"podTemplate": {"spec": template}}
    return {"bundle": {"name": "a.sab"}, "processingElement": pod}


@pytest.mark.parametrize(
    ("template", "field", "meant"),
    [
        ({"nodeSelectr": {"disk": "ssd"}}, "nodeSelectr", "nodeSelector"),
        ({"NodeSelector": {"disk": "ssd"}}, "NodeSelector", "nodeSelector"),
        (
            {"tolerations": [{"key": "a"}, {"key": "b", "tolerationSecond": 3}]},
            "tolerations[1].tolerationSecond",
            "tolerationSeconds",
        ),
        (
            {"containers": [{"name": "log", "volumeMount": [{"mountPath": "/x"}]}]},
            "containers[0].volumeMount",
            "volumeMounts",
        ),
        (
            {"affinity": {"nodeAffinty": {}}},
            "affinity.nodeAffinty",
            "nodeAffinity",
        ),
    ],
)
def test_a_misspelt_field_is_refused_with_the_one_that_is_meant(
    template: dict[str, Any], field: str, meant: str
) -> None:
    """The API server would drop it without a word."""
    refused = refusal_of_spec(job(template))
    assert refused is not None
    assert (refused.reason, refused.field) == ("SpecInvalid", f"{PLACE}.{field}")
    assert f"write {meant}" in refused.message
    assert refused.value


def test_a_field_that_resembles_none_may_be_of_a_newer_kubernetes_and_is_warned_of() -> None:
    spec = job({"zzzNewest": 1})
    assert refusal_of_spec(spec) is None
    assert f"{PLACE}.zzzNewest" in ignored(spec)


@pytest.mark.parametrize(
    ("template", "field", "why"),
    [
        ({"securityContext": "none"}, "securityContext", "an object"),
        ({"dnsConfig": {"options": "ndots"}}, "dnsConfig.options", "a list"),
        ({"dnsConfig": {"options": ["ndots"]}}, "dnsConfig.options[0]", "an object"),
        ({"terminationGracePeriodSeconds": "30"}, "terminationGracePeriodSeconds", "whole number"),
        ({"terminationGracePeriodSeconds": True}, "terminationGracePeriodSeconds", "whole number"),
        ({"hostNetwork": "yes"}, "hostNetwork", "true or false"),
        ({"schedulerName": 7}, "schedulerName", "text"),
        ({"nodeSelector": {"disk": True}}, "nodeSelector.disk", "text"),
        ({"nodeSelector": ["disk"]}, "nodeSelector", "an object"),
    ],
)
def test_a_field_of_another_type_is_refused_at_the_job(
    template: dict[str, Any], field: str, why: str
) -> None:
    refused = refusal_of_spec(job(template))
    assert refused is not None
    assert (refused.reason, refused.field) == ("SpecInvalid", f"{PLACE}.{field}")
    assert why in refused.message


def test_what_kubernetes_takes_is_taken() -> None:
    """Null, numbers as quantities, ports by name or number."""
    container = {
        "name": "log",
        "image": "log:1",
        "resources": {"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": 0.5}},
        "readinessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
        "env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "x", "divisor": 1}}}],
    }
    template = {
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": 1024}}],
        "nodeSelector": None,
        "overhead": {"cpu": 1},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
    }
    assert list(misshapen(template, PLACE)) == []
    assert list(unknown(template, PLACE)) == []
    assert list(contradictions({"spec": template}, "p")) == []


@pytest.mark.parametrize(
    "field",
    [
        "initialProbeDelayInSeconds",
        "probeIntervalInSeconds",
        "probeFailureThreshold",
        "probeTimeoutInSeconds",
        "launchCount",
        "maxRestartsInARow",
    ],
)
def test_a_number_that_no_pod_can_have_is_refused_with_field_and_value(field: str) -> None:
    most = 2**31 - 1
    good = {"bundle": {"name": "a.sab"}, "processingElement": {field: most}}
    assert JobSpec.model_validate(good)
    refused = refusal_of_spec({"bundle": {"name": "a.sab"}, "processingElement": {field: most + 1}})
    assert refused is not None
    assert field in refused.field
    assert str(most + 1) in refused.message
