"""The roles hold what the services do, and nothing that they never do.

That nothing is missing, every simulation shows: a request without a right fails it. Here is the
other half, over lives of a job in which everything that can be written is written, and the first
attempt of each way to write fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from contracts import labels
from contracts.bundle_format import pack
from deploy.roles import PERMISSIONS, rules
from sandbox.http.in_process import Fault, When
from sandbox.store.deleting import DeleteOptions
from sandbox.store.resources import NODE
from sandbox.store.steering import CPU
from services.chassis.kube.permissions import Permission
from services.fusion_backend.adapters import permissions as fusion_backend
from services.fusion_backend.core import effects as fusion_effects
from services.pod_state_machine.adapters import permissions as pod_state_machine
from services.pod_state_machine.core import effects as pod_effects
from tests.sandboxed import MERGE
from tests.simulation.applications import OUTSIDE, submit_example, with_example
from tests.simulation.calling import call, token_of
from tests.simulation.hands import (
    fail,
    holds,
    node_of,
    pods_of,
    remove_node,
    runs_as,
    silence,
    with_pes,
)
from tests.simulation.mains import MAINS, WIDTH_MAX
from tests.simulation.rights import needed_for, used_of
from tests.simulation.scenarios.applications import provide, spec_of, two_regions
from tests.simulation.scenarios.placing import TAGGED, exclusive_pool, tag
from tests.simulation.test_unreadable import KINDS as KINDS_OF_OURS
from tests.simulation.test_unreadable import SPECS, create, nested, readable
from tests.simulation.world import GROUP, Request, World, simulate

COVERS = (
    "services/*/adapters/permissions.py",
    "services/chassis/kube/permissions.py",
    "deploy/roles.py",
)

NEVER_SENT: Mapping[tuple[str, str, str], str] = {
    ("fusion-backend", "streamsjobs/finalizers", "update"): "asked for by an admission plug-in",
    ("pod-state-machine", "streamspes/finalizers", "update"): "asked for by an admission plug-in",
}
"""(service, resource, verb) → why it is granted all the same."""
ORPHANED = {"orphan-streamsplacements"}
CHILDREN = ("configmaps", "services", "streamsprs", "streamshostpools", "streamspes")


def test_every_right_that_is_granted_is_used(tmp_path: Path) -> None:
    """A right that nobody uses helps only those who should not have it."""
    used: set[tuple[str, Permission]] = set()
    lives = {
        "whole": _whole_life,
        "orphaned": _life_with_an_orphan,
        "hard": _life_with_lost_pods,
        "encrypted": _life_with_a_certificate,
        "hosted": _life_with_hosts,
        "unreadable": _life_with_unreadable_objects,
        "heavy": _life_with_large_managed_fields,
        "measured": _life_with_measured_cpu,
        "shared": _life_with_shares,
        "reported": _life_with_reports,
    }
    for name, life in lives.items():
        folder = tmp_path / name
        folder.mkdir()
        used |= simulate(folder, life, is_permissive=name == "unreadable").rights_used
    unused = {
        (service, each.resource, each.verb)
        for service, permissions in PERMISSIONS.items()
        for each in permissions
        if (service, each) not in used
    }
    assert unused == NEVER_SENT.keys()


async def _whole_life(world: World) -> None:
    """Submitted, resized both ways, refused, resized by a fusion-backend that remembers nothing."""
    world.faults = first_attempts_fail()
    await with_example(world, "j", width=3)
    world.resize("j", "Counted", 5)
    await world.until("wider", lambda: _runs(world, 5))
    world.resize("j", "Counted", WIDTH_MAX + 1)
    spec = {"hostpool": {"name": "p"}, "job": "nobody"}
    stray = {"kind": "HostPool", "metadata": {"name": "stray"}, "spec": spec}
    world.store.create(world.kind("streamshostpools"), "default", stray)
    await world.settle()
    await world.kill("fusion-backend")
    world.start("fusion-backend")
    world.resize("j", "Counted", 2)
    await world.until("narrower", lambda: _runs(world, 2))
    await world.settle()
    _change_by_hand(world)
    await world.settle()
    _delete(world)
    await world.until("gone", lambda: not any(world.objects(each, "j") for each in CHILDREN))


async def _life_with_shares(world: World) -> None:
    """Pods of the region that nobody resizes take a smaller share of the job's resources."""
    world.start()
    (world.bundles / "app.sab").write_bytes(pack(two_regions().text().encode()))
    whole = {"limits": {"cpu": "6"}}
    bundle = {"name": "app.sab"}
    world.submit("j", {"bundle": bundle, "fusion": {"legacy": True}, "resources": whole})
    await world.until("running", lambda: world.is_running("j"))
    await world.settle()
    world.resize("j", "A", 2)
    await world.until("wider", lambda: len(world.live_pods("j")) == 6 and world.is_running("j"))
    await world.settle()


