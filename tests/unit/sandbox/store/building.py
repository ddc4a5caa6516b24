"""Objects and a store for these tests: a clock that the test moves, uids that count."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.store.errors import ApiError
from sandbox.store.resources import CUSTOM_RESOURCE_DEFINITION, ResourceType
from sandbox.store.store import Store

NOW_S = 1_000_000.0
NOW_TEXT = "1970-01-12T13:46:40Z"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
Body = dict[str, Any]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_s = NOW_S

    def __call__(self) -> float:
        return self.now_s


def new_store(clock: Clock | None = None, *, history_max: int = 20_000) -> Store:
    numbers = itertools.count(1)
    return Store(
        now=clock or Clock(), new_uid=lambda: f"uid-{next(numbers)}", history_max=history_max
    )


def config_map(name: str = "settings", **fields: Any) -> Body:
    return {"metadata": {"name": name, **fields.pop("metadata", {})}, **fields}


def pod(name: str = "worker", *, metadata: Body | None = None, **spec: Any) -> Body:
    containers = [{"name": "main", "image": "registry/app:1"}]
    return {
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"containers": containers, **spec},
    }


def definition(
    spec: Body | None = None,
    *,
    root: Body | None = None,
    status: Body | None = None,
    subresources: Body | None = None,
    **version: Any,
) -> Body:
    """The definition of `widgets.example.com`; `spec` is the schema of its spec."""
    schema: Body = {
        "type": "object",
        "properties": {
            "spec": spec or {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "status": status or {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
        **(root or {}),
    }
    served: Body = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}} if subresources is None else subresources,
        **version,
    }
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wg"]},
            "versions": [served],
        },
    }


def widget(spec: Body | None = None, *, name: str = "one", **fields: Any) -> Body:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, **fields.pop("metadata", {})},
        "spec": spec or {},
        **fields,
    }


def serve(store: Store, crd: Body | None = None) -> ResourceType:
    """Make the store serve widgets."""
    store.create(CUSTOM_RESOURCE_DEFINITION, None, crd or definition())
    found = store.registry.find("example.com", "v1", "widgets")
    assert found is not None
    return found


def refusal(request: Callable[[], Any]) -> ApiError:
    """The error that a request ends with; the test fails if it is granted."""
    with pytest.raises(ApiError) as caught:
        request()
    return caught.value


def causes(error: ApiError) -> list[tuple[str, str]]:
    """(field, reason) of every cause."""
    found = (error.details or {}).get("causes", [])
    return [(item["field"], item["reason"]) for item in found]
