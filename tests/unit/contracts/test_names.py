"""What no pod can have is refused at the Job, before anything is planned or launched."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.names import is_key, is_label_value, is_name
from contracts.resources.pod_template import contradictions
from services.fusion_backend.core.spec.accepting import FAULTS_NAMED_MAX, refusal_of_spec

PLACE = "spec.processingElement.podTemplate"


def refusal(template: dict[str, Any]) -> tuple[str, str]:
    spec = {"bundle": {"name": "a.sab"}, "processingElement": {"podTemplate": template}}
    refused = refusal_of_spec(spec)
    assert refused is not None
    assert refused.reason == "SpecInvalid"
    return refused.field, refused.message


@pytest.mark.parametrize("key", ["a", "A.b_c-d9", "x" * 63, "example.com/a", "a-b.c/D"])
def test_keys_that_kubernetes_takes(key: str) -> None:
    assert is_key(key)


@pytest.mark.parametrize(
    "key", ["", "a b", "-a", "a.", "x" * 64, "/a", "a/", "Example.com/a", "a..b/c", "ä", "a\n"]
)
def test_keys_that_it_does_not_take(key: str) -> None:
    assert not is_key(key)


def test_values_of_labels_may_be_empty_and_names_are_small() -> None:
    assert is_label_value("")
    assert is_label_value("A_1.b")
    assert not is_label_value("a b")
    assert not is_label_value("x" * 64)
    assert is_name("a-1")
    assert not any(map(is_name, ("", "A", "a_b", "a.b", "-a", "x" * 64)))


@pytest.mark.parametrize(
    ("template", "field", "said"),
    [
        ({"metadata": {"labels": {"a b": "c"}}}, "metadata.labels.a b", "'a b' is no key"),
        ({"metadata": {"annotations": {"a b": "c"}}}, "metadata.annotations.a b", "is no key"),
        ({"metadata": {"labels": {"a": "b c"}}}, "metadata.labels.a", "no label has such a value"),
        (
            {"spec": {"containers": [{"name": "log"}]}},
            "spec.containers[0].image",
            "the container log beside pe needs an image",
        ),
        (
            {"spec": {"initContainers": [{"name": "first", "image": ""}]}},
            "spec.initContainers[0].image",
            "needs an image",
        ),
        (
            {"spec": {"containers": [{"name": "My_Log", "image": "i"}]}},
            "spec.containers[0].name",
            "it is no name",
        ),
        (
            {"spec": {"volumes": [{"name": "tmp dir", "emptyDir": {}}]}},
            "spec.volumes[0].name",
            "it is no name",
        ),
    ],
)
def test_what_the_api_server_would_say_at_the_launch_is_reported_at_the_job(
    template: dict[str, Any], field: str, said: str
) -> None:
    found, message = refusal(template)
    assert found == f"{PLACE}.{field}"
    assert said in message


def test_the_container_of_the_pe_needs_no_image_and_annotations_may_say_anything() -> None:
    template = {
        "metadata": {"annotations": {"a.io/b": "a b\n{}"}, "labels": {"a.io/b": ""}},
        "spec": {"containers": [{"name": "pe", "env": [{"name": "A b"}]}]},
    }
    assert list(contradictions(template, "p")) == []


def test_all_that_is_wrong_is_named_at_once() -> None:
    """Who repairs the first field need not be told of the second one at the next attempt."""
    template = {
        "metadata": {"labels": {"a b": "c"}},
        "spec": {"containers": [{"name": "log"}], "nodeSelectr": {}, "hostNetwork": "yes"},
    }
    _, message = refusal(template)
    for field in ("labels.a b", "containers[0].image", "nodeSelectr", "hostNetwork"):
        assert field in message


def test_of_very_many_faults_the_first_are_named() -> None:
    template = {"metadata": {"labels": {f"a {number}": "c" for number in range(50)}}}
    _, message = refusal(template)
    assert message.count("is no key") == FAULTS_NAMED_MAX
    assert message.endswith("; and 45 more")


def test_all_fields_of_a_wrong_type_are_named_at_once() -> None:
    spec = {
        "bundle": {"name": "a.sab"},
        "fusion": {"manual": 0},
        "parallelRegions": [{"alias": "A", "width": 0}],
    }
    refused = refusal_of_spec(spec)
    assert refused is not None
    assert "spec.fusion.manual: " in refused.message
    assert "spec.parallelRegions.0.width: " in refused.message


@pytest.mark.parametrize("key", ["not a key!", "a/b/c", "-zone", "Zone.example/rack", "k" * 64])
def test_hosts_by_a_label_that_no_node_can_have_are_refused_at_the_job(key: str) -> None:
    """Where constraints are preferred only, the job was placed and each of its pods refused."""
    refused = refusal_of_spec({"bundle": {"name": "a.sab"}, "placement": {"topologyKey": key}})
    assert refused is not None
    assert refused.field == "spec.placement.topologyKey"


@pytest.mark.parametrize("key", [None, "rack", "topology.kubernetes.io/zone"])
def test_hosts_by_any_other_label_are_taken(key: str | None) -> None:
    assert refusal_of_spec({"bundle": {"name": "a.sab"}, "placement": {"topologyKey": key}}) is None
