"""Pods have host names in the one Service of their job; jobs of the release before have none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sandbox.store.deleting import DeleteOptions
from tests.simulation.applications import OUTSIDE, with_example
from tests.simulation.recorded import JOB, OTHER_UIDS, load
from tests.simulation.test_job_life import PLURALS
from tests.simulation.test_job_repairs import versions
from tests.simulation.world import World, simulate

Obj = dict[str, Any]


def names_of_pods(world: World) -> dict[str, tuple[str, str]]:
    """(hostname, subdomain) of the live pod of each PE; empty where it has none."""
    return {
        pe: (pod["spec"].get("hostname", ""), pod["spec"].get("subdomain", ""))
        for pe, pod in world.live_pods("j").items()
    }


def domains(world: World) -> set[str | None]:
    """The variable by which PEs find each other."""
    found = set()
    for pod in world.live_pods("j").values():
        env = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
        found.add(env.get("STREAMS_PE_DOMAIN"))
    return found


async def resize(world: World, width: int) -> None:
    world.resize("j", "Counted", width)
    await world.until(
        "resized", lambda: world.is_running("j") and len(world.live_pods("j")) == width + OUTSIDE
    )
    await world.settle()


def test_each_pod_of_a_job_has_a_host_name_in_its_one_service(tmp_path: Path) -> None:
    """Also those of a resize, which writes nothing to the Service; it goes with the job."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        (service,) = world.objects("services", "j").values()
        await resize(world, 3)
        assert world.objects("services", "j") == {"j-pes": service}
        found = names_of_pods(world)
        assert found == {pe: (pe, "j-pes") for pe in world.objects("streamspes", "j")}
        assert domains(world) == {"j-pes.default.svc"}
        world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())
        await world.until("gone", lambda: world.objects("services") == {})
        await world.settle()

    simulate(tmp_path, test)


def test_an_upgrade_leaves_a_job_of_the_release_before_with_a_service_for_each_pe(
    tmp_path: Path,
) -> None:
    """Nothing is written, and a resize launches what it changes, without host names.

    What the resize changes gets packs, the rest keeps its ConfigMaps; nothing outlives the job.
    """

    async def test(world: World) -> None:
        load(world)
        before, pods = versions(world), world.live_pods(JOB)
        world.start()
        await world.settle()
        assert versions(world) == before
        pes = world.objects("streamspes", JOB)
        await resize(world, 3)
        after = world.objects("streamspes", JOB)
        assert set(world.objects("services", JOB)) == set(after)
        assert set(names_of_pods(world).values()) == {("", "")}
        assert domains(world) == {None}
        changed = {name for name in pes if after[name]["spec"] != pes[name]["spec"]}
        uids = {name: pod["metadata"]["uid"] for name, pod in world.live_pods(JOB).items()}
        assert {name for name in pods if pods[name]["metadata"]["uid"] != uids[name]} == changed
        assert {name for name in after if "pack" in after[name]["spec"]} == changed | {f"{JOB}-6"}
        assert {name for name, launches in launch_counts(after) if launches > 1} == changed
        world.store.delete(world.kind("streamsjobs"), "default", JOB, DeleteOptions())
        await world.until("gone", lambda: not any(world.objects(each, JOB) for each in PLURALS))
        await world.settle()

    simulate(tmp_path, test, seed=OTHER_UIDS)


def launch_counts(pes: Mapping[str, Obj]) -> Iterator[tuple[str, int]]:
    """How often each PE was launched."""
    for name, pe in pes.items():
        yield name, pe["status"]["launchCount"]
