"""What people, other services, faults and time do to a job, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from contracts import labels
from contracts.moments import moment_of
from tests.unit.fusion_backend.hosted_world import HostedWorld
from tests.unit.fusion_backend.world import JOB

PE: Final = "ProcessingElement"
REDIS: Final = {"service": "redis", "replicaCount": 1, "shardCount": 1}
SPECS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {},
    {"processingElement": {"transportSecurityType": "TLSv1.2"}},
    {"processingElement": {"checkpointRepository": {"redis": REDIS}}},
    {"fusion": {"manual": 0}},
)
WIDTHS: Final = (1, 2, 3, 5, 8, 200_000)
A_LONG_TIME_S: Final = 400.0
"""Longer than a submission may take."""

Event = Callable[[HostedWorld, random.Random], None]


def resize(world: HostedWorld, draw: random.Random) -> None:
    for name in sorted(world.named("ParallelRegion")):
        if draw.random() < 0.7:
            world.edit("ParallelRegion", name, width=draw.choice(WIDTHS))


def remove(world: HostedWorld, draw: random.Random) -> None:
    kinds = ("ConfigMap", "Service", "ParallelRegion", "ProcessingElement", "Pod", "Placement")
    kind = draw.choice(kinds)
    for name in sorted(world.named(kind))[: draw.choice((1, 1, 50))]:
        world.remove(kind, name)


def mark_deleted(world: HostedWorld, draw: random.Random) -> None:
    kind = draw.choice(("ConfigMap", "Service", "ProcessingElement"))
    for name in sorted(world.named(kind))[:1]:
        world.mark_deleted(kind, name)


def edit(world: HostedWorld, draw: random.Random) -> None:
    world.edit(
        "Job", JOB, **draw.choice((*SPECS, {"submissionTimeOutInSeconds": draw.choice((1, 90))}))
    )


def edit_wrongly(world: HostedWorld, _draw: random.Random) -> None:
    world.edit("Job", JOB, fusion={"manual": -1, "automatic": True})


def retry(world: HostedWorld, draw: random.Random) -> None:
    world.annotate(labels.RETRY, str(draw.random()))


REGION = ("ParallelRegion", f"{JOB}-0")


def resize_in_a_row(world: HostedWorld, _draw: random.Random) -> None:
    """A width follows the start of a resize within the time in which widths gather."""
    if REGION not in world.objects:
        return
    world.edit("Job", JOB, scaling={"settleSeconds": 60})
    world.resize(0, 4)
    for _ in range(20):
        if labels.plan_name(JOB, 1) in world.named("ConfigMap"):
            break
        world.step()
    world.resize(0, 3)


def resize_after_a_hand_over(world: HostedWorld, _draw: random.Random) -> None:
    """A width follows a resize, and a PE has not loaded what was handed over to it."""
    resize_in_a_row(world, _draw)
    world.edit("Job", JOB, scaling={"settleSeconds": 0})
    pe = world.objects.get(("ProcessingElement", labels.pe_name(JOB, 0)))
    if pe is None or REGION not in world.objects:
        return
    pe["status"] = pe.get("status", {}) | {"runtime": {"launch": 1, "handsOver": True}}
    world.objects["Job", JOB]["status"]["handOver"] = {
        "generation": 1,
        "pes": {"0": 1},
        "sealed": {"0": 1},
        "complete": True,
        "completedAt": moment_of(world.now),
    }


def delete_job(world: HostedWorld, draw: random.Random) -> None:
    if draw.random() < 0.3:
        world.delete_job(orphan=draw.random() < 0.5)


def replace_job(world: HostedWorld, draw: random.Random) -> None:
    """A Job of the same name, while children of the one before are there."""
    if draw.random() < 0.3:
        gone = world.uid
        world.remove("Job", JOB)
        world.answers.learn_gone(gone)
        world.submit()


def lose_records(world: HostedWorld, _draw: random.Random) -> None:
    """All plan records go, while nobody has them in memory."""
    for name in sorted(world.named("ConfigMap")):
        if name.startswith(labels.plan_name(JOB, 0)[:-1]):
            world.remove("ConfigMap", name)
    world.crash()


def crash(world: HostedWorld, _draw: random.Random) -> None:
    world.crash()


def wait(world: HostedWorld, draw: random.Random) -> None:
    world.now += draw.choice((1.0, 6.0, 30.0, A_LONG_TIME_S))


def pods_run(world: HostedWorld, draw: random.Random) -> None:
    """Pods start to run, wait, or are done."""
    phase = draw.choice(("Running", "Pending", "Succeeded"))
    world.pods_run = phase == "Running"
    for name in sorted(world.named("Pod")):
        world.objects["Pod", name]["status"]["phase"] = phase
        pe = world.objects.get(("ProcessingElement", name))
        if pe is not None:
            pe.setdefault("status", {})["phase"] = "Completed" if phase == "Succeeded" else phase


def stop(world: HostedWorld, _draw: random.Random) -> None:
    """No pod runs, and for longer than a fall of Healthy needs to settle."""
    for name in sorted(world.named("Pod")):
        world.objects["Pod", name]["status"]["phase"] = "Pending"
    world.now += 10.0


def complete(world: HostedWorld, draw: random.Random) -> None:
    """Every PE has done its work; maybe one begins again."""
    names = sorted(world.named("ProcessingElement"))
    for name in names:
        world.objects[PE, name].setdefault("status", {})["phase"] = "Completed"
    if names and draw.random() < 0.6:
        world.objects["Job", JOB]["status"]["phase"] = "Completed"
        world.objects[PE, names[0]]["status"]["phase"] = "Running"


def unanswer(world: HostedWorld, draw: random.Random) -> None:
    """A resize, and hostpool-manager does not answer or says that it waits."""
    resize(world, draw)
    world.is_answered, world.waits = draw.random() < 0.5, True


def answered(world: HostedWorld, draw: random.Random) -> None:
    """hostpool-manager answers or does not, and has more or fewer hosts."""
    world.is_answered, world.waits = draw.random() < 0.7, draw.random() < 0.5
    world.counting = draw.choice((1, 3, 6))


EVENTS: Final[tuple[Event, ...]] = (
    remove,
    remove,
    mark_deleted,
    edit,
    edit_wrongly,
    retry,
    delete_job,
    replace_job,
    lose_records,
    lose_records,
    crash,
    wait,
)
