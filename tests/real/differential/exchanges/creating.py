"""POST: bodies, names, labels, generateName, annotations, finalizers and owners."""

from __future__ import annotations

from tests.real.differential.objects import config_map, custom, gauge, lease, pod, service, widget
from tests.real.differential.steps import Step, exchange, get, post

COVERS = (
    "sandbox/store/resources.py",
    "sandbox/store/naming.py",
    "sandbox/store/metadata.py",
    "sandbox/store/builtin.py",
    "sandbox/store/errors.py",
)

LONG = "a" * 64
_NAMES = ("", "Upper", "under_score", "-dash", "dash-", "a.b", "a..b", "a" * 253, "a" * 254, "a/b")
_LABELS = (
    {"": "v"},
    {"a/b/c": "v"},
    {"-a": "v"},
    {LONG: "v"},
    {"Upper.example/x": "v"},
    {"ok.example/x": "v"},
    {"k": "-v"},
    {"k": LONG},
    {"k": ""},
    {"k": "a b"},
    {"/x": "v"},
)
_FINALIZERS = (["example.com/x"], ["noslash"], ["a b/c"], ["example.com/x", "example.com/x"])
_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
_OWNERS = (
    [_OWNER],
    [{**_OWNER, "uid": ""}],
    [{**_OWNER, "name": ""}],
    [{**_OWNER, "kind": ""}],
    [{**_OWNER, "apiVersion": ""}],
    [{**_OWNER, "apiVersion": "a/b/c"}],
    [{**_OWNER, "controller": True}, {**_OWNER, "uid": "u-2", "controller": True}],
    [{**_OWNER, "apiVersion": "v1", "kind": "Event"}],
    [_OWNER, _OWNER],
)
_CM = "/api/v1/namespaces/$ns/configmaps"
_BODIES = (
    "",
    "{",
    "[]",
    "null",
    "1",
    "{}",
    '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"one"}}',
    '{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"one"}}',
    '{"metadata":{"name":"one"}}',
    '{"metadata":{"name":1}}',
    '{"metadata":{"name":"one"},"data":{"a":1}}',
    '{"metadata":{"name":"one"},"data":[]}',
    '{"metadata":{"name":"one","labels":{"a":1}}}',
    '{"metadata":{"name":"one","namespace":"other"}}',
    '{"metadata":{"name":"one"},"immutable":"yes"}',
    '{"metadata":{"name":"one"},"unknown":1}',
)

