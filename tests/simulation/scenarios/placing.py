"""Jobs with host constraints: placed, refused, waiting, competing; nodes and marks change.

Every service takes part. Some nodes carry tags; what others have put on nodes stays as it is.
"""

from __future__ import annotations

from typing import Any

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from sandbox.store.resources import NODE
from tests.sandboxed import MERGE
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.mains import MAINS
from tests.simulation.node_invariants import KEPT, marks_of
from tests.simulation.scenarios.applications import WORK, provide, spec_of, values
from tests.simulation.scenarios.ending import nothing_is_left
from tests.simulation.scenarios.scenario import Act, Scenario
from tests.simulation.scenarios.submitting import j_runs
from tests.unit.planner.adl_writing import Adl

COVERS = (
    "services/hostpool_manager/core/*",
    "services/fusion_backend/core/placement_requests.py",
    "services/fusion_backend/core/placement_states.py",
    "services/pod_state_machine/core/awaiting.py",
)

TAG = "gold"
TAGGED = "node-1"
OWN = f'<tag name="{TAG}"/>'
IN_POOL = '<poolLocation poolIndex="1"/>'
LARGE: dict[str, Any] = {"resources": {"requests": {"cpu": "17"}}}
"""Of a PE, of which one fits on a node of the sandbox."""
EXCLUSIVE = "exclusive.sab"
APART = '<exLocation exlocId="apart"/>'


# --------------------------------------------------------------------------- applications


def exclusive_pool() -> Adl:
    """Source → Work, of which Work runs in an exclusive pool of one node with the tag."""
    adl = Adl().pool("Own", "exclusive", OWN)
    adl.pools[1] = adl.pools[1].replace("<hostpool ", '<hostpool size="1" ')
    adl.operator("Source", 0, 1).operator(WORK, 1, 0, resources=IN_POOL)
    return adl.connect("Source", WORK)


def open_pool() -> Adl:
    """Source → Work, of which Work runs in a shared pool of every node with the tag."""
    adl = Adl().pool("Open", "shared", OWN)
    adl.operator("Source", 0, 1).operator(WORK, 1, 0, resources=IN_POOL)
    return adl.connect("Source", WORK)


def place_in_pool() -> Adl:
    """Source → Work, of which Work runs on place 0 of a shared pool with the tag."""
    adl = Adl().pool("Own", "shared", OWN)
    adl.pools[1] = adl.pools[1].replace("<hostpool ", '<hostpool size="1" ')
    place = '<poolLocation poolIndex="1" inpoolIndex="0"/>'
    adl.operator("Source", 0, 1).operator(WORK, 1, 0, resources=place)
    return adl.connect("Source", WORK)


def apart() -> Adl:
    """Source → Work, the channels of which are on different hosts."""
    adl = Adl().value("w", "1").operator("Source", 0, 1).operator(WORK, 1, 0, resources=APART)
    return adl.connect("Source", WORK).region(WORK, "w")


def alone() -> Adl:
    """Work in so many channels, on different hosts, and nothing else."""
    return Adl().value("w", "1").operator(WORK, 0, 0, resources=APART).region(WORK, "w")


# --------------------------------------------------------------------------- what is done


def all_services(adl: Adl, *tagged: str) -> Act:
    """Every service runs, some nodes carry the tag, and nothing is written."""

    async def prepare(world: FaultedWorld) -> None:
        provide(world, adl)
        for node in tagged:
            tag(world, node)
        keep = {"key": f"{KEPT}away", "effect": "PreferNoSchedule"}
        patch_node(world, TAGGED, {"spec": {"taints": [keep]}})
        world.start(*MAINS)
        await world.settle()

    return prepare


def placed(adl: Adl, *tagged: str, **widths: int) -> Act:
    """Job j runs where its constraints say, and nothing is written."""

    async def prepare(world: FaultedWorld) -> None:
        await all_services(adl, *tagged)(world)
        world.submit("j", spec_of(**values(**widths)))
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()

    return prepare


def patch_node(world: FaultedWorld, node: str, patch: dict[str, Any]) -> None:
    """Patch a node as a person does."""
    world.store.patch(NODE, None, node, patch, MERGE)


