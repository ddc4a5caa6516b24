"""Watches: from a version, from now, selectors, bookmarks, streaming lists, shapes, refusals."""

from __future__ import annotations

from tests.real.differential.objects import config_map, widget
from tests.real.differential.steps import (
    PARTIAL,
    TABLE,
    Exchange,
    Step,
    delete,
    exchange,
    get,
    merge,
    post,
    put,
    watch,
)

COVERS = ("sandbox/store/watching.py", "sandbox/store/timestamps.py", "sandbox/http/watching.py")

_BEGIN = post("configmaps", config_map("begin"), keep="begin", compared=False)
_SINCE = "${begin.metadata.resourceVersion}"
_BEGIN_WIDGET = post("widgets", widget("begin"), keep="begin", compared=False)


def _after(title: str, *steps: Step, **query: object) -> Exchange:
    """What a watch since `begin` shows after the steps."""
    return exchange(title, _BEGIN, *steps, watch("configmaps", _SINCE, **query))


def _make(name: str, **labels: str) -> Step:
    return post("configmaps", config_map(name, labels=labels), compared=False)


def _relabel(name: str, **labels: str | None) -> Step:
    return merge("configmaps", name, {"metadata": {"labels": labels}}, compared=False)


EXCHANGES = (
    _after(
        "created, changed, deleted",
        _make("a"),
        _relabel("a", x="y"),
        delete("configmaps", "a", compared=False),
    ),
    _after("a write that changes nothing", _make("a", x="y"), _relabel("a", x="y")),
    _after("nothing happened"),
    _after(
        "labels come to match", _make("a", app="x"), _relabel("a", app="y"), labelSelector="app=y"
    ),
    _after(
        "labels cease to match", _make("a", app="x"), _relabel("a", app="y"), labelSelector="app=x"
    ),
    _after(
        "labels go and come",
        _make("a", app="x"),
        _relabel("a", app="y"),
        _relabel("a", app="x"),
        delete("configmaps", "a", compared=False),
        labelSelector="app=x",
    ),
    _after(
        "never matched",
        _make("a", app="x"),
        delete("configmaps", "a", compared=False),
        labelSelector="app=z",
    ),
    _after(
        "deleted while not matching",
        _make("a", app="x"),
        _relabel("a", app="y"),
        delete("configmaps", "a", compared=False),
        labelSelector="app=x",
    ),
    _after(
        "one name", _make("a"), _make("b"), _relabel("a", x="1"), fieldSelector="metadata.name=a"
    ),
    _after(
        "two objects in order", _make("b"), _make("a"), _relabel("b", x="1"), _relabel("a", x="1")
    ),
    _after(
        "deletecollection, watched",
        _make("a", g="1"),
        _make("b", g="1"),
        _make("c"),
        delete("configmaps", labelSelector="g=1", compared=False),
    ),
    _after("recreated", _make("a"), delete("configmaps", "a", compared=False), _make("a", n="2")),
    _after(
        "finalizers",
        post("configmaps", config_map("a", finalizers=["example.com/x"]), compared=False),
        delete("configmaps", "a", compared=False),
        merge("configmaps", "a", {"metadata": {"finalizers": None}}, compared=False),
    ),
    exchange(
        "partial objects in a watch",
        _BEGIN,
        _make("a", app="x"),
        watch("configmaps", _SINCE, accept=PARTIAL),
    ),
    exchange(
        "a Table in a watch",
        _BEGIN,
        _make("a", app="x"),
        _make("b"),
        watch("configmaps", _SINCE, accept=TABLE),
    ),
    exchange(
        "a Table of widgets in a watch",
        _BEGIN_WIDGET,
        post("widgets", widget("a"), compared=False),
        delete("widgets", "a", compared=False),
        watch("widgets", _SINCE, accept=TABLE),
    ),
    exchange(
        "status of a widget in a watch",
        _BEGIN_WIDGET,
        merge("widgets", "begin", {"status": {"size": 1}}, "status", compared=False),
        merge("widgets", "begin", {"spec": {"size": 2}}, compared=False),
        delete("widgets", "begin", compared=False),
        watch("widgets", _SINCE),
    ),
    exchange(
        "a field selector of widgets in a watch",
        _BEGIN_WIDGET,
        merge("widgets", "begin", {"spec": {"mode": "slow"}}, compared=False),
        merge("widgets", "begin", {"spec": {"mode": "fast"}}, compared=False),
        watch("widgets", _SINCE, fieldSelector="spec.mode=slow"),
    ),
    exchange(
        "a watch without a version",
        _BEGIN_WIDGET,
        post("widgets", widget("a"), compared=False),
        watch("widgets"),
    ),
    exchange(
        "a watch from 0",
        _BEGIN_WIDGET,
        post("widgets", widget("a"), compared=False),
        get("widgets", compared=False),  # the cache that a watch from 0 starts from has both then
        watch("widgets", "0"),
    ),
    exchange(
        "a watch of one object by its path",
        _BEGIN_WIDGET,
        Step(
            "GET", "/apis/diff.example.com/v1/namespaces/$ns/widgets/begin?watch=1&timeoutSeconds=1"
        ),
    ),
    exchange(
        "a watch by its old path",
        _BEGIN_WIDGET,
        Step("GET", "/apis/diff.example.com/v1/watch/namespaces/$ns/widgets?timeoutSeconds=1"),
    ),
    exchange(
        "a streaming list",
        _BEGIN_WIDGET,
        post("widgets", widget("a"), compared=False),
        watch(
            "widgets",
            sendInitialEvents=True,
            allowWatchBookmarks=True,
            resourceVersionMatch="NotOlderThan",
        ),
    ),
    exchange(
        "a streaming list of nothing",
        watch(
            "widgets",
            sendInitialEvents=True,
            allowWatchBookmarks=True,
            resourceVersionMatch="NotOlderThan",
        ),
    ),
    exchange(
        "a streaming list of partial objects",
        _BEGIN_WIDGET,
        watch(
            "widgets",
            sendInitialEvents=True,
            allowWatchBookmarks=True,
            resourceVersionMatch="NotOlderThan",
            accept=PARTIAL,
        ),
    ),
    exchange(
        "a streaming list as a Table",
        _BEGIN_WIDGET,
        watch(
            "widgets",
            sendInitialEvents=True,
            allowWatchBookmarks=True,
            resourceVersionMatch="NotOlderThan",
            accept=TABLE,
        ),
        masked=("resourceVersion",),  # others move that of the bookmark meanwhile
    ),
    exchange(
        "a streaming list of ConfigMaps with labels",
        _make("a", app="x"),
        _make("b", app="y"),
        watch(
            "configmaps",
            labelSelector="app=x",
            sendInitialEvents=True,
            allowWatchBookmarks=True,
            resourceVersionMatch="NotOlderThan",
        ),
    ),
    exchange(
        "a streaming list without bookmarks",
        _BEGIN_WIDGET,
        watch("widgets", sendInitialEvents=True, resourceVersionMatch="NotOlderThan"),
    ),
    exchange(
        "sendInitialEvents without a match",
        watch("widgets", sendInitialEvents=True, allowWatchBookmarks=True),
    ),
    exchange("sendInitialEvents false without a match", watch("widgets", sendInitialEvents=False)),
    exchange(
        "sendInitialEvents false",
        _BEGIN_WIDGET,
        watch(
            "widgets",
            sendInitialEvents=False,
            allowWatchBookmarks=True,
            resourceVersionMatch="NotOlderThan",
        ),
    ),
    exchange(
        "sendInitialEvents with Exact",
        watch("widgets", sendInitialEvents=True, resourceVersionMatch="Exact"),
    ),
    exchange(
        "a match without sendInitialEvents", watch("widgets", resourceVersionMatch="NotOlderThan")
    ),
    exchange("a watch with a continue token", watch("widgets", **{"continue": "x"})),
    exchange("a watch from a version that is no number", watch("widgets", "x")),
    exchange("a watch from version 1", watch("widgets", "1")),
    exchange(
        "a watch with a bad selector",
        watch("widgets", labelSelector="a in"),
        watch("widgets", fieldSelector="spec.no=1"),
    ),
    exchange(
        "a watch of what is not served",
        Step("GET", "/apis/diff.example.com/v1/namespaces/$ns/absents?watch=1"),
    ),
    exchange(
        "a watch of a namespace that is not there",
        Step("GET", "/api/v1/namespaces/absent/configmaps?watch=1&timeoutSeconds=1"),
    ),
    exchange(
        "watch=false is a list", _BEGIN_WIDGET, get("widgets", watch=False), get("widgets", watch=0)
    ),
    exchange(
        "a replaced object in a watch",
        _BEGIN_WIDGET,
        put(
            "widgets", "begin", widget("begin", {"size": 7}, resourceVersion=_SINCE), compared=False
        ),
        watch("widgets", _SINCE),
    ),
)
