"""Lists: pages, versions, and the shapes Table and PartialObjectMetadata."""

from __future__ import annotations

from tests.real.differential.objects import config_map, node, pod, service, widget
from tests.real.differential.steps import (
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    Step,
    delete,
    exchange,
    get,
    merge,
    post,
)

COVERS = (
    "sandbox/http/paging.py",
    "sandbox/http/list_options.py",
    "sandbox/http/tables.py",
    "sandbox/http/*columns.py",
    "sandbox/http/rendering.py",
)

THREE = (
    post("configmaps", config_map("a", labels={"app": "x", "tier": "front"}), compared=False),
    post("configmaps", config_map("b", labels={"app": "x", "tier": "back"}), compared=False),
    post("configmaps", config_map("c", labels={"app": "y"}), compared=False, keep="last"),
)
WIDGETS = (
    post("widgets", widget("a", {"size": 1, "mode": "slow"}), compared=False),
    post(
        "widgets",
        widget("b", {"size": 2, "ratio": 1.5, "flag": True, "tags": ["t", "u"]}),
        compared=False,
    ),
    post(
        "widgets",
        widget("c", {"size": 3, "parts": [{"name": "p"}, {"name": "q"}]}),
        compared=False,
        keep="last",
    ),
)
PODS = (
    post("pods", pod("a", labels={"app": "x"}), compared=False),
    post("pods", pod("b", spec={"restartPolicy": "Never"}), compared=False),
)
EXCHANGES = (
    exchange("an empty list", get("leases"), get("widgets"), get("services")),
    exchange("a list of widgets", *WIDGETS, get("widgets")),
    exchange("a list of Pods", *PODS, get("pods")),
    exchange(
        "what is not there",
        get("configmaps", "absent"),
        get("widgets", "absent"),
        get("pods", "absent"),
        get("nodes", "absent"),
    ),
    exchange(
        "one page after the other",
        *THREE,
        get("configmaps", limit=1, fieldSelector="metadata.name!=kube-root-ca.crt", keep="p"),
        get(
            "configmaps",
            limit=1,
            **{"continue": "${p.metadata.continue}"},
            fieldSelector="metadata.name!=kube-root-ca.crt",
            keep="q",
        ),
        get(
            "configmaps",
            limit=5,
            **{"continue": "${q.metadata.continue}"},
            fieldSelector="metadata.name!=kube-root-ca.crt",
        ),
    ),
    exchange(
        "pages of widgets",
        *WIDGETS,
        get("widgets", limit=2, keep="p"),
        get("widgets", limit=2, **{"continue": "${p.metadata.continue}"}),
    ),
    exchange("a page that holds all", *WIDGETS, get("widgets", limit=3)),
    exchange("a page of all and one more", *WIDGETS, get("widgets", limit=4)),
    exchange("limit 0", *WIDGETS, get("widgets", limit=0)),
    exchange("a limit below 0", *WIDGETS, get("widgets", limit=-1)),
    exchange("a limit that is no number", get("widgets", limit="x")),
    exchange(
        "pages show the state of the first page",
        *WIDGETS,
        get("widgets", limit=1, keep="p"),
        delete("widgets", "b", compared=False),
        post("widgets", widget("bb"), compared=False),
        merge("widgets", "c", {"spec": {"size": 9}}, compared=False),
        get("widgets", limit=5, **{"continue": "${p.metadata.continue}"}),
    ),
    exchange(
        "pages with a label selector",
        *THREE,
        get("configmaps", limit=1, labelSelector="app=x", keep="p"),
        get("configmaps", limit=1, **{"continue": "${p.metadata.continue}"}, labelSelector="app=x"),
    ),
    exchange("a continue token that nobody made", get("widgets", **{"continue": "bad"})),
    exchange(
        "a continue token with a version",
        *WIDGETS,
        get("widgets", limit=1, keep="p"),
        get(
            "widgets",
            limit=1,
            **{"continue": "${p.metadata.continue}"},
            resourceVersion="${p.metadata.resourceVersion}",
        ),
    ),
    exchange(
        "a continue token with version 0",
        *WIDGETS,
        get("widgets", limit=1, keep="p"),
        get("widgets", limit=1, **{"continue": "${p.metadata.continue}"}, resourceVersion="0"),
    ),
    exchange(
        "pages as a Table",
        *WIDGETS,
        get("widgets", limit=2, accept=TABLE, keep="p"),
        get("widgets", limit=2, **{"continue": "${p.metadata.continue}"}, accept=TABLE),
    ),
    exchange(
        "pages as partial objects",
        *WIDGETS,
        get("widgets", limit=2, accept=PARTIAL_LIST, keep="p"),
        get("widgets", limit=2, **{"continue": "${p.metadata.continue}"}, accept=PARTIAL_LIST),
    ),
    exchange(
        "a list from version 0",
        *WIDGETS,
        Step(
            "GET",
            "/apis/diff.example.com/v1/namespaces/$ns/widgets?resourceVersion=${last.metadata.resourceVersion}",
        ),
    ),
    exchange(
        "an exact list",
        *WIDGETS,
        delete("widgets", "a", compared=False),
        get(
            "widgets",
            resourceVersion="${last.metadata.resourceVersion}",
            resourceVersionMatch="Exact",
        ),
    ),
    exchange(
        "an exact list of an older state of ConfigMaps",
        *THREE,
        merge("configmaps", "a", {"data": {"k": "v"}}, compared=False),
        post("configmaps", config_map("d"), compared=False),
        get(
            "configmaps",
            resourceVersion="${last.metadata.resourceVersion}",
            resourceVersionMatch="Exact",
            labelSelector="app",
        ),
    ),
    exchange(
        "a list not older than",
        *WIDGETS,
        get(
            "widgets",
            resourceVersion="${last.metadata.resourceVersion}",
            resourceVersionMatch="NotOlderThan",
        ),
    ),
    exchange(
        "an exact list with pages",
        *WIDGETS,
        delete("widgets", "c", compared=False),
        get(
            "widgets",
            resourceVersion="${last.metadata.resourceVersion}",
            resourceVersionMatch="Exact",
            limit=2,
            keep="p",
        ),
        get("widgets", limit=2, **{"continue": "${p.metadata.continue}"}),
    ),
    exchange(
        "resourceVersionMatch without a version",
        get("widgets", resourceVersionMatch="Exact"),
        get("widgets", resourceVersionMatch="NotOlderThan"),
    ),
    exchange(
        "resourceVersionMatch of another word",
        get("widgets", resourceVersionMatch="Newest", resourceVersion="1"),
    ),
    exchange(
        "resourceVersionMatch Exact of 0",
        get("widgets", resourceVersionMatch="Exact", resourceVersion="0"),
    ),
    exchange(
        "resourceVersionMatch with a continue token",
        *WIDGETS,
        get("widgets", limit=1, keep="p"),
        get("widgets", **{"continue": "${p.metadata.continue}"}, resourceVersionMatch="Exact"),
    ),
    exchange(
        "a version that is no number",
        get("widgets", resourceVersion="x"),
        get("configmaps", "a", resourceVersion="x"),
    ),
    exchange(
        "a version of the future",
        get("widgets", resourceVersion="999999999"),
        masked=("message", "retryAfterSeconds"),
    ),
    exchange(
        "an exact version of the future",
        get("widgets", resourceVersion="999999999", resourceVersionMatch="Exact"),
        masked=("message", "retryAfterSeconds"),
    ),
    exchange(
        "GET with a version",
        *THREE,
        get("configmaps", "a", resourceVersion="0"),
        get("configmaps", "a", resourceVersion="${last.metadata.resourceVersion}"),
    ),
    exchange("sendInitialEvents in a list", get("widgets", sendInitialEvents=True)),
    exchange("a Table of widgets", *WIDGETS, get("widgets", accept=TABLE)),
    exchange("a Table of one widget", *WIDGETS, get("widgets", "b", accept=TABLE)),
    exchange(
        "a Table with objects", *WIDGETS, get("widgets", accept=TABLE, includeObject="Object")
    ),
    exchange(
        "a Table without objects", *WIDGETS, get("widgets", accept=TABLE, includeObject="None")
    ),
    exchange(
        "a Table with another word", *WIDGETS, get("widgets", accept=TABLE, includeObject="Some")
    ),
    exchange("a Table of ConfigMaps", *THREE, get("configmaps", accept=TABLE, labelSelector="app")),
    exchange("a Table of Pods", *PODS, get("pods", accept=TABLE)),
    exchange(
        "a Table of Services",
        post("services", service(), compared=False),
        get("services", accept=TABLE),
    ),
    exchange(
        "a Table of a Service with ports",
        post(
            "services",
            service(
                spec={
                    "clusterIP": "None",
                    "ports": [
                        {"name": "a", "port": 80},
                        {"name": "b", "port": 90, "protocol": "UDP"},
                    ],
                }
            ),
            compared=False,
        ),
        get("services", accept=TABLE),
    ),
    exchange("a Table of Leases", get("leases", accept=TABLE)),
    exchange("a Table of no widgets", get("widgets", accept=TABLE)),
    exchange(
        "a Table of one node",
        post("nodes", node("$ns"), compared=False),
        get("nodes", "$ns", accept=TABLE),
        delete("nodes", "$ns", compared=False),
        masked=("cells",),
    ),
    exchange("a Table of the namespace", get("namespaces", "$ns", accept=TABLE)),
    exchange(
        "a Table of one of our definitions",
        get("customresourcedefinitions", "streamsjobs.streams.ibm.com", accept=TABLE),
        masked=("generation",),  # others may have put another definition there, and taken it back
    ),
    exchange("a Table of our Jobs", get("streamsjobs", accept=TABLE)),
    exchange("a Table of our PEs", get("streamspes", accept=TABLE)),
    exchange("a Table of Events", get("events", accept=TABLE)),
    exchange("a Table of Secrets", get("secrets", accept=TABLE)),
    exchange("a Table of what is not there", get("widgets", "absent", accept=TABLE)),
    exchange(
        "partial objects",
        *WIDGETS,
        get("widgets", accept=PARTIAL_LIST),
        get("widgets", "a", accept=PARTIAL),
    ),
    exchange(
        "partial ConfigMaps",
        *THREE,
        get("configmaps", accept=PARTIAL_LIST, labelSelector="app"),
        get("configmaps", "a", accept=PARTIAL),
    ),
    exchange("a list asked for as one partial object", *WIDGETS, get("widgets", accept=PARTIAL)),
    exchange(
        "one object asked for as a partial list",
        *WIDGETS,
        get("widgets", "a", accept=PARTIAL_LIST),
    ),
    exchange(
        "a Table in protobuf first",
        *WIDGETS,
        get(
            "widgets",
            accept="application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json",
        ),
    ),
    exchange(
        "a Table of an older version",
        *WIDGETS,
        get("widgets", accept="application/json;as=Table;v=v1beta1;g=meta.k8s.io"),
    ),
    exchange(
        "Accept with quality",
        *WIDGETS,
        get("widgets", "a", accept="application/json;q=0.9,*/*;q=0.8"),
    ),
    exchange(
        "Accept yaml",
        post("configmaps", config_map(data={"a": "b"})),
        Step("GET", "/api/v1/namespaces/$ns/configmaps/one", accept="application/xml"),
    ),
    exchange("pretty", *WIDGETS, get("widgets", "a", pretty=True)),
)
