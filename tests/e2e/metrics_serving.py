"""The metrics APIs of Kubernetes, served by a test to a real control plane.

Three APIServices lead by a Service of type ExternalName to this process. Each pod that a query
selects uses as much as the test says; so does the object, and so do nodes and what is outside.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from urllib.parse import quote

import trustme
from aiohttp import web

from loadtest.api import CORE, Api
from tests.e2e.watching import Obj
from tests.unit.fusion_backend.serving import serving

VERSIONS = {"metrics.k8s.io": "v1beta1", "custom.metrics.k8s.io": "v1beta2"} | {
    "external.metrics.k8s.io": "v1beta1"
}
RESOURCES = {
    "metrics.k8s.io": (("pods", "PodMetrics"), ("nodes", "NodeMetrics")),
    "custom.metrics.k8s.io": (
        ("pods/load", "MetricValueList"),
        ("services/load", "MetricValueList"),
    ),
    "external.metrics.k8s.io": (("load", "ExternalMetricValueList"),),
}
SERVICE = "metrics-of-tests"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


class Metrics:
    """What is measured: `of_pod` of each pod (millicores as CPU), `of_all` of everything else."""

    def __init__(self, api: Api, *, of_pod: int, of_all: int) -> None:
        self._api = api
        self.of_pod = of_pod
        self.of_all = of_all

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One request of kube-apiserver, for itself or for an autoscaler."""
        root, group, version, *path = [*request.path.strip("/").split("/"), "", ""]
        if root != "apis" or VERSIONS.get(group) != version:
            return web.Response(status=404)
        path = path[:-2]
        if not path:
            return web.json_response(_resources(group))
        selector = request.query.get("labelSelector", "")
        return web.json_response(await self._measured(group, path, selector))

    async def _measured(self, group: str, path: list[str], selector: str) -> Obj:
        version, now = f"{group}/{VERSIONS[group]}", datetime.now(UTC).isoformat()
        if group == "external.metrics.k8s.io":
            item = {"metricName": "load", "metricLabels": {}, "timestamp": now}
            return _list(version, "ExternalMetricValueList", [{**item, "value": str(self.of_all)}])
        if (group, path[-1]) == ("metrics.k8s.io", "nodes"):
            return _list(version, "NodeMetricsList", await self._nodes(now))
        if group == "metrics.k8s.io":
            return _list(
                version, "PodMetricsList", [self._used(p, now) for p in await self._pods(selector)]
            )
        kind, name = ("Service", path[-2]) if path[-3] == "services" else ("Pod", "")
        names = [name] if name else [pod["metadata"]["name"] for pod in await self._pods(selector)]
        value = self.of_all if name else self.of_pod
        return _list(version, "MetricValueList", [_value(kind, each, value, now) for each in names])

    def _used(self, pod: Obj, now: str) -> Obj:
        containers = [
            {"name": each["name"], "usage": {"cpu": f"{self.of_pod}m", "memory": "1Mi"}}
            for each in pod["spec"]["containers"]
        ]
        meta = {key: pod["metadata"][key] for key in ("name", "namespace")}
        return {"metadata": meta, "timestamp": now, "window": "1s", "containers": containers}

    async def _nodes(self, now: str) -> list[Obj]:
        listing = await self._api.call("GET", "/api/v1/nodes")
        return [
            {
                "metadata": {"name": node["metadata"]["name"]},
                "timestamp": now,
                "window": "1s",
                "usage": {"cpu": f"{self.of_all * 1_000_000}n", "memory": "1Mi"},
            }
            for node in listing["items"]
        ]

    async def _pods(self, selector: str) -> list[Obj]:
        listing = await self._api.call("GET", f"{CORE}/pods?labelSelector={quote(selector)}")
        items: list[Obj] = listing["items"]
        return items


def _value(kind: str, name: str, value: int, now: str) -> Obj:
    about = {"kind": kind, "namespace": "default", "name": name, "apiVersion": "v1"}
    return {
        "describedObject": about,
        "metric": {"name": "load"},
        "timestamp": now,
        "value": str(value),
    }


def _list(version: str, kind: str, items: list[Obj]) -> Obj:
    return {"kind": kind, "apiVersion": version, "metadata": {}, "items": items}


def _resources(group: str) -> Obj:
    resources = [
        {
            "name": name,
            "singularName": "",
            "namespaced": name != "nodes",
            "kind": kind,
            "verbs": ["get", "list"],
        }
        for name, kind in RESOURCES[group]
    ]
    version = f"{group}/{VERSIONS[group]}"
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": version,
        "resources": resources,
    }


@asynccontextmanager
async def metrics_served(api: Api, *, of_pod: int, of_all: int) -> AsyncIterator[Metrics]:
    """The metrics APIs are there, and gone at the end."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    metrics = Metrics(api, of_pod=of_pod, of_all=of_all)
    async with serving(context) as server:
        server.otherwise = metrics.answer
        spec = {"type": "ExternalName", "externalName": "localhost"}
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": SERVICE},
            "spec": spec,
        }
        await api.call("POST", f"{CORE}/services", service)
        try:
            for group, version in VERSIONS.items():
                await api.call("POST", API_SERVICES, _api_service(group, version, server.port))
            yield metrics
        finally:
            for group, version in VERSIONS.items():
                await api.call("DELETE", f"{API_SERVICES}/{version}.{group}")
            await api.call("DELETE", f"{CORE}/services/{SERVICE}")


def _api_service(group: str, version: str, port: int) -> Obj:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}"},
        "spec": {
            "group": group,
            "version": version,
            "service": {"namespace": "default", "name": SERVICE, "port": port},
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }
