"""Objects that exchanges send, and the definitions that some of them are made of."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]
GROUP = "diff.example.com"
MEMBER = "member.streams.ibm.com/0d3f6c1e-5b7a-4a55-9d0e-6f3a2b1c0d9e"
TAINT: Obj = {
    "key": "streams.ibm.com/exclusive",
    "value": "0d3f6c1e-5b7a-4a55-9d0e-6f3a2b1c0d9e",
    "effect": "NoSchedule",
}


def config_map(name: str = "one", /, data: Any = None, **meta: Any) -> Obj:
    """A ConfigMap."""
    body: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}}
    return body if data is None else {**body, "data": data}


def pod(name: str = "one", /, spec: Any = None, **meta: Any) -> Obj:
    """A pod that no scheduler takes."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **meta},
        "spec": {
            "schedulerName": "nobody",
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "image:1"}],
            **(spec or {}),
        },
    }


def service(name: str = "one", /, spec: Any = None, **meta: Any) -> Obj:
    """A headless service, as our PEs have them."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, **meta},
        "spec": {"clusterIP": "None", "selector": {"app": "one"}} if spec is None else spec,
    }


def lease(name: str = "one", /, spec: Any = None, **meta: Any) -> Obj:
    """A Lease."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, **meta},
        "spec": spec or {},
    }


def node(name: str, /, spec: Any = None, **meta: Any) -> Obj:
    """A node that nobody keeps alive."""
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **meta}}
    return {**body, "spec": spec or {}}


def custom(kind: str, name: str = "one", /, spec: Any = None, **meta: Any) -> Obj:
    """An object of one of our kinds."""
    return {
        "apiVersion": "streams.ibm.com/v1",
        "kind": kind,
        "metadata": {"name": name, **meta},
        "spec": spec,
    }


def widget(name: str = "one", /, spec: Any = None, **meta: Any) -> Obj:
    """An object of the definition `widgets` below."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": name, **meta},
        "spec": {"size": 1} if spec is None else spec,
    }


def gauge(name: str = "one", /, **rest: Any) -> Obj:
    """An object of `gauges`, which has no subresources."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gauge", "metadata": {"name": name}, **rest}


def dial_text(spec: str, name: str = "one") -> str:
    """An object of `dials`, which has numbers of all kinds, whose numbers stay as written."""
    head = f'"apiVersion": "{GROUP}/v1", "kind": "Dial", "metadata": {{"name": "{name}"}}'
    return f'{{{head}, "spec": {spec}}}'


def blob_text(spec: str, name: str = "one", more: str = "") -> str:
    """An object of `blobs`, whose spec stays as written; `more` goes into its metadata."""
    head = f'"apiVersion": "{GROUP}/v1", "kind": "Blob", "metadata": {{"name": "{name}"{more}}}'
    return f'{{{head}, "spec": {spec}}}'


def site(name: str, /, spec: Any = None, **meta: Any) -> Obj:
    """An object of `sites`, which belong to the cluster."""
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Site", "metadata": {"name": name, **meta}}
    return {**body, "spec": spec or {}}


def owner(kept: str, **more: Any) -> Obj:
    """A reference to what a step kept."""
    return {
        "apiVersion": f"${{{kept}.apiVersion}}",
        "kind": f"${{{kept}.kind}}",
        "name": f"${{{kept}.metadata.name}}",
        "uid": f"${{{kept}.metadata.uid}}",
        **more,
    }


