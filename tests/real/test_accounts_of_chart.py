"""The accounts of an installation: what the authorizer reports, and what admission refuses."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from cli.connecting import aclosing_transport
from contracts.losses import LaunchLoss, Losses, losses_field
from contracts.moments import moment_of
from contracts.resources import PePhase, StatedCondition
from services.launching.core.owners import FIELDS, LaunchStatus, status_patch
from tests.patience import patient
from tests.real.accounts import (
    MAPS,
    MERGE,
    PODS,
    ROLELESS,
    SERVICES,
    Accounts,
    check_foreign_writes,
    check_rights,
    make_roleless,
    refused,
)
from tests.real.installing import NAMESPACE, ask, installed_trial, transport_of
from tools.real.pair import existing_pair
from tools.real.probing import until

COVERS = (
    "deploy/chart/*",
    "deploy/chart_*",
    "deploy/rbac/*",
    "services/*/adapters/permissions.py",
    "tools/real/accounts.py",
)

pytestmark = [pytest.mark.real]
Json = dict[str, Any]

SERVICES_OF_PES = "/api/v1/namespaces/default/services"
SECRETS = "/api/v1/namespaces/default/secrets"
JOBS = "/apis/streams.ibm.com/v1/namespaces/default/streamsjobs"
PES = "/apis/streams.ibm.com/v1/namespaces/default/streamspes"
POOLS = "/apis/streams.ibm.com/v1/namespaces/default/streamshostpools"
READY_S_MAX = patient(30.0)
OF_A_JOB = {"streams.ibm.com/job-uid": "uid"}
STARTS = LaunchStatus(PePhase.STARTING, next_restart=moment_of(0), message="It starts.")
RUNS = LaunchStatus(
    PePhase.RUNNING,
    launch_count=1,
    pod="foreign",
    node="node",
    content_id="content",
    generation=1,
    observed_generation=1,
    reason="PodRunning",
    message="It runs.",
    observed_restart="again",
    connectivity="Full",
    conditions=(StatedCondition("BackingOff", "False", "reason", "message", moment_of(0)),),
)
"""It differs from STARTS in every field that may change when a launch begins to run."""


@pytest.fixture
async def accounts(tmp_path: Path) -> AsyncIterator[Accounts]:
    pair = existing_pair(os.environ)
    if pair is None:
        pytest.skip("no pair: set MILLRACE_KUBECONFIG and MILLRACE_BOOTSTRAP_SERVERS (real-up)")
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(aclosing_transport(pair.kubeconfig))
        await stack.enter_async_context(installed_trial(admin, podSecurity="restricted"))
        found = Accounts(admin, NAMESPACE)
        await make_roleless(found)
        for service in (*SERVICES, ROLELESS):
            account = service if service == ROLELESS else f"millrace-{service}"
            transport = transport_of(admin, pair.kubeconfig, tmp_path / service, account)
            found.of[service] = await stack.enter_async_context(transport)
        yield found


async def test_accounts_may_do_what_the_generated_roles_list_and_foreign_writes_are_refused(
    accounts: Accounts,
) -> None:
    """One installation for all of it: it takes longer than all the questions."""
    await check_rights(accounts)
    await check_foreign_writes(accounts)
    await _nodes_keep_what_is_not_a_pools(accounts)
    await _pods_are_those_of_processing_elements(accounts)
    await _objects_are_those_of_jobs(accounts)
    await _specs_are_their_authors(accounts)
    await _reports_are_those_of_launches_that_run(accounts)
    await _losses_are_all_that_the_gateway_says_of_a_job(accounts)


async def _nodes_keep_what_is_not_a_pools(accounts: Accounts) -> None:
    tainter = accounts.of["node-tainter"]
    name = f"foreign-{uuid.uuid4().hex[:8]}"
    path = f"/api/v1/nodes/{name}"
    taint = {"key": "maintenance", "effect": "NoExecute"}
    ours = {"key": "streams.ibm.com/exclusive", "value": "uid", "effect": "NoSchedule"}
    node = {"metadata": {"name": name}, "spec": {"taints": [taint]}}
    await ask(accounts.admin, "POST", "/api/v1/nodes", node)
    try:
        await until(lambda: _taints_of_others(accounts, path), name, READY_S_MAX)
        foreign: tuple[Json, ...] = (
            {"metadata": {"labels": {"zone": "b"}}},
            {"metadata": {"annotations": {"a": "b"}}},
            {"spec": {"taints": [ours]}},
            {"spec": {"unschedulable": True}},
        )
        for patch in foreign:
            await refused(tainter, "PATCH", path, patch, "node-tainter may")
        own = {
            "metadata": {"labels": {"member.streams.ibm.com/uid": "1"}},
            "spec": {"taints": [taint, ours]},
        }
        assert (await ask(tainter, "PATCH", path, own, MERGE)).status == 200
    finally:
        await ask(accounts.admin, "DELETE", path)


async def _taints_of_others(accounts: Accounts, path: str) -> str:
    """Those of a node that is not ready: they come and go, and would be part of our patches."""
    taints = orjson.loads((await ask(accounts.admin, "GET", path)).body)["spec"]["taints"]
    return ", ".join(each["key"] for each in taints if each["key"] != "maintenance")


async def _pods_are_those_of_processing_elements(accounts: Accounts) -> None:
    machine = accounts.of["pod-state-machine"]
    spec: Json = {"containers": [{"name": "pe", "image": "runtime:1"}], "nodeName": "nowhere"}
    owner = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "ProcessingElement",
        "name": "any",
        "uid": "any",
        "controller": True,
    }
    foreign = {"metadata": {"name": "foreign"}, "spec": spec}
    # The pod of somebody, which the right to delete pods would cover.
    assert (await ask(accounts.admin, "POST", PODS, foreign)).status == 201
    await refused(machine, "DELETE", f"{PODS}/foreign", None, "pods of ProcessingElements only")
    await ask(accounts.admin, "DELETE", f"{PODS}/foreign?gracePeriodSeconds=0")
    with_account = {**spec, "serviceAccountName": "builder"}
    owned = {"metadata": {"name": "own", "ownerReferences": [owner]}}
    account = {"metadata": {"name": "builder"}}
    await ask(accounts.admin, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
    await refused(machine, "POST", PODS, {**owned, "spec": with_account}, "have no account")
    (container,) = spec["containers"]
    on_host = {
        **spec,
        "containers": [{**container, "ports": [{"containerPort": 1, "hostPort": 1}]}],
    }
    await refused(machine, "POST", PODS, {**owned, "spec": on_host}, "no ports of the host")
    with_path = {**spec, "volumes": [{"name": "root", "hostPath": {"path": "/"}}]}
    await refused(machine, "POST", PODS, {**owned, "spec": with_path}, "no paths of the host")
    answer = await ask(machine, "POST", PODS, {**owned, "spec": spec})
    assert answer.status == 201, answer.body
    for patch in ({"metadata": {"annotations": {"a": "b"}}}, {"metadata": {"labels": {"a": "b"}}}):
        await refused(machine, "PATCH", f"{PODS}/own", patch, "pod-state-machine may")
    aside = {"metadata": {"labels": {"svc": "zombie"}}}
    assert (await ask(machine, "PATCH", f"{PODS}/own", aside, MERGE)).status == 200
    assert (await ask(machine, "DELETE", f"{PODS}/own?gracePeriodSeconds=0")).status == 200


async def _objects_are_those_of_jobs(accounts: Accounts) -> None:
    backend = accounts.of["fusion-backend"]
    foreign = {"metadata": {"name": "foreign"}, "data": {"a": "b"}}
    await ask(accounts.admin, "POST", MAPS, foreign)
    patch = {"data": {"a": "c"}}
    await refused(backend, "PATCH", f"{MAPS}/foreign", patch, "objects of Jobs only")
    await refused(backend, "DELETE", f"{MAPS}/foreign", None, "objects of Jobs only")
    await ask(accounts.admin, "DELETE", f"{MAPS}/foreign")
    token = {
        "metadata": {
            "name": "token",
            "labels": OF_A_JOB,
            "annotations": {"kubernetes.io/service-account.name": "default"},
        },
        "type": "kubernetes.io/service-account-token",
    }
    await refused(backend, "POST", SECRETS, token, "type Opaque only")
    outside = {
        "metadata": {"name": "foreign", "labels": OF_A_JOB},
        "spec": {"ports": [{"port": 443}], "externalIPs": ["192.0.2.1"]},
    }
    await refused(backend, "POST", SERVICES_OF_PES, outside, "no addresses from outside")
    own = {"metadata": {"name": "own", "labels": OF_A_JOB}}
    assert (await ask(backend, "POST", MAPS, own)).status == 201
    assert (await ask(backend, "DELETE", f"{MAPS}/own")).status == 200


async def _specs_are_their_authors(accounts: Accounts) -> None:
    pool = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "HostPool",
        "metadata": {"name": "foreign"},
        "spec": {"hostpool": {"name": "gpu"}},
    }
    answer = await ask(accounts.admin, "POST", POOLS, pool)
    assert answer.status == 201, answer.body
    path = f"{POOLS}/foreign"
    labels = {"metadata": {"labels": {"a": "b"}}}
    try:
        await refused(accounts.of["hostpool-manager"], "PATCH", path, labels, "status alone")
        await refused(accounts.of["node-tainter"], "PATCH", path, labels, "finalizer")
        claim = {"metadata": {"finalizers": ["streams.ibm.com/node-claims"]}}
        tainter = accounts.of["node-tainter"]
        assert (await ask(tainter, "PATCH", path, claim, MERGE)).status == 200
        empty = {"metadata": {"finalizers": None}}
        assert (await ask(tainter, "PATCH", path, empty, MERGE)).status == 200
        members = {"status": {"members": ["node-0"]}}
        watcher = accounts.of["watch-ingest"]
        await refused(watcher, "PATCH", f"{path}/status", members, "conditions of a status only")
    finally:
        await ask(accounts.admin, "DELETE", path)


async def _losses_are_all_that_the_gateway_says_of_a_job(accounts: Accounts) -> None:
    gateway, path = accounts.of["pe-gateway"], f"{JOBS}/losing"
    job = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "Job",
        "metadata": {"name": "losing"},
        "spec": {"bundle": {"name": "a.sab"}},
    }
    answer = await ask(accounts.admin, "POST", JOBS, job)
    assert answer.status == 201, answer.body
    moment = "2026-11-20T10:00:00Z"
    row = LaunchLoss(3, "u3", 1, 12, moment, moment, "StoppedLate", 12)
    losses = {"losses": losses_field(Losses(12, moment, (row,)))}
    try:
        answer = await ask(gateway, "PATCH", f"{path}/status", {"status": losses}, MERGE)
        assert answer.status == 200, answer.body
        failed = {"status": losses | {"phase": "Failed"}}
        await refused(gateway, "PATCH", f"{path}/status", failed, "the losses in the status")
        spec = {"spec": {"lossRetentionSeconds": 0}}
        await refused(gateway, "PATCH", path, spec, "status alone")
        answer = await ask(accounts.admin, "PATCH", path, spec, MERGE)
        assert answer.status == 200, answer.body
        for wrong in (-1, 2**31, "soon"):
            bad: Json = {"spec": {"lossRetentionSeconds": wrong}}
            assert (await ask(accounts.admin, "PATCH", path, bad, MERGE)).status == 422, wrong
    finally:
        await ask(accounts.admin, "DELETE", path)


async def _reports_are_those_of_launches_that_run(accounts: Accounts) -> None:
    """pe-gateway may write every field that changes when a launch begins to run, and no other."""
    gateway, path = accounts.of["pe-gateway"], f"{PES}/foreign"
    words = "when a launch begins to run"
    pe = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "ProcessingElement",
        "metadata": {"name": "foreign"},
        "spec": {"id": 0, "job": "foreign"},
    }
    answer = await ask(accounts.admin, "POST", PES, pe)
    assert answer.status == 201, answer.body
    running = status_patch(STARTS, RUNS) | {"runtime": {"launch": 1}}
    assert {*running} == {*FIELDS, "conditions", "runtime"} - {"restarts"}
    patches: tuple[Json, ...] = (
        {"phase": "Completed"},
        {"launchCount": 1},
        {**running, "restarts": 1},
        {**running, "launchCount": 2},
    )
    try:
        before = {"status": status_patch(LaunchStatus(), STARTS)}
        assert (await ask(accounts.admin, "PATCH", f"{path}/status", before, MERGE)).status == 200
        for patch in patches:
            await refused(gateway, "PATCH", f"{path}/status", {"status": patch}, words)
        answer = await ask(gateway, "PATCH", f"{path}/status", {"status": running}, MERGE)
        assert answer.status == 200, answer.body
        starts: Json = {"status": {"phase": "Starting"}}
        await refused(gateway, "PATCH", f"{path}/status", starts, words)
        answer = await ask(accounts.admin, "PATCH", f"{path}/status", starts, MERGE)
        assert answer.status == 200, answer.body
        newer = {"status": running | {"launchCount": 2}}
        await refused(gateway, "PATCH", f"{path}/status", newer, words)
        answer = await ask(gateway, "PATCH", f"{path}/status", {"status": running}, MERGE)
        assert answer.status == 200, answer.body
    finally:
        await ask(accounts.admin, "DELETE", path)
