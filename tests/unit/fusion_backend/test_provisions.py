"""What PEs share: what becomes of a redis, when a certificate is due, and who finds servers."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from contracts.moments import unix_s_of
from planner.refusals import PlanRefused
from services.chassis.process.clock import LoopClock
from services.chassis.process.errors import Superseded, Transient
from services.fusion_backend.adapters.certifying import Certificate, made_certificate
from services.fusion_backend.adapters.finding_servers import SystemResolver
from services.fusion_backend.core.effects import FindServers, KeepCertificate
from services.fusion_backend.core.spec.accepting import refusal_of_spec
from services.fusion_backend.core.spec.provisions import (
    RedisRequest,
    redis_config,
    redis_request,
    refusal_of_redis,
)
from tests.patience import patient
from tests.sandboxed import MERGE
from tests.unit.fusion_backend.api import GROUP, KEY, Api

MAKING = "services.fusion_backend.adapters.certificates"
ASKED = RedisRequest("spec.redis", "redis", replicas=3, shards=2, restricted_property="pw")
V4, V6 = socket.AF_INET, socket.AF_INET6
HOSTS = {f"10.0.0.{n}": f"redis-{n}.redis.default.svc" for n in (5, 3, 1, 2, 4, 6)}


def config(request: RedisRequest, hosts: dict[str, str]) -> dict[str, Any]:
    text = redis_config(request, hosts, name="redis.default", shuffled=lambda each: each[::-1])
    found: dict[str, Any] = json.loads(text)
    return found


def test_servers_are_sorted_into_replicas_of_shards() -> None:
    found = config(ASKED, HOSTS)
    assert (found["replicas"], found["shards"]) == (3, 2)
    assert found["replicaGroups"] == [
        {
            "servers": [f"redis-{n}.redis.default.svc:6379:pw" for n in pair],
            "description": f"redis#{at}",
        }
        for at, pair in enumerate(((1, 2), (3, 4), (5, 6)))
    ]


def test_servers_are_shuffled_where_it_is_requested_and_carry_a_property_only_if_named() -> None:
    found = config(replace(ASKED, shuffle=True, restricted_property=""), HOSTS)
    assert found["replicaGroups"][0]["servers"][0] == "redis-6.redis.default.svc:6379"


def test_a_host_name_that_two_servers_share_names_neither() -> None:
    hosts = {"10.0.0.1": "node", "10.0.0.2": "node", "10.0.0.3": "other"}
    found = config(replace(ASKED, shards=1, restricted_property=""), hosts)
    servers = [each["servers"][0] for each in found["replicaGroups"]]
    assert servers == ["10.0.0.1:6379", "10.0.0.2:6379", "other:6379"]


@pytest.mark.parametrize(
    ("asked", "field", "value"),
    [
        (replace(ASKED, replicas=0), "spec.redis.replicaCount", "0"),
        (replace(ASKED, replicas=4), "spec.redis.replicaCount", "4"),
        (replace(ASKED, shards=0), "spec.redis.shardCount", "0"),
        (replace(ASKED, replicas=999), "spec.redis.replicaCount", "999"),
        (replace(ASKED, service=""), "spec.redis.service", ""),
        (replace(ASKED, service="redis.kube-system"), "spec.redis.service", "redis.kube-system"),
    ],
)
def test_counts_and_names_that_nobody_can_use_are_refused(
    asked: RedisRequest, field: str, value: str
) -> None:
    refusal = refusal_of_redis(asked)
    assert refusal is not None
    assert (refusal.field, refusal.value) == (field, value)


@pytest.mark.parametrize("count", [0, 5, 7])
def test_another_number_of_addresses_than_servers_is_refused(count: int) -> None:
    hosts = {f"10.0.0.{number}": str(number) for number in range(count)}
    with pytest.raises(PlanRefused, match=rf"spec.redis.service is redis: .* {count} addresses"):
        config(ASKED, hosts)


@pytest.mark.parametrize("name", ["checkpointRepository", "checkpointDataStore"])
def test_a_job_s_redis_is_found_under_either_name_and_judged_before_it_is_planned(
    name: str,
) -> None:
    redis = {"service": "redis", "replicaCount": 2, "shardCount": 1}
    template = {name: {"redis": redis}}
    asked = redis_request(template, "spec.processingElement")
    assert asked is not None
    assert asked.place == f"spec.processingElement.{name}.redis"
    spec = {"bundle": {"name": "b"}, "processingElement": template}
    refusal = refusal_of_spec(spec)
    assert refusal is not None
    assert refusal.field == f"{asked.place}.replicaCount"


async def test_the_resolver_of_the_system_finds_addresses_and_names() -> None:
    resolver = SystemResolver(answer_s_max=patient(10))
    assert "127.0.0.1" in await resolver.hosts_of("localhost")
    assert await resolver.hosts_of("no-such-host.invalid") == {}


def _dns(*families: tuple[socket.AddressFamily, str]) -> Callable[..., list[Any]]:
    """Answers of a DNS in which a name has these addresses."""

    def answer(_host: str, _port: object, family: int = 0, *_: object) -> list[Any]:
        found = [each for each in families if each[0] == family]
        if not found:
            raise socket.gaierror(socket.EAI_NODATA, "no address of that family")
        return [(each[0], 1, 6, "", (each[1], 0)) for each in found]

    return answer


@pytest.mark.parametrize(
    ("records", "hosts"),
    [
        (((V6, "fd00::5"), (V6, "fd00::6")), {"fd00::5": "r-fd00::5", "fd00::6": "r-fd00::6"}),
        (((V4, "10.0.0.1"), (V6, "fd00::5")), {"10.0.0.1": "r-10.0.0.1"}),
        ((), {}),
    ],
)
async def test_servers_of_a_service_are_found_by_either_family_and_counted_once(
    monkeypatch: pytest.MonkeyPatch, records: Any, hosts: dict[str, str]
) -> None:
    """A Service of both families has each server in both."""
    monkeypatch.setattr(socket, "getaddrinfo", _dns(*records))
    monkeypatch.setattr(socket, "getnameinfo", lambda place, _: (f"r-{place[0]}", "0"))
    assert await SystemResolver(answer_s_max=patient(10)).hosts_of("redis") == hosts


def test_servers_without_names_of_their_own_are_named_by_their_ipv6_addresses() -> None:
    """In brackets, or nobody could say where the port begins."""
    hosts = {"fd00::5": "fd00::5", "fd00::6": "node", "fd00::7": "node"}
    request = RedisRequest("spec.redis", "redis", 3, 1, restricted_property="pw")
    found = config(request, hosts)
    servers = [each["servers"][0] for each in found["replicaGroups"]]
    assert servers == [f"[fd00::{each}]:6379:pw" for each in (5, 6, 7)]


async def test_a_dns_that_fails_is_requested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    with pytest.raises(Transient, match="try again"):
        await SystemResolver(answer_s_max=patient(10)).hosts_of("redis")


async def test_an_answer_of_the_dns_that_comes_after_an_edit_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Job may ask for another redis by now."""
    api = Api(tmp_path)
    jobs = api.kind("streamsjobs")

    async def edited_meanwhile(_self: object, _name: str) -> dict[str, str]:
        edit = {
            "spec": {"processingElement": {"checkpointRepository": {"redis": {"shuffle": True}}}}
        }
        api.writer.observe("Job", api.store.patch(jobs, KEY.namespace, KEY.name, edit, MERGE))
        return {"10.0.0.1": "redis-1"}

    monkeypatch.setattr(SystemResolver, "hosts_of", edited_meanwhile)
    redis = {"service": "redis", "replicaCount": 1, "shardCount": 1}
    api.submit({"processingElement": {"checkpointRepository": {"redis": redis}}})
    await api.until(lambda: any(isinstance(each, FindServers) for each in api.decide().effects))
    with pytest.raises(Superseded):
        await api.step()
    assert "redisConfig" not in api.store.get(jobs, KEY.namespace, KEY.name)["status"]
    await api.step()
    assert "redisConfig" in api.store.get(jobs, KEY.namespace, KEY.name)["status"]