def definition(plural: str, kind: str, version: Obj, /, scope: str = "Namespaced") -> Obj:
    """A CustomResourceDefinition with one version."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, **version}],
        },
    }


def schema(**properties: Obj) -> Obj:
    """A schema whose `spec` has these properties."""
    spec = {"type": "object", "properties": properties}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


_WIDGET_SPEC: Obj = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 100},
        "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
        "name": {"type": "string", "minLength": 2, "maxLength": 8, "pattern": "^[a-z]+$"},
        "note": {"type": "string", "nullable": True},
        "ratio": {"type": "number"},
        "even": {"type": "integer", "multipleOf": 2},
        "flag": {"type": "boolean"},
        "at": {"type": "string", "format": "date-time"},
        "amount": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "tags": {"type": "array", "maxItems": 3, "items": {"type": "string"}},
        "bag": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "weight": {"type": "integer", "default": 7},
                },
            },
        },
        "labels": {
            "type": "object",
            "maxProperties": 2,
            "additionalProperties": {"type": "string"},
        },
        "nested": {
            "type": "object",
            "default": {},
            "properties": {"depth": {"type": "integer", "default": 3}},
        },
        "low": {"type": "integer"},
        "high": {"type": "integer"},
        "once": {
            "type": "string",
            "maxLength": 20,
            "x-kubernetes-validations": [
                {"rule": "self == oldSelf", "message": "once is written once"}
            ],
        },
        "count": {
            "type": "integer",
            "x-kubernetes-validations": [
                {
                    "rule": "self >= oldSelf",
                    "messageExpression": "'count ' + 'fell'",
                    "reason": "FieldValueForbidden",
                }
            ],
        },
        "short": {
            "type": "string",
            "maxLength": 50,
            "x-kubernetes-validations": [{"rule": "self.size() < 5"}],
        },
    },
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.low) || !has(self.high) || self.low <= self.high",
            "message": "low is not above high",
            "fieldPath": ".low",
        }
    ],
}

WIDGETS = definition(
    "widgets",
    "Widget",
    {
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "required": ["spec"],
                "properties": {
                    "spec": _WIDGET_SPEC,
                    "status": {
                        "type": "object",
                        "properties": {
                            "size": {"type": "integer"},
                            "selector": {"type": "string"},
                            "phase": {"type": "string"},
                        },
                    },
                },
            }
        },
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.size",
                "statusReplicasPath": ".status.size",
                "labelSelectorPath": ".status.selector",
            },
        },
        "selectableFields": [{"jsonPath": ".spec.mode"}, {"jsonPath": ".spec.size"}],
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "description": "How."},
            {"name": "Flag", "type": "boolean", "jsonPath": ".spec.flag"},
            {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio"},
            {"name": "At", "type": "date", "jsonPath": ".spec.at"},
            {"name": "Tags", "type": "string", "jsonPath": ".spec.tags", "priority": 1},
            {"name": "First", "type": "string", "jsonPath": ".spec.tags[0]"},
            {"name": "Parts", "type": "string", "jsonPath": ".spec.parts[*].name"},
        ],
    },
)
GAUGES = definition(
    "gauges",
    "Gauge",
    {
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "value": {"type": "integer"},
                    "status": {"type": "object", "properties": {"note": {"type": "string"}}},
                },
            }
        }
    },
)
SITES = definition("sites", "Site", {"schema": schema(place={"type": "string"})}, scope="Cluster")
_WHOLE: Obj = {"type": "integer"}
DIALS = definition(
    "dials",
    "Dial",
    {
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {
                        "type": "object",
                        "properties": {
                            "any": _WHOLE,
                            "int32": {**_WHOLE, "format": "int32"},
                            "int64": {**_WHOLE, "format": "int64"},
                            "unit": {**_WHOLE, "minimum": 1, "maximum": 100},
                            "small": {**_WHOLE, "format": "int32", "minimum": 1, "maximum": 100},
                            "open": {
                                **_WHOLE,
                                "minimum": 0,
                                "exclusiveMinimum": True,
                                "maximum": 10,
                                "exclusiveMaximum": True,
                            },
                            "chosen": {**_WHOLE, "enum": [1, 2]},
                            "maybe": {**_WHOLE, "nullable": True},
                            "given": {**_WHOLE, "default": 3},
                            "either": {"x-kubernetes-int-or-string": True},
                            "ratio": {"type": "number"},
                            "float": {"type": "number", "format": "float"},
                            "bounded": {"type": "number", "minimum": 0.5, "maximum": 10.5},
                            "list": {"type": "array", "items": _WHOLE},
                            "bag": {
                                "type": "array",
                                "items": _WHOLE,
                                "x-kubernetes-list-type": "set",
                            },
                            "table": {"type": "object", "additionalProperties": _WHOLE},
                            "text": {"type": "string"},
                            "flag": {"type": "boolean"},
                            "word": {"type": "string", "enum": ["a"]},
                            "free": {"x-kubernetes-preserve-unknown-fields": True},
                        },
                    },
                    "status": {"type": "object", "properties": {"count": _WHOLE}},
                },
            }
        },
        "subresources": {"status": {}},
    },
)
_FREE: Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
BLOBS = definition(
    "blobs",
    "Blob",
    {
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": {
                        **_FREE,
                        "properties": {
                            "given": {"type": "integer", "default": 3},
                            "known": {"type": "object", "properties": {"a": {"type": "string"}}},
                            "table": {"type": "object", "additionalProperties": {"type": "string"}},
                            "list": {"type": "array", "items": {"type": "string"}},
                        },
                        "x-kubernetes-validations": [
                            {"rule": "!has(self.given) || self.given >= 0", "message": "too low"}
                        ],
                    },
                    "status": _FREE,
                },
            }
        },
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Given", "type": "integer", "jsonPath": ".spec.given"},
        ],
    },
)
"""Nothing but what is named in it is known of the spec."""
DEFINITIONS = (WIDGETS, GAUGES, SITES, DIALS, BLOBS)
