"""What Pods ask of the scheduler, and the taints of Nodes: taken, completed or refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from sandbox.store.resources import NODE, POD
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import MERGE, Body, causes, pod, refusal

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM: Body = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
TOLERATION: Body = {"key": "a", "operator": "Exists"}
TAINT: Body = {"key": "a", "value": "b", "effect": "NoSchedule"}


def fields(request: Callable[[], Any]) -> list[str]:
    """The fields for which a request is refused."""
    return [field for field, _ in causes(refusal(request))]


def near(when: str, *terms: Any) -> Body:
    return {"affinity": {"podAffinity": {when: list(terms)}}}


def on_node(**term: Any) -> Body:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (near(REQUIRED, {"labelSelector": {}}), "topologyKey"),
        (near(REQUIRED, {**TERM, "topologyKey": "a b"}), "topologyKey"),
        (near(REQUIRED, {**TERM, "namespaces": ["A"]}), "namespace"),
        (
            near(REQUIRED, {**TERM, "labelSelector": {"matchLabels": {"a": "-"}}}),
            "labelSelector.matchLabels",
        ),
        (
            near(REQUIRED, {"topologyKey": "a", "matchLabelKeys": ["a"]}),
            "matchLabelKeys",
        ),
        (near(PREFERRED, {"weight": 0, "podAffinityTerm": TERM}), "weight"),
        (near(PREFERRED, {"weight": 101, "podAffinityTerm": TERM}), "weight"),
        (on_node(matchExpressions=[{"key": "a", "operator": "In"}]), "values"),
        (on_node(matchExpressions=[{"key": "a", "operator": "Gt", "values": []}]), "values"),
        (on_node(matchExpressions=[{"key": "a", "operator": "Like"}]), "operator"),
        (
            {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
            "nodeSelectorTerms",
        ),
        (on_node(matchFields=[{"key": "metadata.uid", "operator": "In", "values": ["a"]}]), "key"),
        ({"nodeSelector": {"a b": ""}}, "spec.nodeSelector"),
        ({"nodeName": "A"}, "spec.nodeName"),
        ({"hostname": "a.b"}, "spec.hostname"),
        ({"hostname": "a" * 64}, "spec.hostname"),
        ({"subdomain": "A"}, "spec.subdomain"),
        ({"tolerations": [{"operator": "Equal"}]}, "operator"),
        ({"tolerations": [{**TOLERATION, "value": "b"}]}, "operator"),
        ({"tolerations": [{**TOLERATION, "tolerationSeconds": 1}]}, "effect"),
        ({"tolerations": [{**TOLERATION, "effect": "Never"}]}, "effect"),
        ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, "spec.schedulingGates[1]"),
    ],
)
def test_a_pod_that_asks_for_what_means_nothing_is_refused(
    store: Store, spec: Body, field: str
) -> None:
    found = fields(partial(store.create, POD, "default", pod(**spec)))
    assert [each for each in found if each.endswith(field)]


def test_keys_to_match_become_expressions_on_the_labels_that_the_pod_has(store: Store) -> None:
    term = {**TERM, "matchLabelKeys": ["color", "absent"], "mismatchLabelKeys": ["shape"]}
    labels = {"labels": {"color": "red", "shape": "round"}}
    made = store.create(POD, "default", pod(metadata=labels, **near(REQUIRED, term)))
    (kept,) = made["spec"]["affinity"]["podAffinity"][REQUIRED]
    assert kept["labelSelector"]["matchExpressions"] == [
        {"key": "color", "operator": "In", "values": ["red"]},
        {"key": "shape", "operator": "NotIn", "values": ["round"]},
    ]


def test_tolerations_may_be_added_and_not_taken_away(store: Store) -> None:
    store.create(POD, "default", pod(tolerations=[TOLERATION]))
    more = {"spec": {"tolerations": [TOLERATION, {**TOLERATION, "key": "b"}]}}
    assert len(store.patch(POD, "default", "worker", more, MERGE)["spec"]["tolerations"]) >= 2
    fewer = {"spec": {"tolerations": [{**TOLERATION, "key": "b"}]}}
    assert fields(partial(store.patch, POD, "default", "worker", fewer, MERGE)) == [
        "spec.tolerations"
    ]


def test_gates_may_be_taken_away_and_not_added(store: Store) -> None:
    store.create(POD, "default", pod(schedulingGates=[{"name": "a"}, {"name": "b"}]))
    more = {"spec": {"schedulingGates": [{"name": "a"}, {"name": "c"}]}}
    assert fields(partial(store.patch, POD, "default", "worker", more, MERGE)) == [
        "spec.schedulingGates[1].name"
    ]
    none: Body = {"spec": {"schedulingGates": None}}
    assert "schedulingGates" not in store.patch(POD, "default", "worker", none, MERGE)["spec"]


@pytest.mark.parametrize(
    ("taints", "field"),
    [
        ([TAINT, {**TAINT, "value": "c"}], "metadata.taints[1]"),
        ([{**TAINT, "effect": "Never"}], "metadata.taints[0].effect"),
        ([{**TAINT, "key": ""}], "metadata.taints[0].key"),
        ([{**TAINT, "value": "-"}], "metadata.taints[0].value"),
    ],
)
def test_taints_that_mean_nothing_or_the_same_twice_are_refused(
    store: Store, taints: list[Body], field: str
) -> None:
    body = {"metadata": {"name": "n"}, "spec": {"taints": taints}}
    refused = partial(store.create, NODE, None, body)
    assert field in fields(refused)


def test_one_key_may_have_several_effects(store: Store) -> None:
    taints = [TAINT, {**TAINT, "effect": "NoExecute"}]
    made = store.create(NODE, None, {"metadata": {"name": "n"}, "spec": {"taints": taints}})
    assert made["spec"]["taints"] == taints
