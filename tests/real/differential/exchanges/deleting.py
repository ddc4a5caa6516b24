"""DELETE: preconditions, policies, finalizers, collections, owners; the eventual outcome."""

from __future__ import annotations

from typing import Any

from tests.real.differential.objects import config_map, owner, pod, service, widget
from tests.real.differential.steps import Step, delete, exchange, get, merge, path, post, put

COVERS = (
    "sandbox/store/deleting.py",
    "sandbox/controllers/garbage_collector.py",
    "sandbox/controllers/ownership.py",
)

_CM = post("configmaps", config_map(), keep="cm", compared=False)
_W = post("widgets", widget(), keep="w", compared=False)
_HELD = post("widgets", widget(finalizers=["example.com/x"]), keep="w", compared=False)
_LET_GO = merge("widgets", "one", {"metadata": {"finalizers": None}})
_POD = post("pods", pod(), keep="pod", compared=False)


def _options(**options: Any) -> dict[str, Any]:
    return {"kind": "DeleteOptions", "apiVersion": "v1", **options}


def _gone(plural: str, name: str) -> Step:
    return Step("GET", path(plural, name), until=("status", 404))


def _child(name: str, kept: str, **more: Any) -> Step:
    reference = owner(kept, **more)
    return post("configmaps", config_map(name, ownerReferences=[reference]), compared=False)


_BODIES: tuple[Any, ...] = (
    _options(preconditions={"uid": "wrong"}),
    _options(preconditions={"uid": "${w.metadata.uid}"}),
    _options(preconditions={"resourceVersion": "1"}),
    _options(preconditions={"resourceVersion": "${w.metadata.resourceVersion}"}),
    _options(preconditions={"uid": "${w.metadata.uid}", "resourceVersion": "1"}),
    _options(propagationPolicy="Background"),
    _options(propagationPolicy="Other"),
    _options(propagationPolicy="Background", orphanDependents=True),
    _options(gracePeriodSeconds=0),
    _options(gracePeriodSeconds=5),
    _options(gracePeriodSeconds=-1),
    _options(gracePeriodSeconds="x"),
    _options(dryRun=["All"]),
    _options(dryRun=["Some"]),
    {},
    "[]",
    "{",
    {"kind": "Pod", "apiVersion": "v1"},
    _options(unknown=1),
)

