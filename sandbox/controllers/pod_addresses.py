"""Addresses of pods: one for each, taken back when the pod is gone."""

from __future__ import annotations

import ipaddress

POD_NETWORK = ipaddress.IPv4Network("10.244.0.0/16")
"""Of pods that are played: nothing listens there."""
LOOPBACK_NETWORK = ipaddress.IPv4Network("127.64.0.0/10")
"""Of pods that are processes: this machine answers at each of these addresses."""
_LAST_BYTES_UNUSED = (0, 255)


class PodAddresses:
    """Gives addresses of a network in turn, after the one at the offset `last`."""

    def __init__(self, network: ipaddress.IPv4Network = POD_NETWORK, last: int = 0) -> None:
        self._network = network
        self._by_uid: dict[str, str] = {}
        self._used: set[str] = set()
        self._last = last

    def of(self, uid: str) -> str:
        """The address of a pod."""
        if uid not in self._by_uid:
            address = self._next()
            self._by_uid[uid] = address
            self._used.add(address)
        return self._by_uid[uid]

    def release(self, uid: str) -> None:
        """The pod is gone: its address can be that of another one."""
        self._used.discard(self._by_uid.pop(uid, ""))

    def _next(self) -> str:
        for _ in range(self._network.num_addresses - 2):
            self._last = self._last % (self._network.num_addresses - 2) + 1
            address = str(self._network[self._last])
            is_loopback = self._network is LOOPBACK_NETWORK
            if address not in self._used and not (is_loopback and _is_edge(address)):
                return address
        raise RuntimeError(f"all addresses of {self._network} are taken by pods")


def _is_edge(address: str) -> bool:
    return int(address.rpartition(".")[2]) in _LAST_BYTES_UNUSED
