"""The addresses and names of the node, all of them from one number. Pure."""

from __future__ import annotations

import random
from collections.abc import Container
from dataclasses import dataclass

from cli.failing import Failure

NUMBERS = range(256)
NODE_NAME = "real-node"
KEY = "sandbox.millrace.dev/real"
"""Label and taint of the node. kwok plays the nodes without the label; the taint keeps the pods of
PEs away until they have something to run."""
CLUSTER_DNS = "10.96.0.10"
CLUSTER_DOMAIN = "cluster.local"
KUBELET_PORT = 10250
KUBELET_HEALTH_PORT = 10248
PROXY_HEALTH_PORT = 10256
PROXY_METRICS_PORT = 10249
PODS_MAX = 200


@dataclass(frozen=True, slots=True)
class NodePlan:
    """A number that no other node of this machine has, containerd's version, and the build.

    A pair of interfaces joins the node's network to the machine's. The control plane and the
    brokers listen at the machine's end, where pods reach them and nobody outside does.
    """

    number: int
    containerd: str
    build: str

    @property
    def interface(self) -> str:
        """The machine's end of the pair of interfaces."""
        return f"millrace{self.number}"

    @property
    def host_ip(self) -> str:
        """The address of the machine's end."""
        return f"10.200.{self.number}.1"

    @property
    def node_ip(self) -> str:
        """The address of the node's end."""
        return f"10.200.{self.number}.2"

    @property
    def pod_network(self) -> str:
        """The addresses of the node's pods: 253 of them."""
        return f"10.201.{self.number}.0/24"

    @property
    def cgroup(self) -> str:
        """The cgroup of its pods in every hierarchy."""
        return f"millrace-node-{self.number}"


def free_number(interfaces: Container[str], draw: random.Random) -> int:
    """A number without an interface. Two commands that start at once rarely choose the same one."""
    free = [number for number in NUMBERS if NodePlan(number, "", "").interface not in interfaces]
    if not free:
        raise Failure(f"all {len(NUMBERS)} addresses of real nodes are in use on this machine")
    return draw.choice(free)
