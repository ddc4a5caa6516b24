"""The connections that the pods of services really have, and what their policies allow.

The node's bridge enforces no NetworkPolicy. So it is compared: each TCP connection of a pod, as
/proc/PID/net/tcp lists it, has to be one that the pod's policy lets out or in.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ESTABLISHED = "01"
LISTENING = "0A"

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Connection:
    """A TCP connection; `incoming`: the pod listens on its port."""

    local_port: int
    remote_ip: str
    remote_port: int
    incoming: bool


def connections_of(pid: int) -> list[Connection]:
    """Those of the network namespace of a process."""
    text = "".join(Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6"))
    return parsed(text)


def parsed(text: str) -> list[Connection]:
    """The established connections in the text of /proc/net/tcp; those with oneself left out."""
    rows = [fields for line in text.splitlines() if (fields := line.split()) and fields[0] != "sl"]
    listening = {_port(fields[1]) for fields in rows if fields[3] == LISTENING}
    return [
        Connection(_port(local), ip, _port(remote), _port(local) in listening)
        for _, local, remote, state, *_ in rows
        if state == ESTABLISHED and not (ip := _address(remote)).startswith("127.")
    ]


def _port(text: str) -> int:
    return int(text.rpartition(":")[2], 16)


def _address(text: str) -> str:
    """An IPv4 address in the kernel's byte order; also one that is mapped into IPv6."""
    octets = bytes.fromhex(text.partition(":")[0])[-4:]
    return str(ipaddress.IPv4Address(octets[::-1]))


def refused(
    connections: Iterable[Connection], policy: Json, pods: Sequence[Json]
) -> list[Connection]:
    """Those that the policy would not allow."""
    spec = policy["spec"]
    return [
        each
        for each in connections
        if not _is_allowed(each, spec.get("ingress" if each.incoming else "egress", ()), pods)
    ]


def _is_allowed(each: Connection, rules: Sequence[Json], pods: Sequence[Json]) -> bool:
    port = each.local_port if each.incoming else each.remote_port
    return any(_has_port(rule, port) and _has_peer(rule, each, pods) for rule in rules)


def _has_port(rule: Json, port: int) -> bool:
    ports = rule.get("ports")
    return not ports or any(
        item["port"] == port and item.get("protocol", "TCP") == "TCP" for item in ports
    )


def _has_peer(rule: Json, each: Connection, pods: Sequence[Json]) -> bool:
    peers = rule.get("from" if each.incoming else "to")
    return not peers or any(_is_peer(peer, each.remote_ip, pods) for peer in peers)


def _is_peer(peer: Json, ip: str, pods: Sequence[Json]) -> bool:
    if "ipBlock" in peer:
        return ipaddress.ip_address(ip) in ipaddress.ip_network(peer["ipBlock"]["cidr"])
    labels = peer["podSelector"]["matchLabels"].items()
    return any(
        pod["status"].get("podIP") == ip and labels <= pod["metadata"]["labels"].items()
        for pod in pods
    )
