"""The taints and labels of Nodes, as those write them who claim nodes."""

from __future__ import annotations

from typing import Any

from tests.real.differential.objects import MEMBER, TAINT, Obj, node
from tests.real.differential.steps import (
    Exchange,
    Step,
    delete,
    exchange,
    get,
    json_patch,
    merge,
    post,
    strategic,
)

COVERS = ("sandbox/store/nodes.py",)

LONG = "a" * 64
_TAINTS: tuple[Any, ...] = (
    [TAINT],
    [{"key": "a", "effect": "NoSchedule"}],
    [{"key": "a", "effect": "NoSchedule"}, TAINT],
    [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}],
    [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "value": "b", "effect": "NoSchedule"}],
    [TAINT, TAINT, TAINT],
    [{"key": "a", "effect": "PreferNoSchedule"}],
    [{"key": "a", "effect": "Never"}],
    [{"key": "a", "effect": ""}],
    [{"key": "a"}],
    [{"effect": "NoSchedule"}],
    [{"key": "", "effect": "NoSchedule"}],
    [{"key": "a b", "effect": "NoSchedule"}],
    [{"key": "a", "value": "-", "effect": "NoSchedule"}],
    [{"key": "a", "value": "-" + LONG, "effect": "NoSchedule"}],
    [{"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}],
    [{"key": "a", "effect": "NoExecute", "timeAdded": "yesterday"}],
    [{"key": "a", "effect": "Never"}, {"key": "a", "effect": "Never"}],
    [],
    "a",
)
_LABELS: tuple[Obj, ...] = (
    {MEMBER: "0"},
    {MEMBER: "16383"},
    {MEMBER: ""},
    {"member.streams.ibm.com/": "0"},
    {"member.streams.ibm.com/a/b": "0"},
    {f"member.streams.ibm.com/{LONG}": "0"},
    {"tag.streams.ibm.com/blue": "x y"},
    {"streams.ibm.com/hostpool": "blue"},
)


def _node(name: str, *steps: Step, spec: Any = None) -> Exchange:
    return exchange(
        name,
        post("nodes", node("$ns", spec), compared=spec is not None),
        *steps,
        delete("nodes", "$ns", compared=False),
        masked=("status",),
    )


EXCHANGES = (
    *(_node(f"taints of a new Node {i}", spec={"taints": each}) for i, each in enumerate(_TAINTS)),
    *(
        _node(f"taints are merged into a Node {i}", merge("nodes", "$ns", {"spec": {"taints": t}}))
        for i, t in enumerate(_TAINTS)
    ),
    *(
        _node(
            f"labels are merged into a Node {i}",
            merge("nodes", "$ns", {"metadata": {"labels": each}}),
            merge("nodes", "$ns", {"metadata": {"labels": dict.fromkeys(each)}}),
        )
        for i, each in enumerate(_LABELS)
    ),
    _node(
        "label and taint of a member under a version that is over",
        get("nodes", "$ns", keep="seen", compared=False),
        merge("nodes", "$ns", {"metadata": {"labels": {"a": "b"}}}, compared=False),
        merge(
            "nodes",
            "$ns",
            {
                "metadata": {
                    "labels": {MEMBER: "0"},
                    "resourceVersion": "${seen.metadata.resourceVersion}",
                },
                "spec": {"taints": [TAINT]},
            },
        ),
    ),
    _node(
        "label and taint of a member",
        merge(
            "nodes",
            "$ns",
            {
                "metadata": {"labels": {MEMBER: "0"}},
                "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, TAINT]},
            },
        ),
        json_patch(
            "nodes",
            "$ns",
            [
                {"op": "test", "path": "/spec/taints/1", "value": TAINT},
                {"op": "add", "path": "/metadata/labels/a", "value": "b"},
            ],
        ),
    ),
    _node(
        "a taint is taken from a Node in a JSON patch",
        merge("nodes", "$ns", {"spec": {"taints": [TAINT]}}, compared=False),
        json_patch("nodes", "$ns", [{"op": "remove", "path": "/spec/taints/0"}]),
        json_patch("nodes", "$ns", [{"op": "remove", "path": "/spec/taints/0"}]),
    ),
    _node(
        "taints in a strategic merge patch",
        strategic("nodes", "$ns", {"spec": {"taints": [TAINT]}}),
        strategic("nodes", "$ns", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
    ),
)
