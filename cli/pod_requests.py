"""Requests to ports of pods through the API server: `pods/NAME:PORT/proxy/PATH`.

They need the right `get` on `pods/proxy`, and no way from here to the network of the pods.
"""

from __future__ import annotations

import re
from typing import Final

from cli.connecting import PODS, USER_AGENT
from services.chassis.kube.port import Transport, path_of
from services.chassis.process.errors import ChassisError

METRICS_PORT: Final = 9696
"""Of a PE: `/metrics`, and in images of millrace `/tap`."""
HEADERS: Final = {"user-agent": USER_AGENT, "accept": "*/*"}
_PROCESSED: Final = re.compile(
    r'^op_input_n_tuples_processed\{[^}]*\bname="(?P<name>[^"]*)"[^}]*\} (?P<value>\S+)$', re.M
)
_LOST: Final = re.compile(r"^millrace_tuples_lost_total\{[^}]*\} (?P<value>\S+)$", re.M)


def path_in_pod(namespace: str, pod: str, path: str, port: int = METRICS_PORT) -> str:
    """The path of a request; `path` begins with a slash, and may have a query."""
    return path_of(PODS, namespace, f"{pod}:{port}", "proxy") + path


async def metrics_of(transport: Transport, namespace: str, pod: str) -> str:
    """The metrics of a PE as text; empty where they cannot be read now."""
    path = path_in_pod(namespace, pod, "/metrics")
    try:
        response = await transport.request("GET", path, body=None, headers=HEADERS)
    except ChassisError:
        return ""
    return response.body.decode(errors="replace") if response.status < 400 else ""


def processed_in(metrics: str) -> dict[str, float]:
    """How many tuples each operator has processed since its PE was launched, by its name."""
    return {each["name"]: float(each["value"]) for each in _PROCESSED.finditer(metrics)}


def lost_in(metrics: str) -> int:
    """How many tuples the PE knows to be lost since it was launched."""
    return int(sum(float(each["value"]) for each in _LOST.finditer(metrics)))
