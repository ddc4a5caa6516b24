"""Affinity, tolerations and labels of the pod of a constrained PE, word for word."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import pytest

from contracts import labels
from contracts.names import is_label_value
from contracts.resources.processing_element import PlacementRequest
from services.pod_state_machine.adapters.reading import job_view
from services.pod_state_machine.core.awaiting import place_of
from services.pod_state_machine.core.pod_spec import RuntimeImage, pod_of_launch
from tests.builders import (
    Builder,
    HostPoolBuilder,
    a_host_pool,
    a_job,
    a_node,
    a_pe,
    a_placement,
)
from tests.golden_placements import PLACED, REQUIRED, Placed, filled_in
from tests.sandboxed import Sandboxed
from tests.unit.pod_state_machine.cluster import snapshot_of
from tests.unit.pod_state_machine.test_pod_spec import golden, pod
from tests.virtual_time import run_virtually

Json = dict[str, Any]

NODE = "n1.example"
HOST = "n1"
POOL = a_host_pool().entry().uid


def declared(pool: Json) -> HostPoolBuilder:
    found = a_host_pool().claiming(NODE)
    for name, value in pool.items():
        found = found.having("spec", "hostpool", name, value=value)
    return found


def placed(placement: Json, *, pool: Json | None = None, hostname: str = HOST, **spec: Any) -> Json:
    """The pod of a PE with this placement, on the node that it is assigned to."""
    node = a_node(NODE)
    objects: tuple[Builder, ...] = (
        a_pe().with_spec(placement=placement, **spec),
        a_placement({NODE: "0"}),
        node.with_label(labels.HOSTNAME, hostname) if hostname else node,
        declared(pool or {}),
    )
    snapshot = snapshot_of(*objects)
    assert snapshot.owner is not None
    place = place_of(snapshot)
    return pod_of_launch(snapshot.owner, job_view(a_job().entry()), 1, RuntimeImage(), place)


def expected(variant: Placed) -> Json:
    """The golden pod with the change of the variant; the node's label is not its name."""
    found: Json = filled_in(variant.spec, job="shop", node=HOST, pool=POOL)
    return found | ({"nodeName": NODE} if "nodeName" in found else {})


def added_labels(manifest: Json) -> Mapping[str, str]:
    plain = pod()["metadata"]["labels"]
    return {key: v for key, v in manifest["metadata"]["labels"].items() if key not in plain}


def terms_of(manifest: Json, group: str) -> list[Json]:
    found: list[Json] = manifest["spec"]["affinity"][group][REQUIRED]
    return found