async def _life_with_reports(world: World) -> None:
    """A PE reports, loses tuples, resizes its region, serves an endpoint and reads all jobs."""
    world.start("pe-gateway")
    await with_example(world, "j", width=2)
    world.faults = first_attempts_fail()
    _make_heavy(world, "streamsjobs", "streamspes")
    await world.settle()
    token = token_of(world, world.live_pods("j")["j-1"])
    endpoint = "/api/endpoints/job/j/pe/1/endpoint/web"
    for method, path, body in (
        ("PUT", "/api/state/job/j/pe/1/connectivity", b'"Full"'),
        ("PUT", "/api/runtime/job/j/pe/1", b'{"launch": 1, "lost": {"tuples": 1}}'),
        ("PUT", endpoint, b'{"port": 80}'),
        ("GET", "/api/state", b""),
        ("PUT", "/api/state/job/j/pr/Counted/width", b"3"),
    ):
        while (await call(world.folder, method, path, body, token=token)).status >= 500:
            await world.clock.sleep(1.0)
        if "runtime" in path:
            await world.settle()  # the width launches the PE again
    await world.settle()


async def _life_with_an_orphan(world: World) -> None:
    """One child of each kind names no owner: the others are deleted one by one."""
    await with_example(world, "j", width=3)
    for plural in CHILDREN:
        _orphan(world, plural)
    await world.settle()
    world.faults = first_attempts_fail()
    _delete(world)
    orphans = {f"orphan-{plural}" for plural in CHILDREN}
    await world.until(
        "cleared", lambda: {n for each in CHILDREN for n in world.objects(each, "j")} == orphans
    )


async def _life_with_lost_pods(world: World) -> None:
    """A failed pod is kept, and one hangs on a node that somebody then deletes."""
    world.faults = first_attempts_fail()
    await with_pes(world, deleteFailedPod=False)
    fail(world, "j-1")
    await world.until("kept aside", lambda: _is_set_aside(pods_of(world, "j-1")[1]))
    node = node_of(world, "j-2")
    await silence(world, node)
    await world.until("stuck", lambda: holds(world, "j-2", "StuckTerminating"))
    await world.clock.sleep(400.0)
    remove_node(world, node)
    await world.until("elsewhere", lambda: runs_as(world, "j-2", 2))


def _is_set_aside(pod: dict[str, Any]) -> bool:
    return bool(pod["metadata"]["labels"][labels.SERVICE_ROLE] == labels.ROLE_ZOMBIE)


async def _life_with_unreadable_objects(world: World) -> None:
    """One of each kind that says so on itself."""
    world.faults = first_attempts_fail()
    world.start(*MAINS)
    for plural, kind in KINDS_OF_OURS.items():
        create(world, plural, kind, "bad-0", {**SPECS[plural], "extra": nested()})
    await world.until("told", lambda: all(readable(world, each, "bad-0") for each in KINDS_OF_OURS))
    await world.settle()


async def _life_with_large_managed_fields(world: World) -> None:
    """Somebody sends them for each object whose status is written next."""
    world.faults = first_attempts_fail()
    provide(world, exclusive_pool())  # type: ignore[arg-type]
    tag(world, TAGGED)  # type: ignore[arg-type]
    world.start(*(each for each in MAINS if each != "hostpool-manager"))
    world.submit("j", spec_of())
    await world.until("a question", lambda: bool(world.objects("streamsplacements")))
    _make_heavy(world, "streamshostpools", "streamsplacements")
    world.start("hostpool-manager")
    await world.until("running", lambda: world.is_running("j"))
    await world.settle()
    _make_heavy(world, "streamsjobs", "streamspes")
    for name in world.objects("streamspes", "j"):
        fail(world, name)
    await world.settle()
    await world.until("running again", lambda: world.is_running("j"))
    await world.settle()
    for plural in ("streamsjobs", "streamspes", "streamshostpools", "streamsplacements"):
        assert not _is_heavy(world, plural), plural


