"""Counts that settle a refusal before any search."""

from __future__ import annotations

from contracts.reasons import Reason
from contracts.scheduling.nodes import Node
from placement.answers import Refused
from placement.bounds import is_impossible
from placement.building import build_problem
from placement.cluster import Cluster
from placement.deciding import decide
from placement.job import Job, Pe


def test_more_isolated_pes_than_racks_are_refused_by_their_count() -> None:
    """All ask for something else, so that no class alone says it: the search ran out of time."""
    has = {"cpu": 4000, "pods": 10}
    cluster = Cluster.of(
        Node(f"n{number}", {"rack": f"r{number % 40}"}, allocatable=has) for number in range(200)
    )
    pes = tuple(Pe(number, {"cpu": 500 + number}, is_isolated=True) for number in range(41))
    asked = Job("default/job", pes, topology_key="rack")
    assert is_impossible(build_problem(cluster, asked))
    assert not is_impossible(
        build_problem(cluster, Job("default/job", pes[1:], topology_key="rack"))
    )
    answer = decide(cluster, asked)
    assert isinstance(answer, Refused)
    assert answer.why is Reason.EXLOCATION_IMPOSSIBLE
