"""The shape of what may be sent: enough of it that the rest of the store can rely on types.

A real API server decodes core kinds into Go structs and answers 400 when that fails. Only fields
that something here looks into are listed; whether their values make sense is decided later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from sandbox.store.errors import ApiError, bad_request, json_type
from sandbox.store.folding import emptied
from sandbox.store.resources import ResourceType
from sandbox.store.schema_causes import path_text

Shape = dict[str, Any]

_TEXT: Shape = {"type": ["string", "null"]}
_NUMBER: Shape = {"type": ["integer", "null"]}
_FLAG: Shape = {"type": ["boolean", "null"]}
_TEXTS: Shape = {"type": ["object", "null"], "additionalProperties": {"type": "string"}}
_QUANTITIES: Shape = {
    "type": ["object", "null"],
    "additionalProperties": {"type": ["string", "number"]},
}


def _list(item: Shape) -> Shape:
    return {"type": ["array", "null"], "items": item}


def _object(**properties: Shape) -> Shape:
    return {"type": ["object", "null"], "properties": properties}


def _element(**properties: Shape) -> Shape:
    return {"type": "object", "properties": properties}


_METADATA = _object(
    name=_TEXT,
    generateName=_TEXT,
    namespace=_TEXT,
    uid=_TEXT,
    resourceVersion=_TEXT,
    deletionTimestamp=_TEXT,
    deletionGracePeriodSeconds=_NUMBER,
    labels=_TEXTS,
    annotations=_TEXTS,
    finalizers=_list({"type": "string"}),
    ownerReferences=_list(
        _element(
            apiVersion=_TEXT,
            kind=_TEXT,
            name=_TEXT,
            uid=_TEXT,
            controller=_FLAG,
            blockOwnerDeletion=_FLAG,
        )
    ),
    managedFields=_list(
        _object(
            manager=_TEXT,
            operation=_TEXT,
            apiVersion=_TEXT,
            time=_TEXT,
            fieldsType=_TEXT,
            subresource=_TEXT,
        )
    ),
)
_CONDITIONS = _list({**_element(type={"type": "string"}, status=_TEXT), "required": ["type"]})
_RESOURCES = _object(requests=_QUANTITIES, limits=_QUANTITIES)
_CONTAINER = _element(
    name=_TEXT, image=_TEXT, resources=_RESOURCES, ports=_list(_element(containerPort=_NUMBER))
)
_SOURCE = _object()
_POD_SPEC = _object(
    nodeName=_TEXT,
    restartPolicy=_TEXT,
    schedulerName=_TEXT,
    serviceAccountName=_TEXT,
    terminationGracePeriodSeconds=_NUMBER,
    containers=_list(_CONTAINER),
    initContainers=_list(_CONTAINER),
    volumes=_list(
        _element(configMap=_SOURCE, secret=_SOURCE, projected=_SOURCE, downwardAPI=_SOURCE)
    ),
    tolerations=_list(
        _element(key=_TEXT, operator=_TEXT, effect=_TEXT, value=_TEXT, tolerationSeconds=_NUMBER)
    ),
    nodeSelector=_TEXTS,
    affinity=_object(nodeAffinity=_object(), podAffinity=_object(), podAntiAffinity=_object()),
)
_BY_RESOURCE: dict[str, Shape] = {
    "pods": _object(spec=_POD_SPEC, status=_object(phase=_TEXT, conditions=_CONDITIONS)),
    "nodes": _object(
        spec=_object(
            taints=_list(_element(key=_TEXT, value=_TEXT, effect=_TEXT)), unschedulable=_FLAG
        ),
        status=_object(capacity=_QUANTITIES, allocatable=_QUANTITIES, conditions=_CONDITIONS),
    ),
    "namespaces": _object(
        spec=_object(finalizers=_list({"type": "string"})), status=_object(phase=_TEXT)
    ),
    "services": _object(
        spec=_object(
            type=_TEXT, clusterIP=_TEXT, selector=_TEXTS, ports=_list(_element(name=_TEXT))
        ),
        status=_object(),
    ),
    "configmaps": _object(data=_TEXTS, binaryData=_TEXTS, immutable=_FLAG),
    "secrets": _object(data=_TEXTS, stringData=_TEXTS, type=_TEXT),
    "persistentvolumeclaims": _object(spec=_object(), status=_object()),
    "leases.coordination.k8s.io": _object(
        spec=_object(
            holderIdentity=_TEXT,
            leaseDurationSeconds=_NUMBER,
            leaseTransitions=_NUMBER,
            acquireTime=_TEXT,
            renewTime=_TEXT,
        )
    ),
    "events": _object(
        involvedObject=_object(namespace=_TEXT, name=_TEXT, kind=_TEXT, uid=_TEXT),
        source=_object(component=_TEXT),
        reason=_TEXT,
        message=_TEXT,
        type=_TEXT,
        count=_NUMBER,
    ),
    "customresourcedefinitions.apiextensions.k8s.io": _object(
        spec=_object(
            group=_TEXT,
            scope=_TEXT,
            names=_object(
                plural=_TEXT,
                singular=_TEXT,
                kind=_TEXT,
                listKind=_TEXT,
                shortNames=_list({"type": "string"}),
                categories=_list({"type": "string"}),
            ),
            versions=_list(
                _element(
                    name=_TEXT,
                    served=_FLAG,
                    storage=_FLAG,
                    schema=_object(openAPIV3Schema=_object()),
                    subresources=_object(
                        status=_object(),
                        scale=_object(specReplicasPath=_TEXT, statusReplicasPath=_TEXT),
                    ),
                    additionalPrinterColumns=_list(
                        {
                            **_element(name=_TEXT, type=_TEXT, jsonPath=_TEXT, priority=_NUMBER),
                            "required": ["name", "type", "jsonPath"],
                        }
                    ),
                )
            ),
        ),
        status=_object(),
    ),
}


def _compiled(shape: Shape) -> jsonschema_rs.Draft4Validator:
    properties = {**shape.get("properties", {}), "metadata": _METADATA}
    return jsonschema_rs.Draft4Validator({"type": "object", "properties": properties})


_CUSTOM = _compiled({})
_COMPILED = {key: _compiled(shape) for key, shape in _BY_RESOURCE.items()}


def check_shape(rt: ResourceType, body: Mapping[str, Any]) -> None:
    """400 if a field has a type that no object of this kind can have there."""
    shape = _COMPILED.get(rt.key, _CUSTOM)
    if not shape.is_valid(body):
        raise _misshapen(rt, shape, body)


def _misshapen(
    rt: ResourceType, shape: jsonschema_rs.Draft4Validator, body: Mapping[str, Any]
) -> ApiError:
    error = next(iter(shape.iter_errors(emptied(body))))
    path = path_text(error.instance_path)
    return bad_request(f"{rt.kind}: {path} cannot be of type {json_type(error.instance)}")
