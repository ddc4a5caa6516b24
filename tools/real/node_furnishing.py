"""Applies the cluster's DNS and waits until pods can run on the node and resolve names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from cli.cluster_requests import apply
from cli.connecting import aclosing_transport
from services.chassis.kube.http import HttpTransport
from tools.real.node.dns import DEPLOYMENT, dns_objects
from tools.real.node.plan import NODE_NAME
from tools.real.preparing import FIELD_MANAGER
from tools.real.probing import HEALTHY, until

NODE_TIMEOUT_S = 120.0
_NODE = f"/api/v1/nodes/{NODE_NAME}"


async def furnish_node(kubeconfig: Path) -> None:
    """Apply the objects of the DNS and return when the node and the DNS are ready."""
    async with aclosing_transport(kubeconfig) as transport:
        for path, body in dns_objects().items():
            await apply(transport, path, body, manager=FIELD_MANAGER)
        await until(lambda: _node_problem(transport), NODE_NAME, NODE_TIMEOUT_S)
        await until(lambda: _dns_problem(transport), "the cluster's DNS", NODE_TIMEOUT_S)


async def _node_problem(transport: HttpTransport) -> str:
    node = await _read(transport, _NODE)
    return HEALTHY if node and has_condition(node, "Ready") else "is not Ready"


async def _dns_problem(transport: HttpTransport) -> str:
    deployment = await _read(transport, DEPLOYMENT)
    available = deployment and has_condition(deployment, "Available")
    return HEALTHY if available else "has no pod that is ready"


def has_condition(found: dict[str, Any], kind: str) -> bool:
    """Whether a condition of an object is True."""
    conditions = found.get("status", {}).get("conditions") or ()
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


async def _read(transport: HttpTransport, path: str) -> dict[str, Any] | None:
    response = await transport.request("GET", path, body=None, headers={})
    return orjson.loads(response.body) if response.status == 200 else None
