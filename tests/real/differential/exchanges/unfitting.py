"""Metadata that may not be, in a change of each kind: how often which part of it is refused."""

from __future__ import annotations

from typing import Any

from tests.real.differential.objects import Obj, config_map, lease, node, pod, service, widget
from tests.real.differential.steps import delete, exchange, merge, post

COVERS = ("sandbox/store/validation.py", "sandbox/store/schema_causes.py")

_UNFIT: tuple[Obj, ...] = (
    {"labels": {"a": "-"}},
    {"annotations": {"a b": "-"}},
    {"finalizers": ["a b"]},
    {"ownerReferences": [{"kind": "x"}]},
)
_TOGETHER: Obj = {**_UNFIT[0], **_UNFIT[1], **_UNFIT[2], **_UNFIT[3], "uid": "wrong"}
_KINDS: tuple[tuple[str, Any], ...] = (
    ("configmaps", config_map()),
    ("leases", lease()),
    ("pods", pod()),
    ("services", service()),
    ("widgets", widget()),
    ("secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}),
    (
        "serviceaccounts",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "one"}},
    ),
)
EXCHANGES = (
    *(
        exchange(
            f"metadata that may not be of {plural}, {i}",
            post(plural, body, compared=False),
            merge(plural, "one", {"metadata": meta}),
        )
        for plural, body in _KINDS
        for i, meta in enumerate((*_UNFIT, _TOGETHER))
    ),
    *(
        exchange(
            f"metadata that may not be of nodes, {i}",
            post("nodes", node("$ns"), compared=False),
            merge("nodes", "$ns", {"metadata": meta}),
            delete("nodes", "$ns", compared=False),
            masked=("status",),
        )
        for i, meta in enumerate(_UNFIT)
    ),
    *(
        exchange(
            f"metadata that may not be of namespaces, {i}",
            merge("namespaces", "$ns", {"metadata": meta}),
        )
        for i, meta in enumerate(_UNFIT)
    ),
)