# --------------------------------------------------------------------------- certificates


@pytest.fixture
async def api(tmp_path: Path) -> Api:
    """A job that talks over TLS, with its children and its certificate."""
    api = Api(tmp_path)
    body = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Job",
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {
            "bundle": {"name": "shop.sab"},
            "fusion": {"legacy": True},
            "submissionTimeOutInSeconds": 10_000_000,
            "processingElement": {"transportSecurityType": "TLSv1.2"},
        },
    }
    api.writer.observe("Job", api.store.create(api.kind("streamsjobs"), KEY.namespace, body))
    await api.until(lambda: api.decide().rules["clean-up"] == "PODS_MISSING")
    return api


def secret(api: Api) -> dict[str, Any]:
    name = labels.certificate_name(KEY.name)
    return dict(api.store.get(api.kind("secrets"), KEY.namespace, name))


async def test_a_certificate_is_renewed_from_the_time_that_the_status_says(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same Secret; the status says the new times."""
    before, said = secret(api), certificate_said(api)
    now_of = LoopClock.now
    ahead_s = unix_s_of(said["renewedFrom"]) - now_of(LoopClock())
    assert not kept(api)
    monkeypatch.setattr(LoopClock, "now", lambda clock: now_of(clock) + ahead_s + 1)
    assert kept(api)
    await api.until(lambda: secret(api)["data"] != before["data"])
    assert secret(api)["metadata"]["uid"] == before["metadata"]["uid"]
    assert certificate_said(api)["notAfter"] > said["notAfter"]
    assert not kept(api)


def certificate_said(api: Api) -> dict[str, str]:
    """What the Job's status says of the certificate."""
    job = api.stage.snapshot(api.table, KEY).job
    assert job is not None
    found: dict[str, str] = job.status["transportCertificate"]
    return found


def kept(api: Api) -> bool:
    """Whether the certificate is due to be looked at."""
    return any(isinstance(each, KeepCertificate) for each in api.decide().effects)


async def test_a_crash_after_the_secret_finds_it_and_makes_no_other(api: Api) -> None:
    """The status that was not written yet is written then."""
    before = secret(api)
    job = dict(api.store.get(api.kind("streamsjobs"), KEY.namespace, KEY.name))
    api.restart()
    api.writer.observe("Job", {**job, "status": {**job["status"], "transportCertificate": None}})
    await api.until(lambda: api.decide().rules["generation"] != "RECORD_UNREAD")
    assert secret(api) == before


async def test_a_certificate_that_changes_while_it_is_renewed_is_not_overwritten(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody put another one in; it is looked at again, and is as it should be."""
    now_of = LoopClock.now
    ahead_s = unix_s_of(certificate_said(api)["renewedFrom"]) - now_of(LoopClock())
    monkeypatch.setattr(LoopClock, "now", lambda clock: now_of(clock) + ahead_s + 1)
    theirs: list[Certificate] = []

    def made_too_late(names: Sequence[str], *, days: int, now: float) -> Certificate:
        if not theirs:
            theirs.append(made_certificate(names, days=days, now=now))
            data = {"transport.cert": theirs[0].certificate, "transport.key": theirs[0].key}
            put(api, {name: base64.b64encode(each).decode() for name, each in data.items()})
        return made_certificate(names, days=days, now=now)

    monkeypatch.setattr(f"{MAKING}.made_certificate", made_too_late)
    with pytest.raises(Superseded):
        await api.step()
    await api.until(lambda: not kept(api))
    assert base64.b64decode(secret(api)["data"]["transport.key"]) == theirs[0].key


def put(api: Api, data: dict[str, str]) -> None:
    """Somebody writes into the Secret."""
    name = labels.certificate_name(KEY.name)
    api.store.patch(api.kind("secrets"), KEY.namespace, name, {"data": data}, MERGE)
