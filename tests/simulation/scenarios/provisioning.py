"""What the PEs of a job share: its certificate and its redis come, go, are damaged and renewed."""

from __future__ import annotations

import base64
from typing import Any

from contracts import labels
from contracts.moments import unix_s_of
from sandbox.store.deleting import DeleteOptions
from services.fusion_backend.adapters.certifying import made_certificate
from tests.golden_pods import REDIS
from tests.sandboxed import MERGE
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.scenarios.applications import ONE_PE, spec_of
from tests.simulation.scenarios.ending import deleted_and_held, nothing_is_left
from tests.simulation.scenarios.losing import PE, one_pe_running, runs_as
from tests.simulation.scenarios.scenario import Act, Holds, Scenario
from tests.simulation.scenarios.submitting import services_running

COVERS = (
    "services/fusion_backend/core/provision*",
    "services/fusion_backend/adapters/provisioner.py",
)

ENCRYPTED: dict[str, Any] = {"transportSecurityType": "TLSv1.2"}
IN_REDIS: dict[str, Any] = {"checkpointRepository": {"redis": REDIS}}
SECRET = labels.certificate_name("j")
KEYS = (labels.CERTIFICATE_KEY, labels.PRIVATE_KEY_KEY)
DAYS = 30
DAY_S = 86_400.0
RENEWED_IN_S = 120.0
"""Longer than a certificate may go unlooked at, and than it is quiet before a scenario begins."""
LOOKED_S = 25.0
"""Longer than between two looks at a certificate."""


def _status(world: FaultedWorld) -> dict[str, Any]:
    found: dict[str, Any] = world.objects("streamsjobs")["j"].get("status") or {}
    return found


def _submitted(**template: Any) -> Act:
    async def act(world: FaultedWorld) -> None:
        world.submit("j", spec_of(fusion=ONE_PE, processingElement=template))

    return act


def _encrypted(launch: int) -> Holds:
    """The job runs in that launch, with a whole certificate that its status speaks of."""
    runs = runs_as(launch)

    def holds(world: FaultedWorld) -> bool:
        data = world.objects("secrets").get(SECRET, {}).get("data") or {}
        said = _status(world).get("transportCertificate") or {}
        return runs(world) and all(map(data.get, KEYS)) and said.get("secretName") == SECRET

    return holds


async def _certificate_deleted(world: FaultedWorld) -> None:
    world.store.delete(world.kind("secrets"), "default", SECRET, DeleteOptions())
    await world.clock.sleep(LOOKED_S)


async def _certificate_emptied(world: FaultedWorld) -> None:
    emptied = {"data": dict.fromkeys(KEYS, "")}
    world.store.patch(world.kind("secrets"), "default", SECRET, emptied, MERGE)
    await world.clock.sleep(LOOKED_S)


async def _renewed_soon(world: FaultedWorld) -> None:
    """The job runs with a certificate of its own that has two thirds of its time behind it soon."""
    await one_pe_running(**ENCRYPTED)(world)
    begun_at = world.clock.now() + RENEWED_IN_S - DAYS * DAY_S * 2 / 3
    made = made_certificate(["j"], days=DAYS, now=begun_at)
    data = dict(zip(KEYS, map(base64.b64encode, (made.certificate, made.key)), strict=True))
    aged = {"data": {name: text.decode() for name, text in data.items()}}
    world.store.patch(world.kind("secrets"), "default", SECRET, aged, MERGE)
    await world.until("said", lambda: _renewed_from(world) < world.clock.now() + RENEWED_IN_S)
    await world.settle()


def _renewed_from(world: FaultedWorld) -> float:
    return unix_s_of(_status(world)["transportCertificate"]["renewedFrom"])


async def _time_passes(world: FaultedWorld) -> None:
    await world.clock.sleep(_renewed_from(world) - world.clock.now() + 1.0)


def _is_renewed(world: FaultedWorld) -> bool:
    return _encrypted(1)(world) and _renewed_from(world) > world.clock.now() + DAY_S


def _has_servers(launch: int) -> Holds:
    """The job runs in that launch, with the redis servers that its status names."""
    runs = runs_as(launch)

    def holds(world: FaultedWorld) -> bool:
        if not runs(world):
            return False
        (container,) = world.live_pods("j")[PE]["spec"]["containers"]
        told = {each["name"]: each.get("value") for each in container["env"]}
        config = told.get("STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION")
        return config is not None and config == _status(world).get("redisConfig")

    return holds


async def _redis_asked_for(world: FaultedWorld) -> None:
    """A PE of a job without redis is reported to keep checkpoints there, and to start again."""
    edit = {"spec": {**IN_REDIS, "launchCount": 2}}
    world.store.patch(world.kind("streamspes"), "default", PE, edit, MERGE)


async def _encryption_asked_for(world: FaultedWorld) -> None:
    edit = {"spec": {**ENCRYPTED, "launchCount": 2}}
    world.store.patch(world.kind("streamspes"), "default", PE, edit, MERGE)


SCENARIOS = (
    Scenario(
        "tls-submit",
        "a job that talks over TLS is submitted",
        _submitted(**ENCRYPTED),
        _encrypted(1),
        prepare=services_running,
    ),
    Scenario(
        "tls-deleted",
        "somebody deletes the certificate of a job",
        _certificate_deleted,
        _encrypted(1),
        prepare=one_pe_running(**ENCRYPTED),
    ),
    Scenario(
        "tls-emptied",
        "somebody empties the certificate of a job",
        _certificate_emptied,
        _encrypted(1),
        prepare=one_pe_running(**ENCRYPTED),
    ),
    Scenario(
        "tls-renewed",
        "the certificate of a job has to be renewed",
        _time_passes,
        _is_renewed,
        prepare=_renewed_soon,
    ),
    Scenario(
        "tls-requested",
        "a PE of a job without a certificate is told to talk over TLS",
        _encryption_asked_for,
        _encrypted(2),
        prepare=one_pe_running(),
    ),
    Scenario(
        "tls-job-deleted",
        "a job that talks over TLS is deleted while the garbage collector may not help",
        deleted_and_held,
        nothing_is_left,
        prepare=one_pe_running(**ENCRYPTED),
    ),
    Scenario(
        "redis-submit",
        "a job that keeps its checkpoints in redis is submitted",
        _submitted(**IN_REDIS),
        _has_servers(1),
        prepare=services_running,
    ),
    Scenario(
        "redis-requested",
        "a PE of a job without redis is told to keep its checkpoints there",
        _redis_asked_for,
        _has_servers(2),
        prepare=one_pe_running(),
    ),
)
