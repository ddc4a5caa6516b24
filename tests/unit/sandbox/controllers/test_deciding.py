"""The pure decisions of the controllers, without a cluster."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sandbox.controllers.accounts import Accounts
from sandbox.controllers.behaviors import AFTER, BEHAVIOR, Behavior, directive_of
from sandbox.controllers.demands import demand_of
from sandbox.controllers.eviction import stay_s
from sandbox.controllers.feasibility import Placed, Unplaced, choose
from sandbox.controllers.kubelet_states import Memory, Sight, next_step
from sandbox.controllers.node_statuses import node_object, wanted_taints
from sandbox.controllers.ownership import Delete, Fate, Keep, Owner, SetOwners, decide
from sandbox.controllers.pod_statuses import Place
from sandbox.controllers.selectors import Taint, Toleration
from sandbox.controllers.settings import Settings
from sandbox.store.quantities import BadQuantity, amount, units
from tests.unit.sandbox.controllers.living import hopeless, near, no_node, pod

TIME = "2026-11-20T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100m", Fraction(1, 10)),
        ("1.5Gi", Fraction(3 * 2**29)),
        ("2e3", Fraction(2000)),
        ("1E", Fraction(10**18)),
        ("1Ei", Fraction(2**60)),
        (".5k", Fraction(500)),
        ("0.000000001", Fraction(1, 10**9)),
        ("3n", Fraction(3, 10**9)),
        (4, Fraction(4)),
    ],
)
def test_quantities_are_read_exactly(text: str | int, value: Fraction) -> None:
    assert amount(text) == value


@pytest.mark.parametrize("text", ["", "many", "1 Gi", "1gi", "1.2.3", "e3"])
def test_what_is_not_a_quantity_is_refused(text: str) -> None:
    with pytest.raises(BadQuantity):
        amount(text)


def test_fractions_of_a_unit_count_as_a_whole_one() -> None:
    assert units("cpu", "0.0001") == 1
    assert units("memory", "100m") == 1
    assert units("cpu", "2") == 2000


def demand(**spec: Any) -> Any:
    body = pod("p", **spec)
    body["metadata"]["namespace"] = "default"
    return demand_of(body)


def accounts(*names: str, cpu: str = "1") -> Accounts:
    found = Accounts()
    for name in names:
        found.set_node(node_object(name, capacity={"cpu": cpu, "memory": "1Gi", "pods": "10"}))
    return found


def test_equal_nodes_are_chosen_by_name_so_that_runs_are_repeatable() -> None:
    assert choose(demand(), accounts("b", "a", "c")) == Placed("a")


def test_each_node_is_counted_under_the_reason_of_its_first_filter() -> None:
    known = accounts("a", "b", "c")
    tainted = node_object("d", capacity={"cpu": "0"})
    tainted["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    known.set_node(tainted)
    assert choose(demand(requests={"cpu": "2"}), known) == Unplaced(
        no_node(4, "1 node(s) had untolerated taint(s), 3 Insufficient cpu", freeing=hopeless(4))
    )


def test_counting_and_uncounting_a_pod_leaves_the_account_as_it_was() -> None:
    known = accounts("a")
    repelling = demand(
        requests={"cpu": "1"},
        labels={"x": "y"},
        affinity=near("podAntiAffinity", {"key": "x", "operator": "Exists"}),
    )
    for _ in range(2):
        assert choose(repelling, known) == Placed("a")
        known.occupy("uid", "a", repelling)
        known.occupy("uid", "a", repelling)
        assert isinstance(choose(demand(labels={"x": "y"}), known), Unplaced)
        assert known.vacate("uid")
        assert not known.vacate("uid")


def test_init_containers_count_only_as_far_as_they_exceed_the_others() -> None:
    init = {"name": "i", "resources": {"limits": {"cpu": "3", "memory": "1"}}}
    asked = demand(requests={"cpu": "1", "memory": "2"}, initContainers=[init])
    assert asked.requests == {"cpu": 3000, "memory": 2}


def toleration(key: str, seconds: int | None) -> Toleration:
    return Toleration(key=key, exists=True, value="", effect="NoExecute", seconds=seconds)


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected_s"),
    [
        ([], (), None),
        (["a"], (), 0.0),
        (["a"], (toleration("a", None),), None),
        (["a"], (toleration("a", 30),), 30.0),
        (["a"], (toleration("a", None), toleration("a", 30)), 30.0),
        (["a", "b"], (toleration("a", 30), toleration("b", 10)), 10.0),
        (["a", "b"], (toleration("a", 30),), 0.0),
        (["a"], (toleration("a", -5),), 0.0),
    ],
)
def test_a_pod_stays_as_long_as_its_shortest_toleration_allows(
    taints: list[str], tolerations: tuple[Toleration, ...], expected_s: float | None
) -> None:
    found = [Taint(key, "", "NoExecute") for key in taints]
    assert stay_s(found, tolerations) == expected_s


def owner(fate: Fate, *, blocking: bool = False) -> Owner:
    return Owner({"uid": fate.name, "blockOwnerDeletion": blocking}, fate)


ITEM: dict[str, Any] = {"metadata": {"name": "x", "uid": "x"}}


@pytest.mark.parametrize(
    ("fates", "expected"),
    [
        ([], Keep()),
        ([Fate.SOLID], Keep()),
        ([Fate.ABSENT], Delete("Background")),
        ([Fate.WAITING], Delete("Background")),
        ([Fate.ABSENT, Fate.UNRESOLVABLE], Keep()),
    ],
)
def test_an_object_goes_only_when_every_owner_is_known_to_be_gone(
    fates: list[Fate], expected: object
) -> None:
    assert decide(ITEM, [owner(fate) for fate in fates], []) == expected


def test_a_solid_owner_outweighs_those_that_are_gone_or_going() -> None:
    owners = [owner(fate) for fate in (Fate.SOLID, Fate.ABSENT, Fate.WAITING)]
    assert decide(ITEM, owners, []) == SetOwners((owners[0].reference,))


def test_an_object_with_dependents_waits_for_them_when_its_owner_waits() -> None:
    decided = decide(ITEM, [owner(Fate.WAITING, blocking=True)], [ITEM])
    assert decided == Delete("Foreground")


def test_an_object_that_asks_to_orphan_its_dependents_is_deleted_so() -> None:
    item = {"metadata": {**ITEM["metadata"], "finalizers": ["orphan"]}}
    assert decide(item, [owner(Fate.ABSENT)], []) == Delete("Orphan")


@pytest.mark.parametrize(
    ("said", "expected"),
    [("500ms", 0.5), ("2s", 2.0), ("1.5m", 90.0), ("3", 3.0), ("1h", 3600.0)],
)
def test_durations_are_read_with_their_unit(said: str, expected: float) -> None:
    directive = directive_of(pod("p", annotations={BEHAVIOR: "complete", AFTER: said}))
    assert (directive.behavior, directive.after_s) == (Behavior.COMPLETE, expected)


def test_a_pod_with_less_grace_than_the_stop_delay_is_removed_sooner() -> None:
    settings = Settings(stop_delay_s=10.0)
    body = pod("p")
    body["metadata"] |= {"deletionTimestamp": TIME, "deletionGracePeriodSeconds": 2}
    place = Place("10.0.0.1", "10.244.0.1")
    step = next_step(body, Memory(bound_s=0.0), Sight(place, 100.0), settings)
    assert (step.remove, step.wake_at_s) == (False, 102.0)
    step = next_step(body, step.memory, Sight(place, 102.0), settings)
    assert step.remove


def test_taints_of_others_survive_whatever_happens_to_the_node() -> None:
    node = node_object("n", capacity={})
    foreign = {"key": "mine", "effect": "NoExecute", "timeAdded": TIME}
    node["spec"] = {"unschedulable": True, "taints": [foreign]}
    for status in ("True", "False", "Unknown"):
        node["status"] = {"conditions": [{"type": "Ready", "status": status}]}
        assert wanted_taints(node, TIME)[0] == foreign
    node["spec"]["taints"] = wanted_taints(node, TIME)
    assert wanted_taints(node, "later") == node["spec"]["taints"]
