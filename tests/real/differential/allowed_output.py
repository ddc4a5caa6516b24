"""Where kubectl may print something else in front of the sandbox, and why.

By script and command: the lines that only the sandbox makes kubectl print (`- …`) and those that
only kube-apiserver does (`+ …`). A test fails when one of them is missing: its entry has to go.
"""

from __future__ import annotations

from collections.abc import Mapping

NODES = "nodes and pods are kept by kwok there, by the sandbox's own kubelets here"
QUOTAS = "the sandbox has neither ResourceQuota nor LimitRange"
BUILD = "the sandbox is no build of Go and names no commit"
_Commands = Mapping[tuple[str, str], tuple[str, ...]]
_BY_REASON: Mapping[str, _Commands] = {
    NODES: {
        ("taint and cordon", "get node $ns"): (
            "- <ns> Ready worker <age>",
            "+ <ns> Ready worker <age> kwok-0.8.0",
        ),
        ("taint and cordon", "get node $ns -o wide"): (
            "- <ns> Ready worker <age> <address> <none> <unknown> <unknown> <unknown>",
            "+ <ns> Ready worker <age> kwok-0.8.0 <address> <none> kwok <unknown> (amd64) "
            "kwok://0.8.0",
        ),
        ("taint and cordon", "get node $ns --show-labels"): (
            "- <ns> Ready worker <age> node-role.kubernetes.io/worker=,zone=z",
            "+ <ns> Ready worker <age> kwok-0.8.0 node-role.kubernetes.io/worker=,zone=z",
        ),
        ("taint and cordon", "get nodes $ns"): (
            "- <ns> Ready,SchedulingDisabled worker <age>",
            "+ <ns> Ready,SchedulingDisabled worker <age> kwok-0.8.0",
        ),
        ("drain", "get node $ns"): (
            "- <ns> Ready,SchedulingDisabled worker <age>",
            "+ <ns> Ready,SchedulingDisabled worker <age> kwok-0.8.0",
        ),
        ("describe a node and its pods", "describe node $ns --show-events=false"): (
            "- Annotations: <none>",
            "+ Annotations: node.alpha.kubernetes.io/ttl: 0",
            "-  HolderIdentity: <ns>",
            "+  HolderIdentity: vm_<uid>",
            "+  Ready True <time> <time> KubeletReady kubelet is posting ready status",
            "-  Ready True <time> <time> KubeletReady kubelet is posting ready status",
            "+  NetworkUnavailable False <time> <time> RouteCreated RouteController created a "
            "route",
            "-  Machine ID:",
            "+  Machine ID: <ns>",
            "-  OS Image:",
            "+  OS Image: kwok",
            "-  Operating System:",
            "+  Operating System: linux",
            "-  Architecture:",
            "+  Architecture: amd64",
            "-  Container Runtime Version:",
            "+  Container Runtime Version: kwok://0.8.0",
            "-  Kubelet Version:",
            "+  Kubelet Version: kwok-0.8.0",
        ),
        ("describe a node and its pods", "describe pod one --show-events=false"): (
            "-  PodScheduled True",
        ),
    },
    QUOTAS: {
        ("describe", "describe ns $ns"): (
            "+ ",
            "+ No resource quota.",
            "+ ",
            "+ No LimitRange resource.",
        ),
    },
    BUILD: {
        ("versions", "version --client=false -o yaml"): (
            "-  compiler: none",
            "+  compiler: gc",
            '-  gitCommit: ""',
            "+  gitCommit: $Format:%H$",
            "-  gitTreeState: clean",
            '+  gitTreeState: ""',
            "-  goVersion: none",
            "+  goVersion: go1.26.8",
        ),
    },
}
ALLOWED: Mapping[tuple[str, str], tuple[str, ...]] = {
    command: lines for commands in _BY_REASON.values() for command, lines in commands.items()
}
