"""The order that a strategic merge patch wants for the items of a list, as kubectl sends it."""

from __future__ import annotations

from typing import Any

from tests.real.differential.objects import service
from tests.real.differential.steps import exchange, get, post, strategic

COVERS = ("sandbox/store/errors.py", "sandbox/http/answers.py", "sandbox/store/schema_causes.py")

_PORTS = [{"name": "a", "port": 80}, {"name": "b", "port": 90}]
_SVC = post("services", service(spec={"clusterIP": "None", "ports": _PORTS}), compared=False)
_NEW = {"port": 70, "name": "n"}
_ORDERS: tuple[tuple[list[int], list[Any] | None], ...] = (
    ([80, 70, 90], [_NEW]),
    ([90, 80], None),
    ([90, 70], [_NEW, {"port": 80, "$patch": "delete"}]),
    ([70, 90], [_NEW]),
    ([70], [_NEW]),
    ([80, 90, 70], [{"port": 80, "name": "z"}, _NEW]),
)


def _patch(order: list[int], ports: list[Any] | None) -> dict[str, Any]:
    spec: dict[str, Any] = {"$setElementOrder/ports": [{"port": port} for port in order]}
    return {"spec": spec if ports is None else {**spec, "ports": ports}}


EXCHANGES = tuple(
    exchange(
        f"the order of ports {i}",
        _SVC,
        strategic("services", "one", _patch(order, ports)),
        get("services", "one"),
    )
    for i, (order, ports) in enumerate(_ORDERS)
)
