"""The processes of the node and the files that they read. Pure but for `write_files`.

They run in the node's namespaces: `namespaces.py` says what they see there. Files lie in the folder
of the pair, below `node/`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from cli.private import private_folder, write_private
from tools.real.node.archives import image_name
from tools.real.node.certificates import AUTHORITY, KUBELET_SERVER
from tools.real.node.plan import (
    CLUSTER_DNS,
    CLUSTER_DOMAIN,
    KEY,
    KUBELET_HEALTH_PORT,
    KUBELET_PORT,
    NODE_NAME,
    PODS_MAX,
    PROXY_HEALTH_PORT,
    PROXY_METRICS_PORT,
    NodePlan,
)
from tools.real.node.requiring import CNI_FOLDER, SEARCHED

CONTAINERD = "containerd"
KUBELET = "kubelet"
KUBE_PROXY = "kube-proxy"
# In the order in which they start.
NODE_PROCESSES = (CONTAINERD, KUBELET, KUBE_PROXY)
NODE_PORTS = {CONTAINERD: 0, KUBELET: KUBELET_PORT, KUBE_PROXY: PROXY_HEALTH_PORT}
HEALTH_PORTS = {KUBELET: KUBELET_HEALTH_PORT, KUBE_PROXY: PROXY_HEALTH_PORT}
SOCKET = "/run/containerd.sock"
"""In the node's own /run: short, since the path of a socket has 107 characters at most."""
BRIDGE = "pods0"

# What the kubelet wants of the kernel and would set for the whole machine: it finds these instead.
KERNEL_SETTINGS: Mapping[str, str] = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


def node_folder(folder: Path) -> Path:
    """Everything of the node within the folder of its pair."""
    return folder / "node"


def node_commands(node: NodePlan, folder: Path) -> Mapping[str, tuple[str, ...]]:
    """The command line of each process of the node, as it is within the namespaces."""
    own, kube, programs = node_folder(folder), folder / "kube", Path(node.build) / "bin"
    return {
        CONTAINERD: ("/usr/bin/containerd", f"--config={own / 'containerd.toml'}"),
        KUBELET: (
            str(programs / KUBELET),
            f"--config={own / 'kubelet.yaml'}",
            f"--kubeconfig={kube / 'kubelet.kubeconfig'}",
            f"--root-dir={own / 'kubelet'}",
            f"--cert-dir={own / 'pki'}",
            f"--hostname-override={NODE_NAME}",
            f"--node-ip={node.node_ip}",
            f"--node-labels={KEY}=true",
        ),
        KUBE_PROXY: (str(programs / KUBE_PROXY), f"--config={own / 'kube-proxy.yaml'}"),
    }


def write_files(node: NodePlan, folder: Path) -> None:
    """Write the files that these command lines name."""
    own = node_folder(folder)
    for part in ("", "cni", "kernel"):
        private_folder(own / part)
    write_private(own / "containerd.toml", containerd_settings(own))
    write_private(own / "cni" / "10-pods.conflist", json.dumps(cni_settings(node, own)))
    write_private(own / "kubelet.yaml", yaml.safe_dump(kubelet_settings(node, folder)))
    write_private(own / "kube-proxy.yaml", yaml.safe_dump(proxy_settings(node, folder)))
    write_private(own / "resolv.conf", "")
    for name, value in KERNEL_SETTINGS.items():
        write_private(kernel_file(own, name), f"{value}\n")


def kernel_file(own: Path, name: str) -> Path:
    """The file that stands for a setting of the kernel."""
    return own / "kernel" / name.replace("/", ".")


def containerd_settings(own: Path) -> str:
    """containerd 1.6 and 1.7 read this version of its configuration."""
    return f"""\
version = 2
root = '{own / "containerd"}'
state = '/run/containerd'
[grpc]
  address = '{SOCKET}'
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = '{image_name("pause")}'
  # Root in a container, as in CI, may not lower the score of a process (CAP_SYS_RESOURCE).
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = '{CNI_FOLDER}'
    conf_dir = '{own / "cni"}'
"""


def cni_settings(node: NodePlan, own: Path) -> dict[str, Any]:
    """Pods on a bridge. It does not enforce network policies."""
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipMasq": False,
        "ipam": {
            "type": "host-local",
            "dataDir": str(own / "addresses"),
            "ranges": [[{"subnet": node.pod_network}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge, ports]}


def kubelet_settings(node: NodePlan, folder: Path) -> dict[str, Any]:
    """A kubelet that also runs on cgroups of version 1, and changes nothing of the machine."""
    own = node_folder(folder)
    return {
        **_kubelet_access(node, folder / "kube"),
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "oomScoreAdj": 0,  # a lower one needs CAP_SYS_RESOURCE
        "resolvConf": str(own / "resolv.conf"),
        "clusterDomain": CLUSTER_DOMAIN,
        "clusterDNS": [CLUSTER_DNS],
        "registerWithTaints": [{"key": KEY, "effect": "NoSchedule"}],
        "maxPods": PODS_MAX,
        "registryPullQPS": 0,
        "serializeImagePulls": False,
        "enforceNodeAllocatable": ["pods"],
        "systemReserved": {"cpu": "200m", "memory": "512Mi"},
        "evictionHard": {
            "memory.available": "200Mi",
            "nodefs.available": "1Gi",
            "imagefs.available": "1Gi",
        },
        # Images are imported once and cannot be pulled again.
        "imageGCHighThresholdPercent": 100,
        "imageMinimumGCAge": "2400h",
        "volumePluginDir": str(own / "plugins"),
        "podLogsDir": str(own / "pod-logs"),
        "nodeStatusUpdateFrequency": "5s",
    }


def _kubelet_access(node: NodePlan, kube: Path) -> dict[str, Any]:
    """Where the kubelet listens, and who may use it."""
    return {
        "address": node.node_ip,
        "port": KUBELET_PORT,
        "readOnlyPort": 0,
        "healthzBindAddress": node.node_ip,
        "healthzPort": KUBELET_HEALTH_PORT,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(kube / f"{AUTHORITY}.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(kube / f"{KUBELET_SERVER}.crt"),
        "tlsPrivateKeyFile": str(kube / f"{KUBELET_SERVER}.key"),
    }


def proxy_settings(node: NodePlan, folder: Path) -> dict[str, Any]:
    """kube-proxy with iptables, in the node's own network namespace."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(folder / "kube" / "kube-proxy.kubeconfig")},
        "mode": "iptables",
        "bindAddress": node.node_ip,
        "hostnameOverride": NODE_NAME,
        "clusterCIDR": node.pod_network,
        "healthzBindAddress": f"{node.node_ip}:{PROXY_HEALTH_PORT}",
        "metricsBindAddress": f"{node.node_ip}:{PROXY_METRICS_PORT}",
        "oomScoreAdj": 0,
        # The table of connections is the machine's.
        "conntrack": {"maxPerCore": 0, "min": 0},
    }


def images_command(*words: str) -> tuple[str, ...]:
    """containerd's own client, for the images that the kubelet sees."""
    return ("/usr/bin/ctr", f"--address={SOCKET}", "--namespace=k8s.io", "images", *words)


ENVIRONMENT = {"PATH": SEARCHED}
