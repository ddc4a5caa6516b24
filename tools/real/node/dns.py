"""The objects of the cluster's DNS: CoreDNS in a pod of the real node. Pure."""

from __future__ import annotations

from typing import Any

from tools.real.node.archives import image_name
from tools.real.node.plan import CLUSTER_DNS, CLUSTER_DOMAIN, KEY

NAME = "coredns"
NAMESPACE = "kube-system"
PROGRAM = "dns"
PORT = 1053
"""Above 1024: it runs without capabilities."""
READY_PORT = 8181
LABELS = {"k8s-app": "kube-dns"}
NONROOT = 65532
_CORE = f"/api/v1/namespaces/{NAMESPACE}"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
COREFILE = f"""\
.:{PORT} {{
    errors
    ready :{READY_PORT}
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {{
        pods insecure
    }}
    cache 5
    loadbalance
}}
"""

Json = dict[str, Any]


def dns_objects() -> dict[str, Json]:
    """Every object by its path, in the order in which they are applied."""
    return {
        f"{_CORE}/serviceaccounts/{NAME}": _object("v1", "ServiceAccount", NAME),
        f"{_RBAC}/clusterroles/system:{NAME}": _cluster_role(),
        f"{_RBAC}/clusterrolebindings/system:{NAME}": _binding(),
        f"{_CORE}/configmaps/{NAME}": _object("v1", "ConfigMap", NAME)
        | {"data": {"Corefile": COREFILE}},
        f"{_CORE}/services/kube-dns": _service(),
        DEPLOYMENT: _deployment(),
    }


def _object(version: str, kind: str, name: str) -> Json:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _cluster_role() -> Json:
    reads = ["list", "watch"]
    core = ["endpoints", "services", "pods", "namespaces"]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"system:{NAME}"},
        "rules": [
            {"apiGroups": [""], "resources": core, "verbs": reads},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": reads},
        ],
    }


def _binding() -> Json:
    name = f"system:{NAME}"
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }


def _service() -> Json:
    ports = [
        {"name": protocol.lower(), "port": 53, "targetPort": PORT, "protocol": protocol}
        for protocol in ("UDP", "TCP")
    ]
    spec = {"clusterIP": CLUSTER_DNS, "selector": LABELS, "ports": ports}
    return _object("v1", "Service", "kube-dns") | {"spec": spec}


def _deployment() -> Json:
    container = {
        "name": NAME,
        "image": image_name(PROGRAM),
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "securityContext": {
            "runAsUser": NONROOT,
            "runAsNonRoot": True,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": READY_PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns"}],
    }
    pod = {
        "serviceAccountName": NAME,
        "dnsPolicy": "Default",
        "nodeSelector": {KEY: "true"},
        "tolerations": [{"key": KEY, "operator": "Exists"}],
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": NAME}}],
    }
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template}
    return _object("apps/v1", "Deployment", NAME) | {"spec": spec}
