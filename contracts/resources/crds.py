"""The CustomResourceDefinitions of our kinds, as plain values.

`deploy/generating.py` writes them to files; `millrace up` hands them to the sandbox directly.
"""

from __future__ import annotations

from typing import Any

from . import CUSTOM_RESOURCES
from .custom_resource import CATEGORY, CustomResource, PrinterColumn
from .fields import GROUP, VERSION
from .structural import Schema, structural

_API_VERSION_TEXT = "Version of the schema of this object."
_KIND_TEXT = "The kind of this object."


def custom_resource_definitions() -> tuple[dict[str, Any], ...]:
    """Every CustomResourceDefinition of ours, ready to be created in a cluster."""
    return tuple(definition(resource) for resource in CUSTOM_RESOURCES)


def definition(resource: CustomResource) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.crd_name},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.singular,
                "shortNames": [resource.short_name],
                "categories": [CATEGORY],
            },
            "scope": "Namespaced",
            "versions": [_version(resource)],
        },
    }


def _version(resource: CustomResource) -> dict[str, Any]:
    subresources: dict[str, Any] = {"status": {}}
    if resource.scale:
        subresources["scale"] = {
            "specReplicasPath": resource.scale.spec_replicas_path,
            "statusReplicasPath": resource.scale.status_replicas_path,
            "labelSelectorPath": resource.scale.label_selector_path,
        }
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(each) for each in resource.columns],
        "subresources": subresources,
        "schema": {"openAPIV3Schema": root_schema(resource)},
    }


def root_schema(resource: CustomResource) -> Schema:
    """The structural schema of a whole object."""
    schema: Schema = {
        "description": resource.description,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": _API_VERSION_TEXT},
            "kind": {"type": "string", "description": _KIND_TEXT},
            "metadata": {"type": "object"},
            "spec": structural(resource.spec),
            "status": structural(resource.status),
        },
    }
    if resource.rules:
        schema["x-kubernetes-validations"] = [
            {"rule": each.rule, "message": each.message} for each in resource.rules
        ]
    return schema


def _column(column: PrinterColumn) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.json_path,
        "description": column.description,
    }
    if column.wide:
        rendered["priority"] = 1
    return rendered