def large_managed_fields() -> dict[str, Any]:
    """A patch that makes each later write of an object slow on a real API server."""
    fields: dict[str, Any] = {"f:spec": {f"f:{'x' * 100}{number}": {} for number in range(1_000)}}
    entry = {"manager": "x", "operation": "Update", "apiVersion": f"{GROUP}/v1"}
    sent: dict[str, Any] = {**entry, "fieldsType": "FieldsV1", "fieldsV1": fields}
    return {"metadata": {"managedFields": [sent]}}


def _make_heavy(world: World, *plurals: str) -> None:
    for plural in plurals:
        for name in world.objects(plural):
            world.store.patch(world.kind(plural), "default", name, large_managed_fields(), MERGE)


def _is_heavy(world: World, plural: str) -> bool:
    return any(each["metadata"].get("managedFields") for each in world.objects(plural).values())


async def _life_with_measured_cpu(world: World) -> None:
    """A node plays the CPU that it uses; a resize asks what the job's own pods use."""
    world.start()
    await world.settle()
    patch = {"metadata": {"annotations": {CPU: "20"}}}
    world.store.patch(NODE, None, "node-1", patch, MERGE)
    submit_example(world, "j", width=3, more={"fusion": {"automatic": True}})
    await world.until("running", lambda: world.is_running("j"))
    world.resize("j", "Counted", 5)
    await world.until("wider", lambda: "j.plan.1" in world.objects("configmaps", "j"))


async def _life_with_hosts(world: World) -> None:
    """A pool of its own: placed, robbed of finalizer, owner and Placement, and deleted twice."""
    world.faults = first_attempts_fail()
    provide(world, exclusive_pool())  # type: ignore[arg-type]
    tag(world, TAGGED)  # type: ignore[arg-type]
    world.start(*MAINS)
    world.submit("j", spec_of())
    await world.until("running", lambda: world.is_running("j"))
    for plural in ("streamshostpools", "streamsplacements"):
        for name in world.objects(plural, "j"):
            nobody = {"metadata": {"finalizers": None, "ownerReferences": None}}
            world.store.patch(world.kind(plural), "default", name, nobody, MERGE)
    await world.settle()
    for plural in ("streamshostpools", "streamsplacements"):
        for name in world.objects(plural, "j"):
            world.store.delete(world.kind(plural), "default", name, DeleteOptions())
    unknown = {"metadata": {"labels": {labels.member_label("nobody"): "0"}}}
    world.store.patch(NODE, None, TAGGED, unknown, MERGE)
    await world.settle()
    _delete(world)
    await world.until("gone", lambda: not world.objects("streamsplacements", "j"))
    release = {"metadata": {"finalizers": None}}
    world.store.patch(world.kind("streamsjobs"), "default", "j", release, MERGE)
    world.submit("j", spec_of())
    await world.until("running again", lambda: world.is_running("j"))
    _orphan(world, "streamsplacements")
    await world.settle()
    _delete(world)
    await world.until("cleared", lambda: {*world.objects("streamsplacements", "j")} == ORPHANED)


async def _life_with_a_certificate(world: World) -> None:
    """The job's Secret is made, damaged and made good; it goes with the Job."""
    world.faults = first_attempts_fail()
    world.start()
    encrypted = {"processingElement": {"transportSecurityType": "TLSv1.2"}}
    submit_example(world, "j", width=1, more=encrypted)
    await world.until("running", lambda: world.is_running("j"))
    before = dict(world.objects("secrets")["j.transport"]["data"])
    damage = {"data": {labels.PRIVATE_KEY_KEY: ""}}
    world.store.patch(world.kind("secrets"), "default", "j.transport", damage, MERGE)
    await world.until(
        "made good",
        lambda: (
            world.objects("secrets")["j.transport"]["data"].get(labels.PRIVATE_KEY_KEY)
            not in ("", before[labels.PRIVATE_KEY_KEY])
        ),
    )
    _delete(world)
    await world.until("gone", lambda: not world.objects("secrets"))


def _runs(world: World, width: int) -> bool:
    return world.is_running("j") and len(world.live_pods("j")) == width + OUTSIDE


