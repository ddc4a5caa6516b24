"""What the server says of itself: resources, versions, schemas, rights, health."""

from __future__ import annotations

from tests.real.differential.kubectl import WAIT, Script
from tests.real.differential.objects import Obj, schema, widget

_VERSION: Obj = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": schema(place={"type": "string", "description": "Where it is."}),
    "additionalPrinterColumns": [
        {"name": "Place", "type": "string", "jsonPath": ".spec.place"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ],
}
_THINGS: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.$ns.example.org"},
    "spec": {
        "group": "$ns.example.org",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
        "versions": [_VERSION],
    },
}
_THING: Obj = {
    "apiVersion": "$ns.example.org/v1",
    "kind": "Thing",
    "metadata": {"name": "one"},
    "spec": {"place": "here"},
}
SCRIPTS = (
    Script(
        "api resources",
        (
            "api-resources --api-group=streams.ibm.com",
            "api-resources --api-group=diff.example.com --no-headers",
            "api-resources --api-group=streams.ibm.com -o wide",
            "api-resources --api-group=streams.ibm.com -o name",
            "api-resources --api-group=apiextensions.k8s.io",
            "api-resources --api-group=coordination.k8s.io --namespaced",
            "api-resources --categories=streams",
            "api-resources --api-group=streams.ibm.com --verbs=list --sort-by=kind",
            "api-resources --api-group=none.example.com",
        ),
    ),
    Script(
        "versions",
        (
            "version",
            "version --client=false -o yaml",
            "cluster-info",
            "get --raw /readyz",
            "get --raw /livez",
            "get --raw /healthz",
            "get --raw /apis/streams.ibm.com",
            "get --raw /none",
            "get --raw /api/v1/namespaces/$ns/pods",
            "get --raw /apis/diff.example.com/v1/namespaces/$ns/widgets/none",
            "create --raw /api/v1/namespaces/$ns/configmaps -f -",
        ),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "raw"}},),
    ),
    Script(
        "explain our kinds",
        (
            "explain stpr",
            "explain stpr.spec",
            "explain stpr.spec.width",
            "explain stj.spec --recursive",
            "explain stj.status",
            "explain streamspes.status.launchCount",
            "explain widgets.spec.parts",
            "explain widgets.spec.none",
            "explain gauges --recursive",
            "explain stj.metadata",
            "explain nothing",
            "explain streamsprs --api-version=streams.ibm.com/v1",
        ),
    ),
    Script(
        "rights",
        (
            "auth can-i create pods",
            "auth can-i get widgets.diff.example.com --subresource=scale",
            "auth can-i get nothings",
            "auth can-i '*' '*' --all-namespaces",
            "auth can-i get /healthz",
            "auth can-i list pods -q",
            "auth can-i delete ns",
        ),
    ),
    Script(
        "what is not there",
        ("top node", "top pod", "rollout status pod/x", "logs none", "autoscale widget w --max=3"),
    ),
    Script(
        "a definition comes and goes",
        (
            "create -f -",
            f"wait --for=condition=Established crd/things.$ns.example.org {WAIT}",
            "get crd things.$ns.example.org",
            "apply -f -",
            "create -f thing.json",
            "get things.$ns.example.org",
            "get things.$ns.example.org one -o yaml",
            "explain things.spec --api-version=$ns.example.org/v1",
            "delete crd things.$ns.example.org",
            "get things.$ns.example.org",
            "get crd things.$ns.example.org",
        ),
        (_THINGS,),
        {"thing.json": (_THING,)},
    ),
    Script(
        "definitions",
        (
            "get crd widgets.diff.example.com",
            "get crd -o name streamsjobs.streams.ibm.com sites.diff.example.com",
            "describe crd gauges.diff.example.com",
            "get crd gauges.diff.example.com -o yaml",
            "create -f -",
        ),
        (widget("w", {"size": "two"}),),
    ),
)
