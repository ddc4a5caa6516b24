"""Defaults of Services, and the addresses that they get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.store.errors import ApiError, Cause, internal_error, invalid_value, required
from sandbox.store.strategies import Body

PORT_MAX = 65_535
_NO_PORT = f"must be between 1 and {PORT_MAX}, inclusive"
HEADLESS = "None"
EXTERNAL = "ExternalName"
_PREFIX = (10, 96)
_OF_ADDRESSES = (
    "clusterIP",
    "clusterIPs",
    "ipFamilies",
    "ipFamilyPolicy",
    "internalTrafficPolicy",
)
"""What a Service that is a name of somewhere else (ExternalName) has not."""
_FIRST_HOST = 10
_HOSTS_MAX = 1 << 16


class Addresses:
    """The cluster IPs that are in use: 10.96.0.10 and up, never one twice."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._next = _FIRST_HOST

    def reserve(self) -> str:
        for _ in range(_HOSTS_MAX):
            host = self._next
            self._next = (self._next + 1) % _HOSTS_MAX or _FIRST_HOST
            address = f"{_PREFIX[0]}.{_PREFIX[1]}.{host >> 8}.{host & 0xFF}"
            if address not in self._used:
                self._used.add(address)
                return address
        raise _exhausted()

    def claim(self, address: str) -> None:
        self._used.add(address)

    def release(self, obj: Mapping[str, Any]) -> None:
        self._used.discard((obj.get("spec") or {}).get("clusterIP", ""))


def with_defaults(obj: Body, addresses: Addresses) -> Body:
    """A new Service with type, address and ports filled in."""
    spec = {"type": "ClusterIP", "sessionAffinity": "None", **(obj.get("spec") or {})}
    if spec["type"] != EXTERNAL:
        spec = _with_address(spec, addresses)
    if spec.get("ports"):
        spec["ports"] = [_port_with_defaults(port) for port in spec["ports"]]
    return {**obj, "spec": spec, "status": {"loadBalancer": {}}}


def _with_address(spec: Body, addresses: Addresses) -> Body:
    address = spec.get("clusterIP") or addresses.reserve()
    if address != HEADLESS:
        addresses.claim(address)
    defaults = {
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }
    spec = {**defaults, **spec, "clusterIP": address, "clusterIPs": [address]}
    if address == HEADLESS and not spec.get("selector"):
        spec |= {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"}
    return spec


def with_kept_address(obj: Body, old: Mapping[str, Any], addresses: Addresses) -> Body:
    """A changed Service that says nothing about its address keeps it, unless its type has none."""
    spec, old_spec = dict(obj.get("spec") or {}), old.get("spec") or {}
    if spec.get("type") == EXTERNAL:
        spec = {key: each for key, each in spec.items() if key not in _OF_ADDRESSES}
    elif old_spec.get("type") == EXTERNAL:
        return {**with_defaults(obj, addresses), "status": old.get("status")}
    else:
        spec = _with_kept(spec, old_spec)
    if spec.get("ports"):
        spec["ports"] = [_port_with_defaults(port) for port in spec["ports"]]
    if spec.get("sessionAffinity") == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": 10800}})
    return {**obj, "spec": spec}


def _with_kept(spec: Body, old: Mapping[str, Any]) -> Body:
    fields = (*_OF_ADDRESSES, "sessionAffinity", "type")
    kept = {each: old[each] for each in fields if not spec.get(each) and each in old}
    return {**spec, **kept}


def causes(obj: Body) -> list[Cause]:
    spec = obj["spec"]
    ports = spec.get("ports") or []
    found = []
    if spec.get("clusterIP") == HEADLESS and spec.get("type") in {"NodePort", "LoadBalancer"}:
        detail = f"may not be set to 'None' for {spec['type']} services"
        found.append(invalid_value("spec.clusterIPs[0]", HEADLESS, detail))
    if not ports and spec.get("clusterIP") != HEADLESS and spec["type"] != EXTERNAL:
        found.append(required("spec.ports"))
    if spec["type"] == EXTERNAL and not spec.get("externalName"):
        found.append(required("spec.externalName"))
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        number = port.get("port")
        found.extend(
            invalid_value(f"{path}.{field}", value, _NO_PORT)
            for field, value in (("port", number), ("targetPort", port.get("targetPort") or number))
            if not _is_port(value)
        )
        if len(ports) > 1 and not port.get("name"):
            found.append(required(f"{path}.name"))
    return found


def _is_port(value: Any) -> bool:
    """A number of a port; names of ports are text and nobody's business here."""
    return isinstance(value, str) or (isinstance(value, int) and 1 <= value <= PORT_MAX)


def change_causes(obj: Body, old: Mapping[str, Any]) -> list[Cause]:
    mine, theirs = obj["spec"].get("clusterIP"), old["spec"].get("clusterIP")
    if mine and theirs and mine != theirs:
        return [invalid_value("spec.clusterIPs[0]", [mine], "may not change once set")]
    return []


def _port_with_defaults(port: Mapping[str, Any]) -> dict[str, Any]:
    """A port without a target, which Go writes as 0, is its own target."""
    return {"protocol": "TCP", **port, "targetPort": port.get("targetPort") or port.get("port")}


def _exhausted() -> ApiError:
    return internal_error("failed to allocate a serviceIP: range is full")
