"""What the PEs of a job share beside their plan: one certificate, and the servers of one redis.

Here is how they are requested, named and written down; when they are due is `provisions_due.py`'s
business, and making keys or asking the DNS the adapters'.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contracts.reasons import Reason
from contracts.resources.processing_element import is_encrypted, required_redis
from planner.refusals import PlanRefused

REDIS_PORT: Final = 6379
REDIS_SERVERS_MAX: Final = 256
NAMED_PES_MAX: Final = 100
"""PEs that a certificate names one by one: it must fit into a handshake (100 KiB)."""
TEMPLATE: Final = "spec.processingElement"

REDIS_SERVERS: Final = "redis servers"
CERTIFICATE: Final = "certificate"
"""The subjects of trouble with what a job's PEs share."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Provisions:
    """What is known of a job's provisions and stands in no object.

    `certificate_seen_at`: when its Secret was last seen as it should be (unix seconds). `refusal`:
    why the redis servers cannot be used.
    """

    certificate_seen_at: float | None = None
    refusal: PlanRefused | None = None


@dataclass(frozen=True, slots=True)
class RedisRequest:
    """A redis checkpoint store; `place` is the field that asks for it."""

    place: str
    service: str
    replicas: int
    shards: int
    restricted_property: str = ""
    shuffle: bool = False


def redis_request(spec: Json, place: str) -> RedisRequest | None:
    """The redis of the spec (or template) of a PE, if it keeps checkpoints there."""
    found = required_redis(spec)
    if found is None:
        return None
    name, redis = found
    return RedisRequest(
        place=f"{place}.{name}.redis",
        service=str(redis.get("service") or ""),
        replicas=int(redis.get("replicaCount") or 0),
        shards=int(redis.get("shardCount") or 0),
        restricted_property=str(redis.get("restrictedProperty") or ""),
        shuffle=bool(redis.get("shuffle")),
    )


# --------------------------------------------------------------------------- redis


def refusal_of_redis(request: RedisRequest) -> PlanRefused | None:
    """Why a redis store can be used by nobody, whatever its servers are."""
    if not _is_label(request.service):
        why = "it must be the name of a Service in the job's namespace"
        return _refused(request, "service", request.service, why)
    for field, count in (("replicaCount", request.replicas), ("shardCount", request.shards)):
        if count < 1:
            return _refused(request, field, count, "it must be at least 1")
    if request.replicas % 2 == 0:
        why = "it must be odd, so that replicas can have a majority"
        return _refused(request, "replicaCount", request.replicas, why)
    if request.replicas * request.shards > REDIS_SERVERS_MAX:
        why = f"replicaCount times shardCount may be at most {REDIS_SERVERS_MAX}"
        return _refused(request, "replicaCount", request.replicas, why)
    return None


def redis_config(
    request: RedisRequest,
    hosts: Mapping[str, str],
    *,
    name: str,
    shuffled: Callable[[list[str]], list[str]],
) -> str:
    """The configuration as the runtime reads it; PlanRefused where servers lack or are too many.

    `hosts` are the canonical host of each address that `name` has in the DNS.
    """
    if (refusal := refusal_of_redis(request)) is not None:
        raise refusal
    wanted = request.replicas * request.shards
    if len(hosts) != wanted:
        why = (
            f"{name} has {len(hosts)} addresses, and replicaCount {request.replicas} times"
            f" shardCount {request.shards} asks for {wanted}"
        )
        raise _refused(request, "service", request.service, why)
    named = Counter(hosts.values())
    suffix = f":{request.restricted_property}" if request.restricted_property else ""
    # A host that two servers share names neither.
    servers = sorted(
        f"{_host(host if named[host] == 1 else address)}:{REDIS_PORT}{suffix}"
        for address, host in hosts.items()
    )
    if request.shuffle:
        servers = shuffled(servers)
    groups = [
        {
            "servers": servers[number * request.shards : (number + 1) * request.shards],
            "description": f"{request.service}#{number}",
        }
        for number in range(request.replicas)
    ]
    return json.dumps(
        {"replicas": request.replicas, "shards": request.shards, "replicaGroups": groups}
    )


def _host(host: str) -> str:
    """A host in front of a port: an IPv6 address has colons of its own."""
    return f"[{host}]" if ":" in host else host


def _refused(request: RedisRequest, field: str, value: object, why: str) -> PlanRefused:
    place = f"{request.place}.{field}"
    return PlanRefused(
        Reason.CHECKPOINT_STORE_INVALID,
        field=place,
        value=value,
        message=f"{place} is {value}: {why}",
    )


def _is_label(name: str) -> bool:
    """A name with a dot would lead to a Service of somebody else's namespace."""
    return bool(name) and all(each.isascii() and (each.isalnum() or each == "-") for each in name)


# --------------------------------------------------------------------------- certificates


def certified_names(
    pes: Sequence[str], *, namespace: str, cluster_domain: str, service: str = ""
) -> tuple[str, ...]:
    """The DNS names of a job's certificate: those of its PEs, and of PEs that are yet to come.

    Names with a star cover PEs that a resize adds, so that no certificate is made again. `service`
    is the Service of the job; empty where each PE has one.
    """
    place = f"{service}.{namespace}" if service else namespace
    suffixes = (place, f"{place}.svc", f"{place}.svc.{cluster_domain}")
    named = (f"{pe}.{suffix}" for pe in pes[:NAMED_PES_MAX] for suffix in suffixes)
    return (*named, *(f"*.{suffix}" for suffix in suffixes))


def encrypted_pes(specs: Iterable[Json]) -> bool:
    """Whether some PE of these specs talks over TLS."""
    return any(map(is_encrypted, specs))
