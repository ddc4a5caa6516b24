"""What a cluster that answers needs before millrace and its tests can use it: CRDs, and nodes.

Everything can be done again at any time.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from cli.cluster_requests import apply, checked
from cli.connecting import aclosing_transport
from cli.resources import CRDS
from cli.shipped import document_in
from services.chassis.kube.http import HttpTransport
from services.chassis.kube.port import Response
from tools.real.probing import HEALTHY, until

FURNISH_TIMEOUT_S = 60.0
FIELD_MANAGER = "millrace-real"
NODES_MAX = 1000
NODE_NETWORK = ipaddress.IPv4Network("172.16.0.0/12")
# The nodes of the sandbox (sandbox/cluster.py), so that both pairs hold the same pods.
NODE_SIZE: Mapping[str, str] = {
    "cpu": "32",
    "memory": "32Gi",
    "ephemeral-storage": "100Gi",
    "pods": "250",
}
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"

Json = dict[str, Any]


async def furnish(kubeconfig: Path, *, nodes: int) -> None:
    """Apply the CRDs and make `nodes` nodes; returns when pods can be scheduled."""
    async with aclosing_transport(kubeconfig) as transport:
        await _apply_definitions(transport)
        for number in range(min(nodes, NODES_MAX)):
            await _create_node(transport, number)
        await until(lambda: _node_problem(transport, nodes), "nodes", FURNISH_TIMEOUT_S)
        if nodes:  # a cluster of our own has just begun, and admission wants this account
            await until(
                lambda: _missing(transport, _ACCOUNT), "namespace default", FURNISH_TIMEOUT_S
            )


async def furnish_definitions(kubeconfig: Path) -> None:
    """Apply the CRDs alone, in a cluster that has nodes of its own."""
    await furnish(kubeconfig, nodes=0)


async def cluster_version(kubeconfig: Path) -> str:
    """The version of an API server, such as v1.36.3; raises Transient where none answers."""
    async with aclosing_transport(kubeconfig) as transport:
        response = await transport.request("GET", "/version", body=None, headers={})
        return str(orjson.loads(checked(response, "/version").body)["gitVersion"])


def node_object(number: int) -> Json:
    """A node as a kubelet would register it."""
    name = f"node-{number}"
    addresses = [
        {"type": "InternalIP", "address": str(NODE_NETWORK[number + 1])},
        {"type": "Hostname", "address": name},
    ]
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    sizes = {"capacity": dict(NODE_SIZE), "allocatable": dict(NODE_SIZE)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {**sizes, "addresses": addresses},
    }


def node_problem(nodes: Iterable[Json], wanted: int) -> str:
    """Why pods cannot be scheduled yet."""
    usable = sum(_is_usable(node) for node in nodes)
    return HEALTHY if usable >= wanted else f"{usable} of {wanted} are ready and untainted"


def _is_usable(node: Json) -> bool:
    conditions = node.get("status", {}).get("conditions") or ()
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return ready and not node["spec"].get("taints")


async def _apply_definitions(transport: HttpTransport) -> None:
    names = []
    for file in sorted(CRDS.glob("*.yaml")):
        definition = document_in(file)
        names.append(definition["metadata"]["name"])
        await apply(transport, f"{_DEFINITIONS}/{names[-1]}", definition, manager=FIELD_MANAGER)
    for name in names:
        await until(lambda name=name: _unserved(transport, name), name, FURNISH_TIMEOUT_S)  # type: ignore[misc]


async def _unserved(transport: HttpTransport, name: str) -> str:
    """A definition is established a moment before its resources are served everywhere."""
    definition = orjson.loads((await _get(transport, f"{_DEFINITIONS}/{name}")).body)
    spec = definition["spec"]
    version = next(item["name"] for item in spec["versions"] if item["storage"])
    return await _missing(
        transport, f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1"
    )


async def _create_node(transport: HttpTransport, number: int) -> None:
    body = orjson.dumps(node_object(number))
    headers = {"content-type": "application/json"}
    response = await transport.request("POST", "/api/v1/nodes", body=body, headers=headers)
    if response.status != 409:
        checked(response, f"node-{number}")


async def _node_problem(transport: HttpTransport, wanted: int) -> str:
    if not wanted:
        return HEALTHY
    listing: Json = orjson.loads((await _get(transport, "/api/v1/nodes")).body)
    return node_problem(listing["items"], wanted)


async def _missing(transport: HttpTransport, path: str) -> str:
    response = await transport.request("GET", path, body=None, headers={})
    return HEALTHY if response.status == 200 else f"{path} answers {response.status}"


async def _get(transport: HttpTransport, path: str) -> Response:
    return checked(await transport.request("GET", path, body=None, headers={}), path)
