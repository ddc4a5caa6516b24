"""PATCH: merge patches, JSON patches and strategic merge patches."""

from __future__ import annotations

from typing import Any

from tests.real.differential.objects import config_map, gauge, node, pod, service, widget
from tests.real.differential.steps import (
    JSON,
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

COVERS = ("sandbox/store/patching.py", "sandbox/store/strateg*")

_CM = post(
    "configmaps",
    config_map(data={"a": "1", "b": "2"}, labels={"x": "y"}),
    keep="cm",
    compared=False,
)
_W = post(
    "widgets", widget(spec={"size": 1, "note": "n", "tags": ["a", "b"]}), keep="w", compared=False
)
_POD = post("pods", pod(labels={"x": "y"}), keep="pod", compared=False)
_SVC = post(
    "services",
    service(
        spec={
            "clusterIP": "None",
            "selector": {"a": "b"},
            "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 90}],
        }
    ),
    keep="svc",
    compared=False,
)
# of a kind that is not served: nobody can tell that this owner is absent
_NOBODY = {"apiVersion": "example.com/v1", "kind": "Nobody", "name": "o", "uid": "u"}
_MERGES: tuple[Any, ...] = (
    {"data": {"a": "3"}},
    {"data": {"a": None}},
    {"data": None},
    {"metadata": {"labels": {"x": None, "z": "1"}}},
    {"metadata": {"labels": None}},
    {"data": {"c": 1}},
    {"data": []},
    {"unknown": 1},
    {},
    [],
    "x",
    {"metadata": None},
    {"metadata": {"name": "other"}},
    {"metadata": {"namespace": "other"}},
    {"kind": "Pod"},
    {"apiVersion": "v2"},
    {"metadata": {"uid": "wrong"}},
    {"metadata": {"resourceVersion": "1"}},
    {"metadata": {"resourceVersion": "x"}},
    {"metadata": {"resourceVersion": "${cm.metadata.resourceVersion}"}, "data": {"n": "1"}},
    {"metadata": {"creationTimestamp": None}},
    {"metadata": {"generation": 9}},
    {"metadata": {"finalizers": ["example.com/a"]}},
    {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}},
    {"immutable": True},
    {"binaryData": {"x": "Yg=="}},
    {"metadata": {"ownerReferences": [_NOBODY]}},
    {"metadata": {"labels": {"k": "-"}}},
    {"metadata": {"generateName": "gen-"}},
    {"metadata": {"selfLink": "x"}},
)
_WIDGET_MERGES: tuple[Any, ...] = (
    {"spec": {"size": 2}},
    {"spec": {"size": None}},
    {"spec": None},
    {"spec": {"size": 0}},
    {"spec": {"size": "x"}},
    {"spec": {"note": None}},
    {"spec": {"mode": None}},
    {"spec": {"tags": ["c"]}},
    {"spec": {"unknown": 1}},
    {"status": {"size": 1}},
    {"metadata": {"labels": {"a": "b"}}},
    {"metadata": {"uid": "wrong"}},
    {"metadata": {"resourceVersion": "1"}},
    {"metadata": {"uid": "wrong", "resourceVersion": "1"}},
    {"metadata": {"name": "other"}},
    {"kind": "Gauge"},
    {"apiVersion": "diff.example.com/v2"},
    {"metadata": {"generation": 9}},
    {"spec": {"nested": {"depth": None}}},
    {},
    {"metadata": {"finalizers": ["x"]}},
    {"metadata": {"labels": {"a": 1}}},
    {"spec": {"parts": [{"name": "p"}]}},
    {"spec": {"parts": [{"name": "p"}, {"name": "p"}]}},
)
_OPERATIONS: tuple[Any, ...] = (
    [{"op": "replace", "path": "/data/a", "value": "9"}],
    [{"op": "add", "path": "/data/z", "value": "9"}],
    [{"op": "remove", "path": "/data/a"}],
    [{"op": "remove", "path": "/data/absent"}],
    [{"op": "replace", "path": "/data/absent", "value": "1"}],
    [{"op": "test", "path": "/data/a", "value": "1"}],
    [{"op": "test", "path": "/data/a", "value": "2"}],
    [{"op": "test", "path": "/data/absent", "value": "2"}],
    [{"op": "test", "path": "/data/absent", "value": None}],
    [{"op": "move", "from": "/data/a", "path": "/data/q"}],
    [{"op": "copy", "from": "/data/a", "path": "/data/q"}],
    [{"op": "add", "path": "/metadata/annotations/k", "value": "v"}],
    [{"op": "add", "path": "/metadata/annotations", "value": {"k": "v"}}],
    [{"op": "jump", "path": "/data/a"}],
    [{"op": "add", "value": "x"}],
    [],
    {},
    "x",
    [1],
    [{"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}],
    [{"op": "test", "path": "/metadata/uid", "value": "wrong"}],
    [
        {
            "op": "test",
            "path": "/metadata/resourceVersion",
            "value": "${cm.metadata.resourceVersion}",
        },
        {"op": "add", "path": "/data/z", "value": "1"},
    ],
    [{"op": "replace", "path": "", "value": {"data": {}}}],
    [{"op": "remove", "path": "/metadata/labels/x"}],
    [{"op": "replace", "path": "/data/a", "value": 1}],
)
_POD_STRATEGIC: tuple[Any, ...] = (
    {"metadata": {"labels": {"z": "1"}}},
    {"metadata": {"labels": {"x": None}}},
    {"spec": {"containers": [{"name": "main", "image": "image:2"}]}},
    {"spec": {"containers": [{"name": "other", "image": "image:2"}]}},
    {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}},
    {"spec": {"activeDeadlineSeconds": 5}},
    {"spec": {"nodeName": "x"}},
    {"spec": {"restartPolicy": "Never"}},
    {"metadata": {"annotations": {"patch": "x"}}},
    {"metadata": {"finalizers": ["example.com/a"]}},
    {"spec": {"terminationGracePeriodSeconds": 1}},
)
_SERVICE_STRATEGIC: tuple[Any, ...] = (
    {"spec": {"selector": {"c": "d"}}},
    {"spec": {"selector": {"$patch": "replace", "c": "d"}}},
    {"spec": {"ports": [{"port": 80, "name": "q"}]}},
    {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}},
    {"spec": {"ports": [{"port": 70, "name": "n"}]}},
    {"spec": {"ports": [{"$patch": "replace"}, {"port": 71, "name": "n"}]}},
    {
        "spec": {
            "$setElementOrder/ports": [{"port": 90}, {"port": 80}],
            "ports": [{"port": 90, "name": "bb"}],
        }
    },
    {"spec": {"ports": None}},
    {"spec": {"type": "NodePort"}},
    {"spec": {"sessionAffinity": "ClientIP"}},
    {"metadata": {"labels": {"a": "b"}}},
)
_NODE_STRATEGIC: tuple[Any, ...] = (
    {"spec": {"unschedulable": True}},
    {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
    {"spec": {"taints": [{"key": "a", "value": "v", "effect": "No"}]}},
    {"metadata": {"labels": {"a": "b"}}},
    {"metadata": {"uid": "wrong"}},
    {"spec": {"podCIDR": "10.0.0.0/24"}},
)


def _node(title: str, step: Step) -> Exchange:
    return exchange(
        title,
        post("nodes", node("$ns"), compared=False),
        step,
        delete("nodes", "$ns", compared=False),
        masked=("status",),
    )


EXCHANGES = (
    *(
        exchange(
            f"merge patch of a ConfigMap {i}",
            _CM,
            merge("configmaps", "one", p),
            get("configmaps", "one"),
        )
        for i, p in enumerate(_MERGES)
    ),
    *(
        exchange(
            f"merge patch of a widget {i}", _W, merge("widgets", "one", p), get("widgets", "one")
        )
        for i, p in enumerate(_WIDGET_MERGES)
    ),
    *(
        exchange(f"JSON patch {i}", _CM, json_patch("configmaps", "one", p))
        for i, p in enumerate(_OPERATIONS)
    ),
    *(
        exchange(f"JSON patch of a widget {i}", _W, json_patch("widgets", "one", p))
        for i, p in enumerate(
            (
                [{"op": "replace", "path": "/spec/size", "value": 5}],
                [{"op": "add", "path": "/spec/tags/-", "value": "c"}],
                [{"op": "add", "path": "/spec/tags/0", "value": "c"}],
                [{"op": "remove", "path": "/spec/tags/7"}],
                [{"op": "replace", "path": "/spec/size", "value": "x"}],
                [{"op": "remove", "path": "/spec"}],
            )
        )
    ),
    *(
        exchange(
            f"strategic merge patch of a ConfigMap {i}", _CM, strategic("configmaps", "one", p)
        )
        for i, p in enumerate(
            (
                {"data": {"a": "3"}},
                {"data": {"a": None}},
                {"data": {"$patch": "replace", "q": "1"}},
                {"data": {"$patch": "delete"}},
                {"$patch": "replace", "metadata": {"name": "one"}},
                {"metadata": {"finalizers": ["example.com/a"]}},
                {"metadata": {"ownerReferences": [_NOBODY]}},
                {"metadata": {"resourceVersion": "1"}},
                {"$retainKeys": ["data"]},
                [],
                {},
            )
        )
    ),
    *(
        exchange(f"strategic merge patch of a Pod {i}", _POD, strategic("pods", "one", p))
        for i, p in enumerate(_POD_STRATEGIC)
    ),
    *(
        exchange(f"strategic merge patch of a Service {i}", _SVC, strategic("services", "one", p))
        for i, p in enumerate(_SERVICE_STRATEGIC)
    ),
    *(
        _node(f"strategic merge patch of a Node {i}", strategic("nodes", "$ns", p))
        for i, p in enumerate(_NODE_STRATEGIC)
    ),
    exchange(
        "finalizers merge by value",
        post(
            "configmaps", config_map(finalizers=["example.com/a", "example.com/b"]), compared=False
        ),
        strategic("configmaps", "one", {"metadata": {"finalizers": ["example.com/c"]}}),
        strategic(
            "configmaps",
            "one",
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}},
        ),
        merge("configmaps", "one", {"metadata": {"finalizers": None}}, compared=False),
    ),
    exchange(
        "strategic merge patch of Pod conditions",
        _POD,
        strategic(
            "pods", "one", {"status": {"conditions": [{"type": "A", "status": "True"}]}}, "status"
        ),
        strategic(
            "pods",
            "one",
            {
                "status": {
                    "conditions": [
                        {"type": "B", "status": "True"},
                        {"type": "A", "status": "False"},
                    ]
                }
            },
            "status",
        ),
    ),
    exchange(
        "merge patch of Pod status",
        _POD,
        merge(
            "pods",
            "one",
            {"status": {"phase": "Running", "podIP": "10.1.2.3"}, "spec": {"nodeName": "x"}},
            "status",
        ),
    ),
    exchange(
        "Pod status through the Pod", _POD, merge("pods", "one", {"status": {"phase": "Running"}})
    ),
    exchange(
        "merge patch of the image",
        _POD,
        merge("pods", "one", {"spec": {"containers": [{"name": "main", "image": "image:2"}]}}),
    ),
    exchange(
        "merge patch of status with a stale version",
        _W,
        merge(
            "widgets",
            "one",
            {"metadata": {"resourceVersion": "1"}, "status": {"size": 1}},
            "status",
        ),
    ),
    exchange(
        "merge patch of status with a wrong uid",
        _W,
        merge("widgets", "one", {"metadata": {"uid": "wrong"}, "status": {"size": 1}}, "status"),
    ),
    exchange(
        "merge patch of status with labels",
        _W,
        merge(
            "widgets",
            "one",
            {"metadata": {"labels": {"a": "b"}}, "spec": {"size": 9}, "status": {"size": 1}},
            "status",
        ),
    ),
    exchange(
        "merge patch of a status that is not served",
        post("gauges", gauge(value=1)),
        merge("gauges", "one", {"status": {"note": "x"}}, "status"),
        merge("gauges", "one", {"status": {"note": "x"}}),
        merge("gauges", "one", {"value": 2}),
    ),
    exchange(
        "strategic merge patch of a widget", _W, strategic("widgets", "one", {"spec": {"size": 2}})
    ),
    exchange(
        "a patch of JSON", _W, merge("widgets", "one", {"spec": {"size": 2}}, content_type=JSON)
    ),
    exchange(
        "a patch that is not JSON",
        _CM,
        merge("configmaps", "one", "{"),
        json_patch("configmaps", "one", "["),
        strategic("configmaps", "one", ""),
    ),
    exchange(
        "a patch that is not JSON, widget",
        _W,
        merge("widgets", "one", "{"),
        json_patch("widgets", "one", "["),
    ),
    exchange(
        "a patch of what is not there",
        merge("configmaps", "absent", {}),
        json_patch("widgets", "absent", []),
        strategic("pods", "absent", {}),
    ),
    exchange("a patch of a collection", merge("configmaps", "", {})),
    exchange(
        "a patch as a dry run",
        _W,
        merge("widgets", "one", {"spec": {"size": 8}}, dryRun="All"),
        get("widgets", "one"),
    ),
    exchange(
        "unknown fields in a patch, Strict",
        _W,
        merge("widgets", "one", {"spec": {"x": 1}}, fieldValidation="Strict"),
        merge("widgets", "one", {"spec": {"x": 1}}, fieldValidation="Warn"),
    ),
    exchange(
        "a patch twice",
        _W,
        merge("widgets", "one", {"spec": {"size": 2}}),
        merge("widgets", "one", {"spec": {"size": 2}}),
    ),
    exchange(
        "an immutable ConfigMap",
        post("configmaps", {**config_map(data={"a": "b"}), "immutable": True}),
        merge("configmaps", "one", {"data": {"a": "c"}}),
        merge("configmaps", "one", {"immutable": None}),
        merge("configmaps", "one", {"metadata": {"labels": {"a": "b"}}}),
        merge("configmaps", "one", {"binaryData": {"q": "Yg=="}}),
    ),
    exchange("JSON patch with force", _CM, json_patch("configmaps", "one", [], force=True)),
)