def tag(world: FaultedWorld, node: str) -> None:
    """Give a node the tag."""
    patch_node(world, node, {"metadata": {"labels": {f"{labels.TAG_PREFIX}{TAG}": ""}}})


def submitted(*names: str, **more: Any) -> Act:
    """Somebody submits jobs, all at once."""

    async def act(world: FaultedWorld) -> None:
        for name in names:
            world.submit(name, spec_of(**more))

    return act


async def _deleted(world: FaultedWorld) -> None:
    world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())


async def _marks_taken_off(world: FaultedWorld) -> None:
    """Somebody removes the claim, and what goes with it, by hand."""
    node = world.store.get(NODE, None, TAGGED)
    gone = {labels.member_label(uid): None for uid in marks_of(dict(node))}
    keep = [each for each in node["spec"]["taints"] if each["key"] != labels.EXCLUSIVE_TAINT]
    patch_node(world, TAGGED, {"metadata": {"labels": gone}, "spec": {"taints": keep}})


async def _waits_for_room(world: FaultedWorld) -> None:
    """Job k takes up what job j needs; when j waits, k is deleted."""
    world.submit("k", spec_of(processingElement=LARGE, **values(w=2)))
    await world.until("k runs", lambda: world.is_running("k"), wait_s=1500.0)
    world.submit("j", spec_of(processingElement=LARGE, **values(w=2)))
    await world.until("j waits", lambda: _waits(world), wait_s=1500.0)
    world.store.delete(world.kind("streamsjobs"), "default", "k", DeleteOptions())


def _waits(world: FaultedWorld) -> bool:
    """Job j says that it waits for capacity, or has got it already."""
    status = world.objects("streamsjobs")["j"].get("status") or {}
    said = {each["type"]: each["reason"] for each in status.get("conditions", ())}
    return said.get("Placed") == "InsufficientCapacity" or world.is_running("j")


async def _prepare_yielding(world: FaultedWorld) -> None:
    """Job j is in a shared pool of two nodes; job k, not there yet, wants one for itself."""
    await placed(open_pool(), "node-0", TAGGED)(world)
    provide(world, exclusive_pool(), EXCLUSIVE)


async def _wants_one_for_itself(world: FaultedWorld) -> None:
    world.submit("k", spec_of(bundle=EXCLUSIVE))


async def _waits_for_a_tag(world: FaultedWorld) -> None:
    """The job fails for want of a node with the tag; then a node gets it, and nobody asks again."""
    world.submit("j", spec_of())
    await world.until("refused", lambda: is_refused(world, "j", "TagMissing"), wait_s=1500.0)
    tag(world, TAGGED)


async def _node_of_work_goes(world: FaultedWorld) -> None:
    """The tagged node is gone for good; another carries the tag."""
    world.cluster.controllers.nodes.stop(TAGGED)
    world.store.delete(NODE, None, TAGGED, DeleteOptions())
    await world.clock.sleep(45.0)


# --------------------------------------------------------------------------- what must come about


def is_refused(world: FaultedWorld, job: str, reason: str) -> bool:
    """The job failed for this reason, and nothing of it is left."""
    status = world.objects("streamsjobs")[job].get("status") or {}
    is_failed = (status.get("phase"), status.get("reason")) == ("Failed", reason)
    return is_failed and not any(world.objects("streamsplacements", job)) and _is_bare(world, job)


def _is_bare(world: FaultedWorld, job: str) -> bool:
    return not world.objects("streamshostpools", job) and not world.objects("streamspes", job)


def _runs_on_its_own(world: FaultedWorld) -> bool:
    """The node of the pool is marked for it, and Work runs there."""
    pools = world.objects("streamshostpools", "j")
    if not world.is_running("j") or "j-1" not in pools:
        return False
    node = world.store.get(NODE, None, TAGGED)
    runs = world.live_pods("j")["j-1"]["spec"].get("nodeName")
    return marks_of(dict(node)) == {pools["j-1"]["metadata"]["uid"]} and runs == TAGGED


def _all_is_released(world: FaultedWorld) -> bool:
    marks = [marks_of(dict(node)) for node in world.store.list(NODE, None).items]
    is_gone = "j" not in world.objects("streamsjobs") and nothing_is_left(world)
    return is_gone and not any(marks)


