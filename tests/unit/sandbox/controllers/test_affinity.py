"""Pods that attract, repel or please each other: who may go where, and when a waiting pod may."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from sandbox.controllers.accounts import Accounts
from sandbox.controllers.demands import Demand, Namespaces, PodTerm, demand_of
from sandbox.controllers.feasibility import Placed, Unplaced, choose
from sandbox.controllers.node_statuses import node_object
from sandbox.store.resources import NAMESPACE, NODE, POD
from tests.unit.sandbox.controllers.living import (
    LivingCluster,
    expression,
    hopeless,
    no_node,
    nobody,
    pod,
    required_nodes,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
CAPACITY = {"cpu": "64", "memory": "256Gi", "pods": "110"}


def demand(name: str, namespace: str = "default", **spec: Any) -> Demand:
    body = pod(name, **spec)
    body["metadata"]["namespace"] = namespace
    return demand_of(body)


def term(*labels: str, topology: str = HOST, **more: Any) -> dict[str, Any]:
    """A term about pods that have all of these labels."""
    expressions = [expression(label, "Exists") for label in labels]
    return {"topologyKey": topology, "labelSelector": {"matchExpressions": expressions}, **more}


def wanting(kind: str, *terms: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: {REQUIRED: list(terms)}}


def preferring(kind: str, weight: int, about: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": about}]}}


def two_zones() -> Accounts:
    """Nodes a1 and a2 in one zone, b1 in another, and c1 in none."""
    accounts = Accounts()
    for name in ("a1", "a2", "b1", "c1"):
        node = node_object(name, capacity=CAPACITY)
        labels = {HOST: name} | ({} if name == "c1" else {"zone": name[0]})
        accounts.set_node({**node, "metadata": {**node["metadata"], "labels": labels}})
    return accounts


def chosen(asked: Demand, accounts: Accounts) -> str:
    found = choose(asked, accounts)
    return found.node if isinstance(found, Placed) else ""


def test_all_terms_of_an_affinity_have_to_select_the_same_pod() -> None:
    accounts = two_zones()
    accounts.occupy("1", "a1", demand("red", labels={"red": ""}))
    accounts.occupy("2", "b1", demand("round", labels={"round": ""}))
    both = demand("p", affinity=wanting("podAffinity", term("red"), term("round", topology="zone")))
    assert choose(both, accounts) == Unplaced(
        no_node(4, "4 node(s) didn't match pod affinity rules", freeing=hopeless(4))
    )
    accounts.occupy("3", "b1", demand("red-and-round", labels={"red": "", "round": ""}))
    assert chosen(both, accounts) == "b1"


def test_each_term_holds_in_its_own_topology_and_needs_the_label_of_it() -> None:
    accounts = two_zones()
    accounts.occupy("1", "a1", demand("x", labels={"x": ""}))
    zone = term("x", topology="zone")
    apart = wanting("podAntiAffinity", term("x"))
    assert chosen(demand("p", affinity={**wanting("podAffinity", zone), **apart}), accounts) == "a2"
    away = demand("p", affinity=wanting("podAntiAffinity", zone))
    assert chosen(away, accounts) == "b1"
    accounts.occupy("2", "b1", demand("y", labels={"x": ""}))
    assert chosen(away, accounts) == "c1", "a node without the label is in no zone"


def test_the_first_of_a_group_needs_to_be_of_it_and_a_node_with_the_topology() -> None:
    accounts = two_zones()
    near = wanting("podAffinity", term("g", topology="zone"))
    assert chosen(demand("p", affinity=near), accounts) == ""
    first = demand("p", labels={"g": ""}, affinity=near)
    assert chosen(first, accounts) == "a1"
    on_c1 = required_nodes({"matchFields": [expression("metadata.name", "In", "c1")]})
    assert chosen(demand("p", labels={"g": ""}, affinity={**near, **on_c1}), accounts) == ""
    accounts.occupy("1", "b1", first)
    assert chosen(first, accounts) == "b1", "it is not the first any more"


def test_others_are_kept_out_of_the_whole_topology_until_the_pod_is_gone() -> None:
    accounts = two_zones()
    hermit = demand("hermit", affinity=wanting("podAntiAffinity", term("guest", topology="zone")))
    accounts.occupy("1", "a1", hermit)
    guest = demand("p", labels={"guest": ""})
    assert chosen(guest, accounts) == "b1"
    on_a2 = demand("p", labels={"guest": ""}, nodeSelector={HOST: "a2"})
    assert choose(on_a2, accounts) == Unplaced(
        no_node(
            4,
            "1 node(s) didn't satisfy existing pods anti-affinity rules, "
            "3 node(s) didn't match Pod's node affinity/selector",
            freeing=f"{nobody(1)}, {hopeless(3)}",
        )
    )
    assert accounts.vacate("1")
    assert chosen(guest, accounts) == "a1"


@pytest.mark.parametrize(
    ("more", "seen"),
    [
        ({}, {"default"}),
        ({"namespaces": ["blue", "red"]}, {"blue", "red"}),
        ({"namespaceSelector": {"matchLabels": {"team": "one"}}}, {"blue"}),
        (
            {"namespaces": ["red"], "namespaceSelector": {"matchLabels": {"team": "one"}}},
            {"blue", "red"},
        ),
        ({"namespaceSelector": {}}, {"default", "blue", "red"}),
        ({"namespaces": []}, {"default"}),
    ],
)
def test_a_term_is_about_its_own_namespace_those_it_names_and_those_it_selects(
    more: dict[str, Any], seen: set[str]
) -> None:
    found = set()
    for namespace in ("default", "blue", "red"):
        accounts = two_zones()
        accounts.neighbours.set_namespace("blue", {"team": "one"})
        accounts.occupy("1", "a2", demand("star", namespace, labels={"x": ""}))
        fan = demand("p", affinity=wanting("podAffinity", term("x", **more)))
        if chosen(fan, accounts) == "a2":
            found.add(namespace)
    assert found == seen


def test_counts_follow_nodes_that_change_their_labels_go_and_come_back() -> None:
    accounts = two_zones()
    accounts.occupy("1", "a1", demand("x", labels={"x": ""}))
    fan = demand("p", affinity=wanting("podAffinity", term("x", topology="zone")))
    assert chosen(fan, accounts) == "a2"
    a1 = node_object("a1", capacity=CAPACITY)
    a1["metadata"]["labels"] = {HOST: "a1", "zone": "b"}
    accounts.set_node(a1)
    assert chosen(fan, accounts) == "b1"
    accounts.forget_node("a1")
    assert chosen(fan, accounts) == "", "a pod of a node that is gone is nowhere"
    accounts.set_node(a1)
    assert chosen(fan, accounts) == "b1"


def test_preferences_decide_among_nodes_that_fit_and_forbid_none() -> None:
    accounts = two_zones()
    accounts.occupy("1", "b1", demand("x", labels={"x": ""}))
    assert chosen(demand("p", affinity=preferring("podAffinity", 1, term("x"))), accounts) == "b1"
    for number, name in enumerate(("a1", "a2", "c1")):
        accounts.occupy(f"y{number}", name, demand("y", labels={"y": ""}))
    away = demand("p", affinity=preferring("podAntiAffinity", 1, term("y")))
    assert chosen(away, accounts) == "b1"
    only_a1 = demand(
        "p", affinity=preferring("podAntiAffinity", 100, term("y")), nodeSelector={HOST: "a1"}
    )
    assert chosen(only_a1, accounts) == "a1"


def test_what_bound_pods_prefer_and_need_counts_for_those_that_come() -> None:
    accounts = two_zones()
    fond = demand("fond", affinity=preferring("podAffinity", 5, term("dear")))
    accounts.occupy("1", "c1", fond)
    dear = demand("p", labels={"dear": ""})
    assert chosen(dear, accounts) == "c1"
    for number, name in enumerate(("a1", "a2", "c1")):
        averse = demand("averse", affinity=preferring("podAntiAffinity", 9, term("dear")))
        accounts.occupy(f"averse-{number}", name, averse)
    assert chosen(dear, accounts) == "b1"
    needing = demand("needing", labels={"g": ""}, affinity=wanting("podAffinity", term("g")))
    accounts.occupy("2", "a2", needing)
    assert chosen(demand("p", labels={"g": ""}), accounts) == "a2"


def test_weights_of_preferred_nodes_add_up() -> None:
    def liking(weight: int, name: str) -> dict[str, Any]:
        preference = {"matchExpressions": [expression(HOST, "In", name)]}
        return {"weight": weight, "preference": preference}

    likings = [liking(60, "a2"), liking(40, "b1"), liking(30, "b1")]
    asked = demand("p", affinity={"nodeAffinity": {PREFERRED: likings}})
    assert chosen(asked, two_zones()) == "b1"


def test_only_the_nodes_that_an_affinity_names_are_looked_at() -> None:
    named = {"matchFields": [expression("metadata.name", "In", "a1")]}
    too_big = demand("p", requests={"cpu": "65"}, affinity=required_nodes(named))
    assert choose(too_big, two_zones()) == Unplaced(
        no_node(
            4,
            "1 Insufficient cpu, 3 node(s) didn't satisfy plugin(s) [NodeAffinity]",
            freeing=hopeless(4),
        )
    )
    both = {"matchFields": [*named["matchFields"], expression("metadata.name", "In", "a2")]}
    found = choose(demand("p", affinity=required_nodes(both)), two_zones())
    assert found == Unplaced("0/4 nodes are available: pod affinity terms conflict. not found")


@pytest.mark.looptime
async def test_a_waiting_pod_hears_of_labels_of_pods_nodes_and_namespaces(
    cluster: LivingCluster,
) -> None:
    about = term("star", namespaceSelector={"matchLabels": {"open": "yes"}})
    async with cluster.living(nodes=1):
        cluster.create(NAMESPACE, {"metadata": {"name": "other"}})
        cluster.create(POD, pod("there", nodeSelector={HOST: "node-0"}), "other")
        cluster.create(POD, pod("bad", labels={"bad": ""}))
        await asyncio.sleep(1)
        cluster.create(POD, pod("fan", affinity=wanting("podAffinity", about)))
        cluster.create(POD, pod("shy", affinity=wanting("podAntiAffinity", term("bad"))))
        cluster.create(POD, pod("picky", nodeSelector={"disk": "ssd"}))
        await asyncio.sleep(1)
        waiting = ("fan", "shy", "picky")
        assert [cluster.node_of(name) for name in waiting] == [None, None, None]
        labels = {"metadata": {"labels": {"star": ""}}}
        cluster.store.patch(POD, "other", "there", labels, "application/merge-patch+json")
        cluster.merge(POD, "bad", {"metadata": {"labels": {"bad": None}}})
        cluster.merge(NODE, "node-0", {"metadata": {"labels": {"disk": "ssd"}}})
        await asyncio.sleep(1)
        assert [cluster.node_of(name) for name in waiting] == [None, "node-0", "node-0"]
        cluster.merge(NAMESPACE, "other", {"metadata": {"labels": {"open": "yes"}}})
        await asyncio.sleep(1)
        assert cluster.node_of("fan") == "node-0"


@pytest.mark.looptime
async def test_a_pod_that_appears_wakes_those_that_want_to_be_near_it(
    cluster: LivingCluster,
) -> None:
    async with cluster.living(nodes=1):
        cluster.create(POD, pod("fan", affinity=wanting("podAffinity", term("star"))))
        await asyncio.sleep(1)
        cluster.create(POD, pod("star", labels={"star": ""}))
        await asyncio.sleep(1)
        assert cluster.node_of("fan") == "node-0"


@pytest.mark.parametrize("count", [20, 200])
def test_a_decision_asks_about_terms_and_not_about_every_pod(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = two_zones()
    away = wanting("podAntiAffinity", term("g"))
    apart = demand("p", labels={"g": "", "job": ""}, affinity=away)
    for number in range(count):
        labels = {f"other-{number}": "", "job": ""}
        other = wanting("podAntiAffinity", term(f"other-{number}", "job"))
        accounts.occupy(f"{number}", "a1", demand("x", labels=labels, affinity=other))
    accounts.occupy("first", "a1", apart)
    assert chosen(apart, accounts) == "a2"
    asked = []
    selects = PodTerm.selects

    def counted(self: PodTerm, pod: Demand, namespaces: Namespaces) -> bool:
        asked.append(self)
        return selects(self, pod, namespaces)

    monkeypatch.setattr(PodTerm, "selects", counted)
    accounts.occupy("second", "a2", apart)
    assert chosen(apart, accounts) == "b1"
    assert len(asked) <= 5
