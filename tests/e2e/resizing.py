"""What a resize did to a job: which PEs it restarted, added and removed, and that no other was
written to."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from contracts import labels
from tests.e2e.applications import widths_in_force
from tests.e2e.watching import JobObjects, Obj, Versions


@dataclass(frozen=True, slots=True)
class Moment:
    """A job that is settled: every object's version, and the pod of every PE by the PE's name."""

    versions: Versions
    pods: Mapping[str, Obj]


@dataclass(frozen=True, slots=True)
class Resized:
    """PEs by number."""

    restarted: Set[int]
    untouched: Set[int]
    added: Set[int]
    removed: Set[int]


def moment_of(job: JobObjects) -> Moment:
    """What there is now; the job has one pod a PE."""
    return Moment(job.versions(), {name: pod for name, (pod,) in job.pods_of_pes().items()})


def launch_of(pod: Obj) -> int:
    """The launch that a pod is."""
    return int(pod["metadata"]["labels"][labels.LAUNCH_COUNT])


def of_pe(versions: Versions, name: str) -> Versions:
    """What belongs to one PE; the name of a region or a pool may be that of a PE."""
    return {
        (kind, each): version
        for (kind, each), version in versions.items()
        if kind not in ("regions", "pools") and (each == name or each.startswith(f"{name}-"))
    }


def resized(job: JobObjects, before: Moment) -> Resized:
    """What happened since; fails where a PE that kept its pod was written to, where one that did
    not was launched more than once, and where something of a removed one is left."""
    after = moment_of(job)
    stayed = before.pods.keys() & after.pods.keys()
    untouched = {name for name in stayed if _uid(before, name) == _uid(after, name)}
    for name in untouched:
        mine, had = of_pe(after.versions, name), of_pe(before.versions, name)
        written = sorted({each for each, _ in mine.items() ^ had.items()})
        assert not written, f"{name} was written to: {written}"
        assert {kind for kind, _ in mine} == {"pes", "pods"}
        pack = ("config_maps", _pack(job, name)["name"])
        assert after.versions[pack] == before.versions[pack], f"the pack of {name} was written to"
    for name in stayed - untouched:
        launches = launch_of(before.pods[name]), launch_of(after.pods[name])
        assert launches[1] == launches[0] + 1, f"{name} was launched {launches}"
        names = [each.pods[name]["metadata"]["name"] for each in (before, after)]
        assert names[0] != names[1]
    removed = before.pods.keys() - after.pods.keys()
    for name in removed:
        assert of_pe(before.versions, name)
        assert of_pe(after.versions, name) == {}
    added = after.pods.keys() - before.pods.keys()
    assert {launch_of(after.pods[name]) for name in added} <= {1}
    services = [
        {key: v for key, v in each.versions.items() if key[0] == "services"}
        for each in (before, after)
    ]
    assert services[0] == services[1], "no resize writes to the Service of a job"
    _check_status(job, after)
    found = (stayed - untouched, untouched, added, removed)
    return Resized(*({number_of(job, name) for name in names} for names in found))


def _check_status(job: JobObjects, after: Moment) -> None:
    """Launches are counted as the pods say, and what belongs to every PE is there once."""
    for name, pe in job.of("pes").items():
        assert pe["status"]["launchCount"] == launch_of(after.pods[name])
        kinds = sorted(kind for kind, _ in of_pe(after.versions, name))
        assert kinds == ["pes", "pods"]
        pack = _pack(job, name)
        assert pack["key"] in job.of("config_maps")[pack["name"]]["data"]


def _pack(job: JobObjects, pe: str) -> Obj:
    """The name and the key of the pack that holds the AADL of a PE."""
    found: Obj = job.of("pes")[pe]["spec"]["pack"]
    return found


def number_of(job: JobObjects, pe: str) -> int:
    """The number in a PE's name."""
    return int(pe.removeprefix(f"{job.job}-"))


def _uid(moment: Moment, pe: str) -> str:
    return str(moment.pods[pe]["metadata"]["uid"])


async def until_widths(job: JobObjects, pes: int, widths: Mapping[str, int]) -> None:
    """Wait until these widths are in force, one pod a PE runs, and everything is written."""
    await job.until(
        f"widths {widths}",
        lambda: widths_in_force(job) == widths and len(job.of("pes")) == pes and job.is_settled(),
    )