def _one_runs(world: FaultedWorld) -> bool:
    """One of two jobs has the node; the other is refused, and told who has it."""
    running = [name for name in ("j", "k") if world.is_running(name)]
    refused = [name for name in ("j", "k") if is_refused(world, name, "NodesClaimed")]
    return len(running) == len(refused) == 1


def _shared_has_given_way(world: FaultedWorld) -> bool:
    """Each of two jobs runs on a node that only its own pool lists."""
    pools = world.objects("streamshostpools")
    members = [(pools[f"{job}-1"].get("status") or {}).get("members") for job in "jk"]
    runs = [world.live_pods(job)[f"{job}-1"]["spec"].get("nodeName") for job in "jk"]
    return members == [[node] for node in runs] and runs[0] != runs[1]


async def _resized_in_vain(world: FaultedWorld) -> None:
    """The width is tried again for 12 s."""
    limit = {"spec": {"submissionTimeOutInSeconds": 12}}
    world.store.patch(world.kind("streamsjobs"), "default", "j", limit, MERGE)
    world.resize("j", WORK, 3)


def _width_is_refused(world: FaultedWorld) -> bool:
    (region,) = world.objects("streamsprs", "j").values()
    status = region.get("status") or {}
    is_said = status.get("width") == 2 and status.get("reason") == "WidthRefused"
    return is_said and len(world.live_pods("j")) == 3


def _runs_elsewhere(world: FaultedWorld) -> bool:
    return world.is_running("j") and world.live_pods("j")["j-1"]["spec"]["nodeName"] != TAGGED


SCENARIOS = (
    Scenario(
        "place-exclusive",
        "a job gets a node of its own",
        submitted("j"),
        _runs_on_its_own,
        prepare=all_services(exclusive_pool(), TAGGED),
        one_in=2,
    ),
    Scenario(
        "place-member",
        "a job runs on a particular member of a shared pool",
        submitted("j"),
        _runs_on_its_own,
        prepare=all_services(place_in_pool(), TAGGED),
        one_in=2,
    ),
    Scenario(
        "place-apart",
        "a job whose channels must be apart is submitted with two of them",
        submitted("j"),
        j_runs,
        prepare=all_services(apart()),
        one_in=2,
    ),
    Scenario(
        "place-competing",
        "two jobs want the one node of an exclusive pool",
        submitted("j", "k", retrySeconds=0),  # one that is tried again is never quiet
        _one_runs,
        prepare=all_services(exclusive_pool(), TAGGED),
        loose="who gets the node is decided by who asks first",
        one_in=4,
    ),
    Scenario(
        "place-yields",
        "a job wants one of the nodes that a shared pool lists for itself",
        _wants_one_for_itself,
        lambda world: all(map(world.is_running, "jk")) and _shared_has_given_way(world),
        prepare=_prepare_yielding,
        one_in=4,
    ),
    Scenario(
        "place-waits",
        "a job waits for the room that another job takes up, which is deleted",
        _waits_for_room,
        j_runs,
        prepare=all_services(alone()),
        loose="whether the job has to wait depends on who was faster",
        one_in=4,
    ),
    Scenario(
        "place-release",
        "a job that holds a node is deleted",
        _deleted,
        _all_is_released,
        prepare=placed(exclusive_pool(), TAGGED),
    ),
    Scenario(
        "place-refused",
        "a job asks for a tag that no node carries; it is tried again when one does",
        _waits_for_a_tag,
        _runs_on_its_own,
        prepare=all_services(exclusive_pool()),
        one_in=4,
    ),
    Scenario(
        "place-resize-refused",
        "a third channel that must be apart is asked for on two nodes",
        _resized_in_vain,
        _width_is_refused,
        prepare=placed(apart(), w=2),
        loose="how many attempts fit into the time depends on what is lost and late",
        one_in=2,
    ),
    Scenario(
        "place-unmarked",
        "somebody removes the marks of a node that is held",
        _marks_taken_off,
        _runs_on_its_own,
        prepare=placed(exclusive_pool(), TAGGED),
    ),
    Scenario(
        "place-node-gone",
        "the node that a job holds is gone, and another one has the tag",
        _node_of_work_goes,
        _runs_elsewhere,
        prepare=placed(exclusive_pool(), "node-0", TAGGED),
        loose="which of the nodes the job had at first is not said",
        one_in=2,
    ),
)
