"""The room of nodes: what bound pods leave of them, and which pods fit in there."""

from __future__ import annotations

import random

from contracts.scheduling.node_affinity import NodeAffinity
from contracts.scheduling.nodes import Node
from contracts.scheduling.taints import Taint, Toleration
from services.fusion_backend.core.rooms import Rooms, demand_of, fits

TEN = demand_of({"cpu": 10_000}, NodeAffinity(), ())


def a_node(
    name: str, *, cpu: int = 32_000, pods: int = 110, taints: tuple[Taint, ...] = ()
) -> Node:
    allocatable = {"cpu": cpu, "pods": pods}
    return Node(name, {"kubernetes.io/hostname": name}, allocatable=allocatable, taints=taints)


def four_nodes() -> Rooms:
    """Four nodes of 32 CPUs, on which seven pods of ten are bound."""
    rooms = Rooms()
    for at in range(4):
        rooms.update_node(f"n{at}", a_node(f"n{at}"))
    for at in range(7):
        rooms.update_pod(at, f"n{at % 4}", {"cpu": 10_000})
    return rooms


def test_a_node_takes_whole_pods_only() -> None:
    """Three of ten CPUs on each node of 32: five more fit, and no sixth one."""
    rooms = four_nodes().all()
    assert fits(rooms, [(TEN, 5)])
    assert not fits(rooms, [(TEN, 6)])


def test_a_pod_that_is_gone_leaves_its_room_and_one_that_moves_takes_it_along() -> None:
    rooms = four_nodes()
    rooms.update_pod(0, "", {})
    assert fits(rooms.all(), [(TEN, 6)])
    rooms.update_pod(1, "n0", {"cpu": 10_000})
    assert fits(rooms.all(), [(TEN, 6)])
    rooms.update_pod(1, "n0", {"cpu": 22_000})
    assert not fits(rooms.all(), [(TEN, 6)])


def test_a_pod_counts_on_a_node_that_is_seen_later() -> None:
    rooms = Rooms()
    rooms.update_pod("p", "n0", {"cpu": 30_000})
    rooms.update_node("n0", a_node("n0"))
    assert not fits(rooms.all(), [(TEN, 1)])


def test_a_node_that_is_gone_or_takes_no_pods_has_no_room() -> None:
    rooms = four_nodes()
    rooms.update_node("n3", None)
    assert fits(rooms.all(), [(TEN, 3)])
    assert not fits(rooms.all(), [(TEN, 4)])


def test_the_number_of_pods_of_a_node_is_limited() -> None:
    rooms = Rooms()
    rooms.update_node("n0", a_node("n0", pods=2))
    assert fits(rooms.all(), [(demand_of({}, NodeAffinity(), ()), 2)])
    assert not fits(rooms.all(), [(demand_of({}, NodeAffinity(), ()), 3)])


def test_selectors_and_taints_count() -> None:
    gold = Taint("gold", "", "NoSchedule")
    rooms = Rooms()
    rooms.update_node("n0", a_node("n0"))
    rooms.update_node("n1", a_node("n1", taints=(gold,)))
    on_n0 = NodeAffinity((("kubernetes.io/hostname", "n0"),))
    assert not fits(rooms.all(), [(TEN, 4)])
    assert fits(
        rooms.all(),
        [(demand_of({"cpu": 10_000}, NodeAffinity(), (Toleration("gold", "Exists"),)), 6)],
    )
    assert not fits(
        rooms.all(), [(demand_of({"cpu": 10_000}, on_n0, (Toleration("gold", "Exists"),)), 4)]
    )


def test_a_resource_that_a_node_lacks_has_no_room() -> None:
    rooms = four_nodes()
    assert not fits(rooms.all(), [(demand_of({"example.com/gpu": 1}, NodeAffinity(), ()), 1)])


def test_pods_of_several_demands_share_the_room() -> None:
    small = demand_of({"cpu": 2_000}, NodeAffinity(), ())
    rooms = four_nodes().all()
    assert fits(rooms, [(small, 4), (TEN, 5)])
    assert not fits(rooms, [(small, 5), (TEN, 5)])


def test_the_room_is_the_same_whatever_the_order_of_changes() -> None:
    chance = random.Random(7)
    nodes = {f"n{at}": a_node(f"n{at}") for at in range(3)}
    pods = {at: (f"n{at % 3}", {"cpu": 1_000 * at}) for at in range(6)}
    found = set()
    for _ in range(20):
        rooms, keys = Rooms(), list[str | int]([*nodes, *pods, *nodes, *pods])
        chance.shuffle(keys)
        for key in keys:
            if isinstance(key, str):
                rooms.update_node(key, chance.choice((nodes[key], None)))
            else:
                rooms.update_pod(key, *chance.choice((pods[key], ("", {}))))
        for name, node in nodes.items():
            rooms.update_node(name, node)
        for at, (node_name, requests) in pods.items():
            rooms.update_pod(at, node_name, requests)
        found.add(str([(room.node.name, sorted(room.free.items())) for room in rooms.all()]))
    assert len(found) == 1
