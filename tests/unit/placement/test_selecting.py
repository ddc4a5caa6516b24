"""Node selectors and node affinity of pod templates: PEs run only where their pods may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.reasons import Reason
from contracts.scheduling.node_affinity import NodeAffinity, NodeSelectorTerm
from contracts.scheduling.nodes import Node
from contracts.scheduling.selectors import Requirement
from placement.answers import Family, Placed, Refused
from placement.checking import violations
from placement.cluster import Cluster
from placement.deciding import decide
from placement.job import Job, Pe, Pool
from placement.taken import Pod

HAS = {"cpu": 4000, "pods": 10}
NODES = (
    Node("n0", {"disk": "ssd", "cores": "8"}, (), HAS),
    Node("n1", {"disk": "hdd", "cores": "16"}, (), HAS),
    Node("n2", {"cores": "many"}, (), HAS),
)


def term(*expressions: Requirement, fields: tuple[Requirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions, fields)


def selected(*terms: NodeSelectorTerm, **labels: str) -> list[str]:
    selector = NodeAffinity(tuple(labels.items()), terms)
    found = Cluster.of(NODES).selected(selector).tolist()
    return [node.name for node, is_in in zip(NODES, found, strict=True) if is_in]


@pytest.mark.parametrize(
    ("operator", "key", "values", "nodes"),
    [
        ("In", "disk", ("ssd", "nvme"), ["n0"]),
        ("NotIn", "disk", ("ssd",), ["n1", "n2"]),
        ("Exists", "disk", (), ["n0", "n1"]),
        ("DoesNotExist", "disk", (), ["n2"]),
        ("Gt", "cores", ("8",), ["n1"]),
        ("Lt", "cores", ("16",), ["n0"]),
        ("Gt", "cores", ("a few",), []),
        ("Gt", "cores", ("1", "2"), []),
        ("Like", "disk", ("ssd",), []),
    ],
)
def test_an_operator_means_what_it_means_to_the_scheduler(
    operator: str, key: str, values: tuple[str, ...], nodes: list[str]
) -> None:
    assert selected(term(Requirement(key, operator, values))) == nodes


def test_expressions_of_a_term_hold_together_and_of_terms_one_is_enough() -> None:
    ssd, hdd = Requirement("disk", "In", ("ssd",)), Requirement("disk", "In", ("hdd",))
    assert selected(term(ssd, hdd)) == []
    assert selected(term(ssd), term(hdd)) == ["n0", "n1"]
    assert selected(term(ssd), term(hdd), disk="hdd") == ["n1"]
    assert selected(disk="hdd") == ["n1"]
    assert selected() == ["n0", "n1", "n2"]


def test_a_term_that_is_empty_selects_nothing_and_a_name_is_a_field() -> None:
    assert selected(term()) == []
    name = Requirement("metadata.name", "In", ("n2",))
    assert selected(term(fields=(name,)), term()) == ["n2"]
    assert selected(term(name)) == [], "a label of that key is another thing"


def test_pes_go_where_their_templates_select() -> None:
    cluster = Cluster.of(NODES)
    apart = frozenset("e")
    asked = Job(
        "default/job",
        (
            Pe(0, node_selector={"disk": "hdd"}),
            Pe(1, exlocations=apart, node_selector_terms=(term(Requirement("disk", "Exists")),)),
            Pe(2, exlocations=apart),
            Pe(3, node_selector={"disk": "ssd"}, exlocations=apart),
        ),
    )
    decided = decide(cluster, asked)
    assert isinstance(decided, Placed)
    assert decided.assignment == {0: "n1", 1: "n1", 2: "n2", 3: "n0"}
    assert violations(cluster, asked, decided) == []
    wrong = replace(decided, assignment={**decided.assignment, 0: "n0"})
    assert violations(cluster, asked, wrong) == [
        "PE 0 is on n0, which its template does not select"
    ]


def test_what_shares_a_node_has_to_be_selected_by_every_template() -> None:
    pes = (
        Pe(0, colocations=frozenset("c"), node_selector={"disk": "ssd"}),
        Pe(1, colocations=frozenset("c"), node_selector={"cores": "8"}),
    )
    decided = decide(Cluster.of(NODES), Job("default/job", pes))
    assert isinstance(decided, Placed)
    assert set(decided.assignment.values()) == {"n0"}


def test_labels_that_no_node_has_are_refused_at_once_and_named() -> None:
    asked = Job("default/job", (Pe(0, node_selector={"disk": "nvme"}),))
    decided = decide(Cluster.of(NODES), asked)
    assert isinstance(decided, Refused)
    assert decided.why is Reason.LABELS_MISSING
    assert decided.families == (Family.SELECTORS,)
    assert not decided.waits
    assert str(decided.nearest[0]) == "n0 lacks the label disk=nvme"
    terms = (term(Requirement("cores", "Gt", ("32",)), Requirement("disk", "Exists")),)
    other = decide(Cluster.of(NODES), Job("default/job", (Pe(0, node_selector_terms=terms),)))
    assert isinstance(other, Refused)
    assert "n0 lacks the label cores above 32" in other.message


def test_nodes_that_are_selected_and_full_wait() -> None:
    full = Pod("n0", {"cpu": 4000})
    asked = Job("default/job", (Pe(0, {"cpu": 1}, node_selector={"disk": "ssd"}),))
    decided = decide(Cluster.of(NODES, (full,)), asked)
    assert isinstance(decided, Refused)
    assert decided.waits


def test_members_of_a_pool_are_those_that_its_pes_can_use() -> None:
    pes = (Pe(0, pool=0, node_selector={"disk": "hdd"}), Pe(1, pool=0))
    asked = Job("default/job", pes, (Pool(0, "P", size=1),))
    decided = decide(Cluster.of(NODES), asked)
    assert isinstance(decided, Placed)
    assert decided.pools[0].nodes == ("n1",)
