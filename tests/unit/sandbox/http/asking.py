"""A client that asks an API in process, and objects to ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from sandbox.http.answers import Answer, WatchAnswer
from sandbox.http.api import Api

NOW_S = 1_790_000_000.0
MERGE = "application/merge-patch+json"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.org/v1/namespaces/default/widgets"

WIDGET_DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.org"},
    "spec": {
        "group": "example.org",
        "names": {
            "kind": "Widget",
            "listKind": "WidgetList",
            "plural": "widgets",
            "singular": "widget",
            "shortNames": ["wd"],
            "categories": ["toys"],
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.width",
                        "statusReplicasPath": ".status.width",
                    },
                },
                "additionalPrinterColumns": [
                    {"name": "Width", "type": "integer", "jsonPath": ".spec.width"},
                    {
                        "name": "Ready",
                        "type": "string",
                        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
                    },
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"width": {"type": "integer", "minimum": 1}},
                            },
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
        ],
    },
}


@dataclass(frozen=True)
class Asker:
    """Asks an API in process; bodies go in and come out as Python values."""

    api: Api

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        all_headers = {"accept": accept, "content-type": content_type, **(headers or {})}
        answer = self.api.answer(method, path, all_headers, sent)
        assert isinstance(answer, Answer)
        return answer

    def json(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        return orjson.loads(self.ask(method, path, body, **options).body)

    def watch(self, path: str, *, accept: str = "application/json") -> WatchAnswer:
        answer = self.api.answer("GET", path, {"accept": accept})
        assert isinstance(answer, WatchAnswer), answer
        return answer

    def lines(self, answer: WatchAnswer) -> list[Any]:
        """What has come since the last look, decoded."""
        return [orjson.loads(answer.line(event)) for event in answer.watch.take()]


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def widget(name: str, width: int = 3) -> dict[str, Any]:
    return {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"width": width},
    }


def pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "example.org/none:1"}]},
    }
