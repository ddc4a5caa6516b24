"""Quotas of nodes that exclusive host pools of a namespace may have."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from contracts.reasons import Reason
from placement.answers import Members, Placed
from placement.job import Job, Pe, Pool
from services.hostpool_manager.core.quotas import QuotaLeft, Quotas, over_quota, quota_left
from services.hostpool_manager.core.snapshot import InForce, Placement, Ref
from services.hostpool_manager.settings import HostpoolManagerSettings

SHOP = Ref("team-a", "shop")
JOB = Job(
    "team-a/shop",
    (Pe(0),),
    (Pool(1, "own", is_exclusive=True), Pool(2, "open"), Pool(3, "gpu", is_exclusive=True)),
)


def placement(ref: Ref, *nodes: str, plan: int = 0) -> Placement:
    """A Placement with these members of its exclusive pool in force."""
    in_force = InForce(0, {1: nodes, 2: ("shared",)}) if nodes else InForce()
    return Placement(ref, ref.name, 1, 1, plan_generation=plan, spec=JOB, in_force=in_force)


def placed(own: int, gpu: int = 0) -> Placed:
    """An answer with so many members of the exclusive pools."""
    of_pools = (
        Members(1, tuple(f"o{at}" for at in range(own))),
        Members(2, ("s1", "s2", "s3")),
        Members(3, tuple(f"g{at}" for at in range(gpu))),
    )
    return Placed({0: "o0"}, of_pools)


def test_quotas_are_a_number_for_each_namespace_and_those_of_single_ones() -> None:
    quotas = Quotas.parse(" 4, team-a=10,team-b=0 ")
    assert [quotas.of(each) for each in ("default", "team-a", "team-b")] == [4, 10, 0]
    assert Quotas.parse("").of("default") is None
    assert Quotas.parse("team-a=1").of("default") is None


@pytest.mark.parametrize("text", ["many", "-1", "=3", "a=", "a=1,a=2", "1,2", "a=b=c"])
def test_what_is_no_quota_ends_the_service_at_its_start(text: str) -> None:
    with pytest.raises(ValidationError, match="exclusive_nodes_max"):
        HostpoolManagerSettings(exclusive_nodes_max=text)


def test_members_of_exclusive_pools_of_other_jobs_of_the_namespace_count() -> None:
    placements = {
        each.ref: each
        for each in (
            placement(SHOP, "n1"),
            placement(Ref("team-a", "two"), "n2", "", "n3"),
            placement(Ref("team-b", "three"), "n4"),
        )
    }
    assert quota_left(Quotas.parse("5"), placements, SHOP) == QuotaLeft(5, 2)
    assert quota_left(Quotas.parse("team-b=5"), placements, SHOP) is None


def test_the_refusal_names_pools_nodes_those_of_others_and_the_quota() -> None:
    refused = over_quota(QuotaLeft(4, 2), placement(SHOP), JOB, placed(2, 1))
    assert refused is not None
    assert refused.why is Reason.NODE_QUOTA_EXCEEDED
    assert not refused.waits
    for words in (
        "gpu (1), own (2)",
        "take 3 nodes",
        "team-a have 2",
        "4 are allowed",
        "MILLRACE_",
    ):
        assert words in refused.message


def test_as_many_nodes_as_the_quota_are_allowed_and_shared_pools_do_not_count() -> None:
    assert over_quota(QuotaLeft(4, 2), placement(SHOP), JOB, placed(1, 1)) is None
    assert over_quota(None, placement(SHOP), JOB, placed(9, 9)) is None


def test_a_job_without_a_node_of_its_own_is_placed_where_others_exceed_the_quota() -> None:
    """As after the quota was lowered: it takes no node from anybody."""
    assert over_quota(QuotaLeft(1, 2), placement(SHOP), JOB, placed(0)) is None
    assert over_quota(QuotaLeft(1, 2), placement(SHOP), JOB, placed(1)) is not None


def test_what_runs_keeps_its_nodes_after_the_quota_is_lowered_and_gets_no_more() -> None:
    left, running = QuotaLeft(0), placement(SHOP, "n1", "n2")
    assert over_quota(left, running, JOB, placed(2)) is None
    assert over_quota(left, running, JOB, placed(3)) is not None
    resized = placement(SHOP, "n1", "n2", plan=1)
    assert over_quota(left, resized, JOB, placed(2)) is None
    assert over_quota(left, resized, JOB, placed(3)) is not None