EXCHANGES = (
    *(
        exchange(f"a ConfigMap is named {n[:20]!r} {len(n)}", post("configmaps", config_map(n)))
        for n in _NAMES
    ),
    *(
        exchange(f"a Service is named {n[:20]!r} {len(n)}", post("services", service(n)))
        for n in ("a.b", "1a", "A", "a" * 63, "a" * 64)
    ),
    *(
        exchange(f"a Pod is named {n[:20]!r} {len(n)}", post("pods", pod(n)))
        for n in ("a.b", "A", "a" * 253, "a" * 254)
    ),
    *(
        exchange(f"a widget is named {n[:20]!r} {len(n)}", post("widgets", widget(n)))
        for n in ("a.b", "A_", "a" * 254)
    ),
    *(
        exchange(f"labels {i}", post("configmaps", config_map(labels=each)))
        for i, each in enumerate(_LABELS)
    ),
    *(
        exchange(f"annotations {i}", post("configmaps", config_map(annotations=each)))
        for i, each in enumerate(_LABELS[:7])
    ),
    *(
        exchange(f"labels of a widget {i}", post("widgets", widget(labels=each)))
        for i, each in enumerate(_LABELS[:4])
    ),
    exchange(
        "annotations over 256 KiB", post("configmaps", config_map(annotations={"a": "x" * 262144}))
    ),
    *(
        exchange(f"finalizers of a ConfigMap {i}", post("configmaps", config_map(finalizers=f)))
        for i, f in enumerate(_FINALIZERS)
    ),
    *(
        exchange(f"finalizers of a widget {i}", post("widgets", widget(finalizers=f)))
        for i, f in enumerate(_FINALIZERS)
    ),
    *(
        exchange(f"owners {i}", post("configmaps", config_map(ownerReferences=o)))
        for i, o in enumerate(_OWNERS)
    ),
    *(exchange(f"body of a ConfigMap {i}", Step("POST", _CM, b)) for i, b in enumerate(_BODIES)),
    *(
        exchange(
            f"body of a widget {i}",
            Step("POST", "/apis/diff.example.com/v1/namespaces/$ns/widgets", b),
        )
        for i, b in enumerate(
            (
                "",
                "{",
                "[]",
                "{}",
                '{"metadata":{"name":"one"},"spec":{"size":1}}',
                '{"kind":"Widget","apiVersion":"diff.example.com/v2","metadata":{"name":"one"}}',
                '{"kind":"Gauge","apiVersion":"diff.example.com/v1","metadata":{"name":"one"}}',
                '{"kind":"Widget","apiVersion":"diff.example.com/v1","metadata":{"name":1}}',
                '{"kind":"Widget","apiVersion":"diff.example.com/v1"}',
                '{"kind":"Widget","apiVersion":"diff.example.com/v1","metadata":{"name":"a","labels":{"a":1}},"spec":{"size":1}}',
            )
        )
    ),
    exchange("generateName", post("configmaps", {"metadata": {"generateName": "gen-"}})),
    exchange(
        "generateName and name",
        post("configmaps", {"metadata": {"generateName": "gen-", "name": "one"}}),
    ),
    exchange(
        "generateName with bad characters",
        post("configmaps", {"metadata": {"generateName": "Gen_"}}),
        masked=("name", "message"),
    ),
    exchange(
        "generateName of a Pod", post("pods", {**pod(), "metadata": {"generateName": "gen-"}})
    ),
    exchange(
        "generateName of a widget",
        post("widgets", {**widget(), "metadata": {"generateName": "gen-"}}),
    ),
    exchange(
        "the same name twice", post("configmaps", config_map()), post("configmaps", config_map())
    ),
    exchange("the same Pod twice", post("pods", pod()), post("pods", pod())),
    exchange("the same widget twice", post("widgets", widget()), post("widgets", widget())),
    exchange("a resourceVersion in a POST", post("configmaps", config_map(resourceVersion="1"))),
    exchange(
        "a uid in a POST",
        post(
            "configmaps",
            config_map(uid="mine", generation=7, creationTimestamp="2020-01-01T00:00:00Z"),
        ),
    ),
    exchange("a uid in a POST of a widget", post("widgets", widget(uid="mine", generation=7))),
    exchange(
        "a deletionTimestamp in a POST",
        post("configmaps", config_map(deletionTimestamp="2020-01-01T00:00:00Z")),
    ),
    exchange("status in a POST of a widget", post("widgets", {**widget(), "status": {"size": 3}})),
    exchange(
        "status in a POST without the subresource",
        post("gauges", gauge(value=1, status={"note": "n"})),
    ),
    exchange("status in a POST of a Pod", post("pods", {**pod(), "status": {"phase": "Running"}})),
    exchange("POST to a name", Step("POST", _CM + "/one", config_map())),
    exchange("POST to all namespaces", Step("POST", "/api/v1/configmaps", config_map())),
    exchange(
        "POST into a namespace that is not there",
        Step("POST", "/api/v1/namespaces/absent/configmaps", config_map()),
    ),
    exchange(
        "POST of a widget into a namespace that is not there",
        Step("POST", "/apis/diff.example.com/v1/namespaces/absent/widgets", widget()),
    ),
    exchange(
        "POST of an unknown resource", Step("POST", "/api/v1/namespaces/$ns/things", config_map())
    ),
    exchange(
        "POST of an unknown group",
        Step("POST", "/apis/absent.example.com/v1/namespaces/$ns/things", config_map()),
    ),
    exchange(
        "POST of an unknown version",
        Step("POST", "/apis/diff.example.com/v2/namespaces/$ns/widgets", widget()),
    ),
    exchange(
        "a namespaced path of a resource of the cluster",
        Step("GET", "/api/v1/namespaces/$ns/nodes"),
    ),
    exchange("dry run", post("configmaps", config_map(), dryRun="All"), get("configmaps", "one")),
    exchange("dry run of a widget", post("widgets", widget(), dryRun="All"), get("widgets", "one")),
    exchange("dry run of another word", post("configmaps", config_map(), dryRun="Some")),
    exchange(
        "fieldValidation of another word", post("configmaps", config_map(), fieldValidation="Some")
    ),
    *(
        exchange(
            f"unknown fields of a widget, {how}",
            post(
                "widgets",
                {**widget(spec={"size": 1, "x": 1, "nested": {"y": 2}}), "extra": 1},
                fieldValidation=how,
            ),
        )
        for how in ("Strict", "Warn", "Ignore")
    ),
    *(
        exchange(
            f"unknown fields of a ConfigMap, {how}",
            post("configmaps", {**config_map(), "extra": 1}, fieldValidation=how),
        )
        for how in ("Strict", "Warn", "Ignore")
    ),
    *(
        exchange(
            f"unknown fields of a Pod, {how}",
            post("pods", pod(spec={"extra": 1}), fieldValidation=how),
        )
        for how in ("Strict", "Warn", "Ignore")
    ),
    exchange(
        "unknown metadata of a widget, Strict",
        post("widgets", widget(extra=1), fieldValidation="Strict"),
    ),
    exchange(
        "a duplicate field, Strict",
        Step(
            "POST",
            _CM + "?fieldValidation=Strict",
            '{"metadata":{"name":"one"},"data":{"a":"1","a":"2"}}',
        ),
    ),
    exchange(
        "YAML",
        Step(
            "POST", _CM, "metadata: {name: one}\ndata: {a: 'b'}\n", content_type="application/yaml"
        ),
    ),
    exchange(
        "broken YAML",
        Step("POST", _CM, "a: [", content_type="application/yaml"),
        masked=("message",),
    ),
    exchange(
        "a content type that nobody knows", Step("POST", _CM, "{}", content_type="text/plain")
    ),
    exchange(
        "a content type that nobody knows, widget",
        Step(
            "POST",
            "/apis/diff.example.com/v1/namespaces/$ns/widgets",
            "{}",
            content_type="text/plain",
        ),
    ),
    exchange("an Accept that nobody knows", Step("GET", _CM, accept="text/html")),
    exchange(
        "keys of a ConfigMap",
        post("configmaps", config_map(data={"a b": "", "..": "", ".": "", "ok_1": "", "": "x"})),
    ),
    exchange(
        "a ConfigMap of a MiB and more", post("configmaps", config_map(data={"a": "x" * 1048577}))
    ),
    exchange(
        "the same key in data and binaryData",
        post("configmaps", {**config_map(data={"a": "b"}), "binaryData": {"a": "Yg=="}}),
    ),
    exchange(
        "binaryData that is not base64",
        post("configmaps", {**config_map(), "binaryData": {"a": "*"}}),
    ),
    exchange(
        "null and empty fields",
        post("configmaps", config_map(data={}, labels={}, annotations=None, finalizers=[])),
    ),
    exchange(
        "null and empty fields of a widget",
        post("widgets", widget(labels={}, annotations=None, finalizers=[], ownerReferences=[])),
    ),
    exchange(
        "a Lease",
        post(
            "leases",
            lease(
                spec={
                    "holderIdentity": "me",
                    "leaseDurationSeconds": 15,
                    "renewTime": "2026-01-01T00:00:00.000000Z",
                }
            ),
        ),
    ),
    exchange(
        "a Lease with bad numbers",
        post("leases", lease(spec={"leaseDurationSeconds": 0, "leaseTransitions": -1})),
    ),
    exchange("a Lease with a bad time", post("leases", lease(spec={"renewTime": "yesterday"}))),
    exchange(
        "a Job of ours",
        post(
            "streamsjobs",
            custom("Job", spec={"bundle": {"name": "a.sab"}, "fusion": {"manual": 2}}),
        ),
    ),
    exchange(
        "a Job of ours without a bundle",
        post("streamsjobs", custom("Job", spec={"fusion": {"manual": 2}})),
    ),
    exchange(
        "a Job of ours without a spec",
        post(
            "streamsjobs",
            {"apiVersion": "streams.ibm.com/v1", "kind": "Job", "metadata": {"name": "one"}},
        ),
    ),
    exchange(
        "a PE of ours", post("streamspes", custom("ProcessingElement", spec={"job": "j", "id": 1}))
    ),
    exchange(
        "a region of ours",
        post("streamsprs", custom("ParallelRegion", spec={"alias": "R", "width": 2})),
    ),
    exchange(
        "a region of ours with width 0",
        post("streamsprs", custom("ParallelRegion", spec={"alias": "R", "width": 0})),
    ),
    exchange(
        "a pool of ours",
        post("streamshostpools", custom("HostPool", spec={"hostpool": {"name": "p"}})),
    ),
    exchange(
        "a pool of ours with a wrong mode",
        post(
            "streamshostpools",
            custom("HostPool", spec={"hostpool": {"name": "p", "membershipMode": "no"}}),
        ),
    ),
)
