"""A job that is placed loses a member of its pool, and nobody takes its place."""

from __future__ import annotations

from sandbox.store.deleting import DeleteOptions
from sandbox.store.resources import NODE
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.scenarios.applications import WORK
from tests.simulation.scenarios.placing import IN_POOL, OWN, TAGGED, placed
from tests.simulation.scenarios.scenario import Scenario
from tests.unit.planner.adl_writing import Adl

COVERS = (
    "services/fusion_backend/core/awaited.py",
    "services/fusion_backend/core/retrying.py",
    "services/fusion_backend/core/attempts.py",
    "services/fusion_backend/core/trying_again.py",
)


def pool_of_two() -> Adl:
    """Source → Work, of which Work runs on any of the two members of a shared pool."""
    adl = Adl().pool("Own", "shared", OWN)
    adl.pools[1] = adl.pools[1].replace("<hostpool ", '<hostpool size="2" ')
    adl.operator("Source", 0, 1).operator(WORK, 1, 0, resources=IN_POOL)
    return adl.connect("Source", WORK)


async def _its_node_goes(world: FaultedWorld) -> None:
    """The node that Work runs on is gone for good."""
    node = world.live_pods("j")["j-1"]["spec"]["nodeName"]
    world.cluster.controllers.nodes.stop(node)
    world.store.delete(NODE, None, node, DeleteOptions())
    await world.clock.sleep(45.0)


def _runs_on_what_is_left(world: FaultedWorld) -> bool:
    """Work runs on the other member, and pool and job say that one is missing."""
    pool = world.objects("streamshostpools", "j").get("j-1", {}).get("status") or {}
    said = world.objects("streamsjobs")["j"].get("status") or {}
    reasons = {each["type"]: each["reason"] for each in said.get("conditions", ())}
    if not world.is_running("j") or pool.get("reason") != "MembersMissing":
        return False
    node = world.live_pods("j")["j-1"]["spec"]["nodeName"]
    nodes = {each["metadata"]["name"] for each in world.store.list(NODE, None).items}
    return reasons.get("Placed") == "PoolTooSmall" and node in nodes & {*pool["members"]}


SCENARIOS = (
    Scenario(
        "place-member-gone",
        "a member of a pool with a size is gone for good, and with it the PE that ran there",
        _its_node_goes,
        _runs_on_what_is_left,
        prepare=placed(pool_of_two(), "node-0", TAGGED),
        loose="whether its pod was evicted or lost decides how often the PE is launched",
        one_in=4,
    ),
)
