"""Host pools and nodes alone: node-tainter beside watch-ingest, and people in the others' place.

Whoever acts is fusion-backend and hostpool-manager, which create pools and say their members, and
sometimes somebody who meddles: pools without a finalizer, pools deleted by force, two that list the
same nodes. Somebody else's taint stays where it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from sandbox.store.errors import ApiError
from sandbox.store.resources import NODE
from tests.sandboxed import MERGE
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.node_invariants import KEPT, claims_of, marks_of
from tests.simulation.scenarios.scenario import Act, Holds, Scenario

COVERS = ("services/node_tainter/core/*", "services/hostpool_manager/core/claims.py")

SERVICE = "node-tainter"
POOLS = "streamshostpools"
FIRST, SECOND = "node-0", "node-1"
THEIRS = {"key": f"{KEPT}away", "effect": "PreferNoSchedule"}


# --------------------------------------------------------------------------- what is done


def _create_pool(world: FaultedWorld, name: str, *, is_secured: bool = True) -> None:
    marks = {labels.APP: labels.APP_VALUE, labels.JOB: "j", labels.JOB_UID: "uid-j"}
    finalizers = [labels.NODE_CLAIMS_FINALIZER] if is_secured else []
    body = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "HostPool",
        "metadata": {
            "name": name,
            "namespace": "default",
            "finalizers": finalizers,
            "labels": marks,
        },
        "spec": {"hostpool": {"name": name, "membershipMode": "exclusive"}},
    }
    world.store.create(world.kind(POOLS), "default", body)


def _say_members(world: FaultedWorld, name: str, *members: str) -> None:
    patch = {"status": {"members": list(members)}}
    world.store.patch(world.kind(POOLS), "default", name, patch, MERGE, subresource="status")


def _delete_pool(world: FaultedWorld, name: str) -> None:
    world.store.delete(world.kind(POOLS), "default", name, DeleteOptions())


def _patch_node(world: FaultedWorld, name: str, patch: Mapping[str, Any]) -> None:
    world.store.patch(NODE, None, name, dict(patch), MERGE)


async def _quiet(world: FaultedWorld) -> None:
    _patch_node(world, FIRST, {"spec": {"taints": [THEIRS]}})
    world.start("watch-ingest", SERVICE)
    await world.settle()


async def _held(world: FaultedWorld) -> None:
    """Pool a holds both nodes."""
    await _quiet(world)
    _create_pool(world, "a")
    _say_members(world, "a", FIRST, SECOND)
    await world.until("held", lambda: _a_holds_both(world))
    await world.settle()


async def _held_by_two_instances(world: FaultedWorld) -> None:
    """Neither knows of the other."""
    await _held(world)
    world.start_instance(SERVICE, named=f"{SERVICE}-other")
    await world.settle()


async def _unsecured_pool_claims(world: FaultedWorld) -> None:
    """Its finalizer is missing; the order of members is not that of the nodes' names."""
    _create_pool(world, "a", is_secured=False)
    _say_members(world, "a", SECOND, "", FIRST)


async def _hands_over(world: FaultedWorld) -> None:
    """The next pool is reported its member before the release of the last one's."""
    _create_pool(world, "b")
    _say_members(world, "b", FIRST)
    _delete_pool(world, "a")


async def _competes(world: FaultedWorld) -> None:
    """As where a hostpool-manager that is none any more says members."""
    _create_pool(world, "b")
    _say_members(world, "b", FIRST, SECOND)
    _say_members(world, "a", FIRST)


async def _goes_by_force(world: FaultedWorld) -> None:
    """Somebody deletes the pool and removes its finalizer: nothing asks for the release."""
    _delete_pool(world, "a")
    with contextlib.suppress(ApiError):  # it may be gone by then
        patch = {"metadata": {"finalizers": None}}
        world.store.patch(world.kind(POOLS), "default", "a", patch, MERGE)


async def _node_returns(world: FaultedWorld) -> None:
    """A node is deleted, and registered again under its name."""
    world.store.delete(NODE, None, FIRST, DeleteOptions())
    meta = {"name": FIRST, "labels": {labels.HOSTNAME: FIRST}}
    world.store.create(NODE, None, {"apiVersion": "v1", "kind": "Node", "metadata": meta})


async def _meddles(world: FaultedWorld) -> None:
    """Marks are taken away, altered, and put where nobody asks for them."""
    uid = world.objects(POOLS)["a"]["metadata"]["uid"]
    _patch_node(world, FIRST, {"spec": {"taints": [THEIRS]}})
    strange = {labels.member_label(uid): "7", labels.member_label("nobody"): "0"}
    _patch_node(world, SECOND, {"metadata": {"labels": strange}})


# --------------------------------------------------------------------------- what must come about


def _holders(world: FaultedWorld) -> dict[str, tuple[str, str]]:
    """(name of the pool, place) of each node that carries taint and label of one pool alone."""
    names = {pool["metadata"]["uid"]: name for name, pool in world.objects(POOLS).items()}
    found = {}
    for node in map(dict, world.store.list(NODE, None).items):
        owners = list(claims_of(node))
        if owners and marks_of(node) == set(owners) <= names.keys():
            place = node["metadata"]["labels"].get(labels.member_label(owners[0]), "")
            found[node["metadata"]["name"]] = (names[owners[0]], place)
    return found


def _hold(pools: set[str], **wanted: tuple[str, str]) -> Holds:
    """These pools are there, and their nodes are as wanted, the others without any mark."""
    expected = {name.replace("_", "-"): holder for name, holder in wanted.items()}

    def holds(world: FaultedWorld) -> bool:
        nodes = map(dict, world.store.list(NODE, None).items)
        is_marked = {node["metadata"]["name"] for node in nodes if marks_of(node)}
        is_exact = is_marked == expected.keys() and _holders(world) == expected
        return is_exact and world.objects(POOLS).keys() == pools

    return holds


_a_holds_both = _hold({"a"}, node_0=("a", "0"), node_1=("a", "1"))


def _scenario(name: str, says: str, act: Act, is_done: Holds, prepare: Act = _held) -> Scenario:
    return Scenario(name, says, act, is_done, prepare=prepare, one_in=2)


SCENARIOS = (
    _scenario(
        "mark-unsecured",
        "a pool without a finalizer claims nodes",
        _unsecured_pool_claims,
        _hold({"a"}, node_1=("a", "0"), node_0=("a", "2")),
        _quiet,
    ),
    _scenario(
        "mark-handover",
        "under two instances a pool is deleted, and another one gets one of its nodes",
        _hands_over,
        _hold({"b"}, node_0=("b", "0")),
        _held_by_two_instances,
    ),
    _scenario(
        "mark-competing",
        "a second pool is said to have the nodes of the first, which keeps one of them",
        _competes,
        _hold({"a", "b"}, node_0=("a", "0"), node_1=("b", "1")),
    ),
    _scenario(
        "mark-by-force",
        "a pool is deleted and its finalizer removed by hand",
        _goes_by_force,
        _hold(set()),
    ),
    _scenario(
        "mark-meddled", "somebody takes marks away and puts others there", _meddles, _a_holds_both
    ),
    _scenario(
        "mark-node-returns", "a node is made anew under its name", _node_returns, _a_holds_both
    ),
)