EXCHANGES = (
    *(
        exchange(
            f"DELETE of a widget with options {i}",
            _W,
            delete("widgets", "one", b),
            get("widgets", "one"),
        )
        for i, b in enumerate(_BODIES)
    ),
    exchange("DELETE of a ConfigMap", _CM, delete("configmaps", "one"), get("configmaps", "one")),
    exchange(
        "DELETE of a Service",
        post("services", service(), compared=False),
        delete("services", "one"),
    ),
    exchange("DELETE of a Pod", _POD, delete("pods", "one"), get("pods", "one")),
    exchange(
        "DELETE of a Pod with grace",
        _POD,
        delete("pods", "one", _options(gracePeriodSeconds=5)),
        get("pods", "one"),
    ),
    exchange(
        "DELETE of a Pod with a wrong uid",
        _POD,
        delete("pods", "one", _options(preconditions={"uid": "wrong"})),
    ),
    exchange(
        "DELETE of what is not there",
        delete("configmaps", "absent"),
        delete("widgets", "absent"),
        delete("pods", "absent", _options(preconditions={"uid": "x"})),
    ),
    exchange(
        "DELETE by parameters",
        _W,
        delete("widgets", "one", propagationPolicy="Background", gracePeriodSeconds=0),
    ),
    exchange(
        "DELETE as a dry run", _W, delete("widgets", "one", dryRun="All"), get("widgets", "one")
    ),
    exchange(
        "DELETE twice of what a finalizer holds",
        _HELD,
        delete("widgets", "one"),
        delete("widgets", "one"),
        get("widgets", "one"),
        _LET_GO,
        get("widgets", "one"),
    ),
    exchange(
        "changes of what is being deleted",
        _HELD,
        delete("widgets", "one", compared=False),
        merge("widgets", "one", {"spec": {"size": 5}}),
        merge("widgets", "one", {"metadata": {"finalizers": ["example.com/x", "example.com/y"]}}),
        merge("widgets", "one", {"metadata": {"labels": {"a": "b"}}}),
        post("widgets", widget()),
        _LET_GO,
    ),
    exchange(
        "the last finalizer by PUT",
        _HELD,
        delete("widgets", "one", keep="d", compared=False),
        put("widgets", "one", widget(resourceVersion="${d.metadata.resourceVersion}")),
        get("widgets", "one"),
    ),
    exchange(
        "the last finalizer by a patch of status",
        _HELD,
        delete("widgets", "one", compared=False),
        merge(
            "widgets", "one", {"metadata": {"finalizers": None}, "status": {"size": 1}}, "status"
        ),
        _LET_GO,
    ),
    exchange(
        "DELETE with Foreground and no dependents",
        _W,
        delete("widgets", "one", _options(propagationPolicy="Foreground")),
        _gone("widgets", "one"),
        live=True,
    ),
    exchange(
        "DELETE with Orphan and no dependents",
        _W,
        delete("widgets", "one", _options(propagationPolicy="Orphan")),
        _gone("widgets", "one"),
        live=True,
    ),
    exchange(
        "a Pod with a finalizer",
        post("pods", pod(finalizers=["example.com/x"]), compared=False),
        delete("pods", "one", _options(gracePeriodSeconds=0)),
        merge("pods", "one", {"metadata": {"finalizers": None}}),
        get("pods", "one"),
    ),
    exchange(
        "deletecollection",
        _CM,
        post("configmaps", config_map("two", labels={"a": "b"}), compared=False),
        delete("configmaps", "", labelSelector="a=b"),
        get("configmaps", "two"),
        get("configmaps", "one"),
    ),
    exchange(
        "deletecollection of widgets",
        _W,
        post("widgets", widget("two"), compared=False),
        delete("widgets"),
        get("widgets"),
    ),
    exchange(
        "deletecollection of nothing",
        delete("widgets"),
        delete("configmaps", "", labelSelector="no=thing"),
    ),
    exchange(
        "deletecollection with finalizers",
        _HELD,
        post("widgets", widget("two"), compared=False),
        delete("widgets"),
        get("widgets"),
        _LET_GO,
    ),
    exchange(
        "deletecollection of Pods",
        _POD,
        delete("pods", "", _options(gracePeriodSeconds=0)),
        get("pods"),
    ),
    exchange(
        "deletecollection with a limit",
        _W,
        post("widgets", widget("two"), compared=False),
        delete("widgets", "", limit=1),
    ),
    exchange(
        "deletecollection as a dry run", _W, delete("widgets", "", dryRun="All"), get("widgets")
    ),
    exchange(
        "deletecollection with a precondition",
        _W,
        delete("widgets", "", _options(preconditions={"uid": "wrong"})),
        get("widgets"),
    ),
    exchange("deletecollection of all namespaces", Step("DELETE", "/api/v1/services")),
    exchange(
        "dependents go with their owner",
        _W,
        _child("child", "w"),
        delete("widgets", "one", compared=False),
        _gone("configmaps", "child"),
        live=True,
    ),
    exchange(
        "dependents go first with Foreground",
        _W,
        _child("child", "w", blockOwnerDeletion=True),
        delete("widgets", "one", _options(propagationPolicy="Foreground")),
        _gone("widgets", "one"),
        get("configmaps", "child"),
        live=True,
    ),
    exchange(
        "dependents stay with Orphan",
        _W,
        _child("child", "w"),
        delete("widgets", "one", _options(propagationPolicy="Orphan")),
        _gone("widgets", "one"),
        get("configmaps", "child"),
        live=True,
        masked=("resourceVersion",),
    ),
    exchange(
        "a dependent of two owners stays",
        _W,
        post("widgets", widget("two"), keep="v", compared=False),
        post(
            "configmaps",
            config_map("child", ownerReferences=[owner("w"), owner("v")]),
            compared=False,
        ),
        delete("widgets", "one", compared=False),
        Step("GET", path("configmaps", "child"), until=("metadata.ownerReferences.1", None)),
        live=True,
        masked=("resourceVersion",),
    ),
    exchange(
        "a dependent of an owner that never was",
        post(
            "configmaps",
            config_map(
                "child",
                ownerReferences=[
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "never"}
                ],
            ),
            compared=False,
        ),
        _gone("configmaps", "child"),
        live=True,
    ),
    exchange(
        "a dependent of another incarnation",
        _CM,
        post(
            "configmaps",
            config_map(
                "child",
                ownerReferences=[
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": "another"}
                ],
            ),
            compared=False,
        ),
        _gone("configmaps", "child"),
        get("configmaps", "one"),
        live=True,
    ),
    exchange(
        "an owner in another namespace",
        Step("GET", "/api/v1/namespaces/kube-system", keep="o", compared=False),
        Step(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            config_map("$ns-owner"),
            keep="far",
            compared=False,
        ),
        post("configmaps", config_map("child", ownerReferences=[owner("far")]), compared=False),
        _gone("configmaps", "child"),
        Step("DELETE", "/api/v1/namespaces/default/configmaps/$ns-owner", compared=False),
        live=True,
    ),
    exchange(
        "an owner of the cluster",
        Step(
            "POST",
            "/apis/diff.example.com/v1/sites",
            {"apiVersion": "diff.example.com/v1", "kind": "Site", "metadata": {"name": "$ns"}},
            keep="s",
            compared=False,
        ),
        _child("child", "s"),
        Step("DELETE", "/apis/diff.example.com/v1/sites/$ns", compared=False),
        _gone("configmaps", "child"),
        live=True,
    ),
    exchange(
        "grandchildren",
        _W,
        post(
            "configmaps",
            config_map("child", ownerReferences=[owner("w")]),
            keep="c",
            compared=False,
        ),
        _child("grandchild", "c"),
        delete("widgets", "one", compared=False),
        _gone("configmaps", "grandchild"),
        _gone("configmaps", "child"),
        live=True,
    ),
)
