"""Endpoints of PEs: ports that they serve for others, under a name that is unique in their scope.

They are an annotation of the Service in which their PE is found, and no ports of it: a headless
Service leads to addresses and not to ports, two PEs of a job may serve the same port, and another
port would have every EndpointSlice of the job written again (docs/adr/0064).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import orjson

from contracts import labels
from services.pe_gateway.core.answers import bad_request
from services.pe_gateway.core.effects import SetEndpoints
from services.pe_gateway.core.requests import AddEndpoint, RemoveEndpoint
from services.pe_gateway.core.snapshot import Endpoint, PeService

PORT_PREFIX = "usr-"
ENDPOINTS_MAX = 1_000
"""Of one Service: annotations of an object hold 256 KiB."""


def endpoints_from(text: str) -> tuple[Endpoint, ...]:
    """The endpoints in an annotation; those that somebody made unreadable do not exist."""
    try:
        rows = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ()
    if not isinstance(rows, list):
        return ()
    return tuple(Endpoint(*row) for row in rows if _is_row(row))


def _is_row(row: object) -> bool:
    kinds = (str, int, int, str)
    return (
        isinstance(row, list)
        and len(row) == len(kinds)
        and all(type(each) is kind for each, kind in zip(row, kinds, strict=True))
    )


def annotation_of(endpoints: Iterable[Endpoint]) -> str | None:
    """The annotation with these endpoints; None: it is removed."""
    rows = [list(each) for each in sorted(endpoints)]
    return orjson.dumps(rows).decode() if rows else None


def added(
    request: AddEndpoint,
    service: PeService,
    others: Iterable[PeService],
    pes: Collection[tuple[str, int]],
) -> SetEndpoints | None:
    """The write that adds an endpoint; None where it is there. Raises Refused: 400.

    `others` are Services of the same scope, and `pes` the job and id of every PE that exists: the
    endpoint of one that is gone does not count. A PE that starts again adds what it had.
    """
    wanted = Endpoint(request.name, request.pe, request.port, request.protocol)
    for other in others:
        for each in other.endpoints:
            is_own = other.name == service.name and each.pe == request.pe
            if each.name == request.name and not is_own and (other.job, each.pe) in pes:
                holder = labels.pe_name(other.job, each.pe)
                raise bad_request(f"endpoint {request.name} is {holder}'s: choose another name")
    if wanted in service.endpoints:
        return None
    kept = [
        each
        for each in service.endpoints
        if each.name != request.name and (service.job, each.pe) in pes
    ]
    if len(kept) >= ENDPOINTS_MAX:
        raise bad_request(f"Service {service.name} has {ENDPOINTS_MAX} endpoints, which is most")
    return SetEndpoints(service.namespace, service.name, tuple(sorted([*kept, wanted])))


def removed(request: RemoveEndpoint, service: PeService) -> SetEndpoints:
    """The write that removes an endpoint. Raises Refused: 400 where the PE has none of the name."""
    left = [each for each in service.endpoints if each[:2] != (request.name, request.pe)]
    if len(left) == len(service.endpoints):
        pe = labels.pe_name(request.job, request.pe)
        raise bad_request(f"{pe} has no endpoint {request.name}")
    return SetEndpoints(service.namespace, service.name, tuple(left))


def host_of(service: PeService, pe: int) -> str:
    """The host name of a PE: in its own Service as in the original, or below that of its job."""
    own = labels.pe_name(service.job, pe)
    below = own if service.name == own else f"{own}.{service.name}"
    return f"{below}.{service.namespace}"


def ports_of(service: PeService, pe: int, inputs: Iterable[int]) -> Mapping[str, Mapping[str, Any]]:
    """Every port of a PE as a Kubernetes ServicePort, by its name; `inputs` are its input ports."""
    ports = [(str(each.get("name", "")), each) for each in service.ports]
    known = {name for name, _ in ports}
    named = [(f"sys-{number}", 10_000 + number, "TCP") for number in sorted(inputs)]
    named = [each for each in named if each[0] not in known]
    own = [each for each in service.endpoints if each.pe == pe]
    named += [(f"{PORT_PREFIX}{each.name}", each.port, each.protocol) for each in own]
    return dict(ports) | {
        name: {"name": name, "port": port, "protocol": protocol, "targetPort": port}
        for name, port, protocol in named
    }