def _change_by_hand(world: World) -> None:
    """Somebody edits a Service and takes owners off; all is brought back to what the plan says."""
    name = next(iter(world.objects("services", "j")))
    patch: dict[str, Any] = {"spec": {"selector": {"team": "blue"}}}
    world.store.patch(world.kind("services"), "default", name, patch, MERGE)
    for plural in CHILDREN:
        name = next(iter(world.objects(plural, "j")))
        nobody = {"metadata": {"ownerReferences": None}}
        world.store.patch(world.kind(plural), "default", name, nobody, MERGE)


def _delete(world: World) -> None:
    """Delete the Job; a finalizer keeps the garbage collector from being faster than we are."""
    jobs, patch = world.kind("streamsjobs"), {"metadata": {"finalizers": ["example.com/hold"]}}
    world.store.patch(jobs, "default", "j", patch, MERGE)
    world.store.delete(jobs, "default", "j", DeleteOptions())


def _orphan(world: World, plural: str) -> None:
    """A copy of a child that names no owner."""
    body = dict(next(iter(world.objects(plural, "j").values())))
    meta = body["metadata"]
    body["metadata"] = {"name": f"orphan-{plural}", "labels": meta["labels"]}
    body.pop("status", None)
    world.store.create(world.kind(plural), "default", body)


def first_attempts_fail() -> Callable[[Request], Fault | None]:
    """The first write of each kind is answered by a conflict; a creation loses its answer."""
    seen: set[tuple[str, str, str]] = set()

    def fault(request: Request) -> Fault | None:
        right = needed_for(request.method, request.path)
        written = (request.service, right.resource, right.verb)
        if right.plural == "leases" or written in seen:
            return None
        seen.add(written)
        if right.verb in ("patch", "delete"):
            return Fault(status=409)
        return Fault(lost=When.AFTER) if right.verb == "create" else None

    return fault


@pytest.mark.parametrize(
    ("effects", "permissions"),
    [(fusion_effects, fusion_backend), (pod_effects, pod_state_machine)],
    ids=["fusion-backend", "pod-state-machine"],
)
def test_every_effect_says_what_it_needs(effects: object, permissions: object) -> None:
    """A new effect is thought through before it meets a refusal on a cluster."""
    assert set(permissions.NEEDED) == set(get_args(effects.Effect))  # type: ignore[attr-defined]


@pytest.mark.parametrize("service", sorted(PERMISSIONS))
def test_no_role_holds_a_wildcard_or_lists_secrets(service: str) -> None:
    """Whoever lists Secrets or writes roles can become everybody else.

    Certificates are kept by one service, which asks for Secrets by name and cannot find others.
    """
    granted = list(rules(PERMISSIONS[service]))
    assert granted
    for rule in granted:
        named = {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        assert not named & {"*", "serviceaccounts", "rbac.authorization.k8s.io"}
        assert not named & {"escalate", "bind", "impersonate"}
        if "secrets" in named:
            assert service == "fusion-backend"
            assert set(rule["verbs"]) == {"get", "create", "patch", "deletecollection"}


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/v1/namespaces/kube-system", True),
        ("GET", "/api/v1/namespaces/default", False),
        ("GET", "/api/v1/pods?limit=500", True),
        ("GET", "/api/v1/namespaces/a/pods/p", False),
        ("GET", "/api/v1/namespaces/a/pods?watch=1", True),
        ("DELETE", "/api/v1/namespaces/a/pods?labelSelector=x", False),
        ("GET", "/api/v1/secrets", False),
        ("PATCH", "/apis/streams.ibm.com/v1/namespaces/a/streamsjobs/j/status", False),
    ],
)
def test_a_request_without_a_right_is_noticed(method: str, path: str, allowed: bool) -> None:
    """The simulations would show nothing if everything were allowed there."""
    assert (used_of(PERMISSIONS["watch-ingest"], method, path) is not None) is allowed


def test_a_simulated_request_without_a_right_fails_the_simulation(tmp_path: Path) -> None:
    """It would be refused on a cluster."""

    async def test(world: World) -> None:
        world.note_asked("watch-ingest", "GET", "/api/v1/secrets")

    with pytest.raises(AssertionError, match="watch-ingest has no right for GET /api/v1/secrets"):
        simulate(tmp_path, test)