def node_terms(manifest: Json) -> list[Json]:
    found = manifest["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("name", PLACED)
def test_a_constraint_adds_to_the_golden_pod_what_is_written_down_and_nothing_else(
    name: str,
) -> None:
    variant = PLACED[name]
    found = placed(variant.placement, pool=variant.pool)
    assert found["spec"] == golden() | expected(variant)
    assert added_labels(found) == variant.labels
    assert found["metadata"]["annotations"] == {
        "streams.ibm.com/contentId": "c1",
        "streams.ibm.com/node": NODE,
    }


def test_every_field_of_a_placement_is_written_down() -> None:
    given = {name for variant in PLACED.values() for name in variant.placement}
    assert given == {each.alias for each in PlacementRequest.model_fields.values()}


def test_a_pe_without_a_place_gets_none_of_this() -> None:
    """Nor does one whose constraints an older release wrote and did not enforce."""
    free: tuple[Json, ...] = ({}, {"coLocations": []}, {"required": True})
    for placement in free:
        assert placed(placement)["spec"] == golden()
        assert added_labels(placed(placement)) == {}
        assert pod(placement=placement) == pod()
    assert pod(placement={"exLocations": ["apart"]}) == pod()


def test_a_node_without_a_hostname_is_named_by_its_name() -> None:
    by_name = {"key": "metadata.name", "operator": "In", "values": [NODE]}
    free = placed({"coLocations": ["a"]}, hostname="")
    assert node_terms(free) == [{"matchFields": [by_name]}]
    tagged = placed({"hostPoolLocation": {"poolIndex": 1}}, pool={"tags": ["gpu"]}, hostname="")
    for term in node_terms(tagged):
        assert term["matchFields"] == [by_name]
        assert len(term["matchExpressions"]) == 1


@pytest.mark.parametrize("tag", ["with space", "x" * 64, "ünï", ""])
def test_a_tag_that_is_no_label_value_has_no_term_with_the_original_label(tag: str) -> None:
    """The API server would refuse the pod, and no node can have such a label."""
    location = {"hostPoolLocation": {"poolIndex": 1}}
    keys = [
        expression["key"]
        for term in node_terms(placed(location, pool={"tags": [tag]}))
        for expression in term["matchExpressions"]
    ]
    assert keys == [f"tag.streams.ibm.com/{tag}", labels.HOSTNAME]


# --------------------------------------------------------------------------- tokens


TOKENS = (
    "Op[0]",
    "Main::Par[1].Work[12]",
    "with spaces",
    "über ☃ 😀",
    "x" * 300,
    "_.-both ends-._",
    "_",
    "...",
    "-",
    "",
    "a/b:c,d=e",
)


@pytest.mark.parametrize("token", TOKENS, ids=range(len(TOKENS)))
@pytest.mark.parametrize(
    ("kind", "field"),
    [("colocation", "coLocations"), ("exlocation", "exLocations"), ("isolation", "isolations")],
)
def test_any_token_is_a_key_by_its_sha_1_with_a_value_that_a_label_can_have(
    kind: str, field: str, token: str
) -> None:
    """Operators of parallel regions have brackets in their names, and users write anything."""
    key = f"streams.ibm.com/host{kind}.{hashlib.sha1(token.encode()).hexdigest()}"
    if kind == "isolation":
        assert added_labels(placed({"isolationLabels": [token]})).keys() == {key}
    found = placed({field: [token]})
    group = "podAffinity" if kind == "colocation" else "podAntiAffinity"
    (term,) = terms_of(found, group)
    (of_token, of_job) = term["labelSelector"]["matchExpressions"]
    assert of_token["key"] == key
    (value,) = of_token["values"]
    assert value
    assert is_label_value(value)
    assert of_job["values"] == ["shop"]
    assert added_labels(found) == ({} if kind == "isolation" else {key: value})


def test_a_token_that_several_operators_of_a_pe_name_counts_once() -> None:
    found = placed({"coLocations": ["a", "a", "b"]})
    assert len(terms_of(found, "podAffinity")) == len(added_labels(found)) == 2


def selects(term: Json, manifest: Json) -> bool:
    """Whether a term over pods selects a pod."""
    marks = manifest["metadata"]["labels"]
    return all(
        marks.get(each["key"]) in each["values"]
        for each in term["labelSelector"]["matchExpressions"]
    )


def test_equal_tokens_of_two_jobs_do_not_match() -> None:
    placement = {"coLocations": ["same"], "exLocations": ["same"]}
    ours = placed(placement)
    theirs = ours | {
        "metadata": ours["metadata"]
        | {"labels": ours["metadata"]["labels"] | {labels.JOB: "another"}}
    }
    for group in ("podAffinity", "podAntiAffinity"):
        (term,) = terms_of(ours, group)
        assert selects(term, ours)
        assert not selects(term, theirs)


def test_an_isolated_pe_avoids_all_others_of_its_job_and_they_do_not_avoid_each_other() -> None:
    """The worked example of three PEs: what is not symmetric is not transitive either."""
    source, work = (placed({"isolationLabels": ["Sink"]}) for _ in range(2))
    sink = placed({"isolation": "Sink", "isolations": ["Sink"]})
    (term,) = terms_of(sink, "podAntiAffinity")
    assert [selects(term, each) for each in (source, work, sink)] == [True, True, False]
    assert "podAntiAffinity" not in source["spec"]["affinity"]


# --------------------------------------------------------------------------- templates


def with_template(placement: Json, pool: Json | None = None, **spec: Any) -> Json:
    return placed(placement, pool=pool, podTemplate={"spec": spec})


SSD: Json = {"key": "disk", "operator": "In", "values": ["ssd"]}
FAST: Json = {"key": "net", "operator": "Exists"}
PIN: Json = {"key": labels.HOSTNAME, "operator": "In", "values": [HOST]}
BY_FIELD: Json = {"key": "metadata.name", "operator": "NotIn", "values": ["x"]}


def node_affinity(*terms: Json) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def test_each_node_term_of_a_template_is_combined_with_each_of_ours() -> None:
    """Only one of several terms has to hold: appended, the template's would undo the pin."""
    theirs = node_affinity({"matchExpressions": [SSD]}, {"matchExpressions": [FAST]})
    found = with_template({"coLocations": ["a"]}, affinity=theirs)
    assert node_terms(found) == [
        {"matchExpressions": [PIN, SSD]},
        {"matchExpressions": [PIN, FAST]},
    ]
    tagged = with_template(
        {"hostPoolLocation": {"poolIndex": 1}}, pool={"tags": ["gpu"]}, affinity=theirs
    )
    assert len(node_terms(tagged)) == 4
    assert all(PIN in term["matchExpressions"] for term in node_terms(tagged))


def test_match_fields_of_a_template_are_combined_with_our_expressions() -> None:
    found = with_template({"host": "a"}, affinity=node_affinity({"matchFields": [BY_FIELD]}))
    assert node_terms(found) == [{"matchExpressions": [PIN], "matchFields": [BY_FIELD]}]


def test_an_empty_term_of_a_template_still_selects_no_node() -> None:
    beside = node_affinity({}, {"matchExpressions": [SSD]})
    found = with_template({"host": "a"}, affinity=beside)
    assert node_terms(found) == [{"matchExpressions": [PIN, SSD]}]
    assert node_terms(with_template({"host": "a"}, affinity=node_affinity({}))) == [{}]


def test_pod_terms_and_tolerations_of_a_template_come_after_ours() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    preferred = [{"weight": 1, "preference": {"matchExpressions": [SSD]}}]
    found = with_template(
        {"hostPoolLocation": {"poolIndex": 1}, "coLocations": ["a"], "exLocations": ["b"]},
        pool={"membershipMode": "exclusive"},
        affinity={
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred},
            "podAffinity": {REQUIRED: [term]},
            "podAntiAffinity": {REQUIRED: [term]},
        },
        tolerations=[{"key": "spot", "operator": "Exists"}],
        nodeSelector={"kubernetes.io/os": "linux"},
    )
    affinity, ours = found["spec"]["affinity"], placed({"coLocations": ["a"]})["spec"]["affinity"]
    assert affinity["nodeAffinity"] == ours["nodeAffinity"] | {
        "preferredDuringSchedulingIgnoredDuringExecution": preferred
    }
    assert affinity["podAffinity"][REQUIRED] == [*ours["podAffinity"][REQUIRED], term]
    assert affinity["podAntiAffinity"][REQUIRED][1:] == [term]
    keys = [each["key"] for each in found["spec"]["tolerations"]]
    assert keys == [labels.EXCLUSIVE_TAINT, "spot"]
    assert found["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}


# --------------------------------------------------------------------------- an API server


def test_the_api_server_accepts_every_pod_that_is_made() -> None:
    """Otherwise a refusal would show only at the launch of a PE."""
    made = [placed(each.placement, pool=each.pool) for each in PLACED.values()]
    made += [
        placed({name: [token]})
        for token in TOKENS
        for name in ("coLocations", "exLocations", "isolations", "isolationLabels")
    ]
    made += [
        placed({"coLocations": ["a"]}, hostname=""),
        with_template(
            {"host": "a"}, affinity=node_affinity({"matchFields": [BY_FIELD | {"operator": "In"}]})
        ),
    ]

    async def create_all() -> None:
        sandbox = Sandboxed()
        for number, manifest in enumerate(made):
            manifest["metadata"] |= {"name": f"pod-{number}", "ownerReferences": []}
            sandbox.create(Builder("Pod", manifest), "v1")

    run_virtually(create_all())
