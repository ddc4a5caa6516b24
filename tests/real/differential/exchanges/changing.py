"""PUT, stale versions, generation, status and scale subresources, Leases and Events."""

from __future__ import annotations

from tests.real.differential.objects import config_map, custom, gauge, lease, pod, service, widget
from tests.real.differential.steps import (
    Step,
    delete,
    exchange,
    get,
    json_patch,
    merge,
    post,
    put,
)

COVERS = (
    "sandbox/store/resources.py",
    "sandbox/store/state.py",
    "sandbox/store/shapes.py",
    "sandbox/store/metadata.py",
)

_CM = post("configmaps", config_map(data={"a": "1"}), keep="cm", compared=False)
_W = post("widgets", widget(spec={"size": 1}), keep="w", compared=False)
_W_VERSION = "${w.metadata.resourceVersion}"
_POD = post("pods", pod(), keep="pod", compared=False)
_REGION = post(
    "streamsprs",
    custom("ParallelRegion", spec={"alias": "R", "width": 2}),
    keep="region",
    compared=False,
)
EXCHANGES = (
    exchange("PUT", _CM, put("configmaps", "one", config_map(data={"b": "2"}))),
    exchange(
        "PUT with its version",
        _CM,
        put(
            "configmaps",
            "one",
            config_map(data={"b": "2"}, resourceVersion="${cm.metadata.resourceVersion}"),
        ),
    ),
    exchange(
        "PUT with a stale version", _CM, put("configmaps", "one", config_map(resourceVersion="1"))
    ),
    exchange("PUT with a wrong uid", _CM, put("configmaps", "one", config_map(uid="wrong"))),
    exchange("PUT with another name", _CM, put("configmaps", "one", config_map("two"))),
    exchange("PUT without a name", _CM, put("configmaps", "one", {"metadata": {}})),
    exchange(
        "PUT into another namespace", _CM, put("configmaps", "one", config_map(namespace="other"))
    ),
    exchange(
        "PUT of what is not there",
        put("configmaps", "absent", config_map("absent")),
        put("widgets", "absent", widget("absent")),
    ),
    exchange(
        "PUT of what is not there with a version",
        put("widgets", "absent", widget("absent", resourceVersion="5")),
    ),
    exchange(
        "PUT of what is not there with a uid",
        put("configmaps", "absent", config_map("absent", uid="x")),
    ),
    exchange("PUT that changes nothing", _CM, put("configmaps", "one", "${cm}")),
    exchange(
        "PUT of a widget without a version", _W, put("widgets", "one", widget(spec={"size": 2}))
    ),
    exchange(
        "PUT of a widget",
        _W,
        put("widgets", "one", widget(spec={"size": 2}, resourceVersion=_W_VERSION)),
    ),
    exchange(
        "PUT of a widget with a stale version",
        _W,
        put("widgets", "one", widget(spec={"size": 2}, resourceVersion="1")),
    ),
    exchange(
        "PUT of a widget with a wrong uid",
        _W,
        put("widgets", "one", widget(uid="wrong", resourceVersion=_W_VERSION)),
    ),
    exchange(
        "PUT of a widget that changes its status",
        _W,
        put("widgets", "one", {**widget(resourceVersion=_W_VERSION), "status": {"size": 4}}),
    ),
    exchange(
        "PUT of an invalid widget",
        _W,
        put("widgets", "one", widget(spec={"size": 0}, resourceVersion=_W_VERSION)),
    ),
    exchange("PUT to a collection", put("configmaps", "", config_map())),
    exchange(
        "PUT of a Lease without a version",
        post("leases", lease(), compared=False),
        put("leases", "one", lease(spec={"holderIdentity": "a"})),
    ),
    exchange(
        "a Lease is taken over",
        post("leases", lease(spec={"holderIdentity": "a"}), keep="l", compared=False),
        put(
            "leases",
            "one",
            lease(spec={"holderIdentity": "b"}, resourceVersion="${l.metadata.resourceVersion}"),
        ),
        put(
            "leases",
            "one",
            lease(spec={"holderIdentity": "c"}, resourceVersion="${l.metadata.resourceVersion}"),
        ),
    ),
    exchange(
        "PUT of a Service without its address",
        post("services", service(), compared=False),
        put("services", "one", service(spec={"selector": {"x": "y"}})),
    ),
    exchange(
        "PUT of a Service with another address",
        post("services", service(), compared=False),
        put("services", "one", service(spec={"clusterIP": "10.0.0.250"})),
    ),
    exchange(
        "PUT of a Pod",
        _POD,
        put(
            "pods",
            "one",
            pod(
                spec={
                    "priority": 0,
                    "serviceAccountName": "default",
                    "tolerations": "${pod.spec.tolerations}",
                    "preemptionPolicy": "PreemptLowerPriority",
                },
                labels={"a": "b"},
            ),
        ),
    ),
    exchange(
        "generation",
        _W,
        merge("widgets", "one", {"spec": {"size": 2}}),
        merge("widgets", "one", {"metadata": {"labels": {"a": "b"}}}),
        merge("widgets", "one", {"status": {"size": 2}}, "status"),
        merge("widgets", "one", {"spec": {"unknown": 2}}, fieldValidation="Ignore"),
    ),
    exchange(
        "generation without a status subresource",
        post("gauges", gauge(value=1)),
        merge("gauges", "one", {"status": {"note": "n"}}),
        merge("gauges", "one", {"metadata": {"labels": {"a": "b"}}}),
    ),
    exchange(
        "generation of a Pod",
        _POD,
        merge("pods", "one", {"metadata": {"labels": {"a": "b"}}}),
        merge("pods", "one", {"spec": {"activeDeadlineSeconds": 5}}),
    ),
    exchange(
        "status by PUT",
        _W,
        put(
            "widgets",
            "one",
            {**widget(spec={"size": 7}, resourceVersion=_W_VERSION), "status": {"size": 3}},
            "status",
        ),
        get("widgets", "one", "status"),
    ),
    exchange(
        "status by PUT without a version",
        _W,
        put("widgets", "one", {**widget(), "status": {"size": 3}}, "status"),
    ),
    exchange(
        "status by JSON patch",
        _W,
        json_patch(
            "widgets", "one", [{"op": "add", "path": "/status", "value": {"size": 3}}], "status"
        ),
    ),
    exchange(
        "status that breaks its schema",
        _W,
        merge("widgets", "one", {"status": {"size": "x"}}, "status"),
        merge("widgets", "one", {"status": {"other": 1}}, "status", fieldValidation="Ignore"),
    ),
    exchange(
        "status of what is not there",
        merge("widgets", "absent", {"status": {}}, "status"),
        get("widgets", "absent", "status"),
    ),
    exchange(
        "a status that says null",
        _W,
        merge("widgets", "one", {"status": {"size": 1}}, "status"),
        merge("widgets", "one", {"status": None}, "status"),
    ),
    exchange(
        "a scale",
        _W,
        merge(
            "widgets", "one", {"status": {"size": 3, "selector": "a=b"}}, "status", compared=False
        ),
        get("widgets", "one", "scale"),
    ),
    exchange("a scale without status", _W, get("widgets", "one", "scale")),
    exchange(
        "a scale by merge patch",
        _W,
        merge("widgets", "one", {"spec": {"replicas": 5}}, "scale"),
        get("widgets", "one"),
    ),
    exchange(
        "a scale by PUT",
        _W,
        get("widgets", "one", "scale", keep="s"),
        put(
            "widgets",
            "one",
            {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {
                    "name": "one",
                    "namespace": "$ns",
                    "resourceVersion": "${s.metadata.resourceVersion}",
                },
                "spec": {"replicas": 6},
            },
            "scale",
        ),
        get("widgets", "one"),
    ),
    exchange(
        "a scale by PUT without a version",
        _W,
        put(
            "widgets",
            "one",
            {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": "one", "namespace": "$ns"},
                "spec": {"replicas": 6},
            },
            "scale",
        ),
    ),
    exchange(
        "a scale by PUT with a stale version",
        _W,
        put(
            "widgets",
            "one",
            {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": "one", "namespace": "$ns", "resourceVersion": "1"},
                "spec": {"replicas": 6},
            },
            "scale",
        ),
    ),
    exchange(
        "a scale that breaks the schema",
        _W,
        merge("widgets", "one", {"spec": {"replicas": 500}}, "scale"),
    ),
    exchange(
        "a scale below zero", _W, merge("widgets", "one", {"spec": {"replicas": -1}}, "scale")
    ),
    exchange(
        "a scale of what is not there",
        get("widgets", "absent", "scale"),
        merge("widgets", "absent", {"spec": {"replicas": 1}}, "scale"),
    ),
    exchange(
        "a scale where none is served",
        post("gauges", gauge(value=1)),
        get("gauges", "one", "scale"),
    ),
    exchange(
        "the scale of a region",
        _REGION,
        get("streamsprs", "one", "scale"),
        merge("streamsprs", "one", {"spec": {"replicas": 4}}, "scale"),
        get("streamsprs", "one"),
    ),
    exchange(
        "the scale of a region to zero",
        _REGION,
        merge("streamsprs", "one", {"spec": {"replicas": 0}}, "scale"),
    ),
    exchange(
        "the generation of a region falls",
        _REGION,
        merge("streamsprs", "one", {"status": {"generation": 2}}, "status"),
        merge("streamsprs", "one", {"status": {"generation": 1}}, "status"),
        merge("streamsprs", "one", {"status": {"generation": None}}, "status"),
        merge("streamsprs", "one", {"status": None}, "status"),
        merge("streamsprs", "one", {"status": {"generation": 3}}, "status"),
    ),
    exchange(
        "conditions of a region",
        _REGION,
        merge(
            "streamsprs",
            "one",
            {
                "status": {
                    "conditions": [
                        {
                            "type": "A",
                            "status": "True",
                            "reason": "R",
                            "message": "",
                            "lastTransitionTime": "2026-01-01T00:00:00Z",
                        }
                    ]
                }
            },
            "status",
        ),
        merge(
            "streamsprs",
            "one",
            {
                "status": {
                    "conditions": [
                        {"type": "A", "status": "Perhaps", "reason": "a b", "message": ""}
                    ]
                }
            },
            "status",
        ),
    ),
    exchange(
        "a PE that goes back",
        post(
            "streamspes", custom("ProcessingElement", spec={"job": "j", "id": 1, "launchCount": 3})
        ),
        merge("streamspes", "one", {"spec": {"launchCount": 2}}),
        merge("streamspes", "one", {"spec": {"launchCount": 4}}),
    ),
    exchange(
        "an Event",
        post(
            "events",
            {
                "metadata": {"name": "e"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "$ns"},
                "reason": "R",
                "message": "m",
                "type": "Normal",
                "count": 1,
                "source": {"component": "c"},
                "firstTimestamp": "2026-01-01T00:00:00Z",
                "lastTimestamp": "2026-01-01T00:00:00Z",
            },
        ),
        merge("events", "e", {"count": 2, "lastTimestamp": "2026-01-02T00:00:00Z"}),
        get("events", fieldSelector="involvedObject.name=p"),
        get("events", fieldSelector="involvedObject.name=q"),
    ),
    exchange(
        "an Event of another namespace",
        post(
            "events",
            {
                "metadata": {"name": "e"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "other"},
            },
        ),
    ),
    exchange(
        "an Event without an object", post("events", {"metadata": {"name": "e"}, "reason": "R"})
    ),
    exchange(
        "an Event with an unknown type",
        post(
            "events",
            {"metadata": {"name": "e"}, "involvedObject": {"namespace": "$ns"}, "type": "Odd"},
        ),
    ),
    exchange(
        "a binding",
        _POD,
        Step(
            "POST",
            "/api/v1/namespaces/$ns/pods/one/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "one"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "nowhere"},
            },
        ),
        Step(
            "POST",
            "/api/v1/namespaces/$ns/pods/one/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "one"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "nowhere"},
            },
        ),
    ),
    exchange(
        "an eviction",
        _POD,
        Step(
            "POST",
            "/api/v1/namespaces/$ns/pods/one/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "one"}},
        ),
        get("pods", "one"),
    ),
    exchange(
        "an eviction of what is not there",
        Step(
            "POST",
            "/api/v1/namespaces/$ns/pods/absent/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "absent"}},
        ),
    ),
    exchange(
        "after a deletion",
        _W,
        delete("widgets", "one", compared=False),
        merge("widgets", "one", {"spec": {"size": 2}}),
        put("widgets", "one", widget(resourceVersion=_W_VERSION)),
    ),
)
