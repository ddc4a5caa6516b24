"""`managedFields` that a client sends: which entries are kept, in which form, however deep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.real.differential.exchanges.nesting import maps
from tests.real.differential.objects import GROUP, blob_text, node
from tests.real.differential.steps import (
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    Exchange,
    delete,
    exchange,
    get,
    json_patch,
    merge,
    post,
    put,
    strategic,
    watch,
)

COVERS = ("sandbox/store/managed_fields.py",)

MANAGER = "somebody"
OTHER = "another"
_VERSIONS = {"blobs": f"{GROUP}/v1", "sites": f"{GROUP}/v1"}


def _entry(fields: str = '{"f:x": {}}', version: str = "v1", /, **rest: Any) -> str:
    said = {
        "manager": MANAGER,
        "operation": "Update",
        "apiVersion": version,
        "time": "2020-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        **rest,
    }
    kept = {name: value for name, value in said.items() if value is not None}
    return f'{json.dumps(kept)[:-1]}, "fieldsV1": {fields}}}'


def _sent(entries: str) -> str:
    return f'{{"metadata": {{"managedFields": {entries}}}}}'


def _config_map(entries: str, name: str = "one") -> str:
    return f'{{"metadata": {{"name": "{name}", "managedFields": {entries}}}}}'


def _deep(levels: int) -> str:
    return maps(levels, "{}").replace('"a"', '"f:a"')


_BODIES = {
    "configmaps": '{"metadata": {"name": "one", "managedFields": @}}',
    "pods": (
        '{"metadata": {"name": "one", "managedFields": @}, "spec": {"schedulerName": "nobody", '
        '"automountServiceAccountToken": false, "containers": [{"name": "a", "image": "b"}]}}'
    ),
    "services": '{"metadata": {"name": "one", "managedFields": @}, "spec": {"clusterIP": "None"}}',
    "blobs": blob_text("{}", more=', "managedFields": @'),
}


def _kept_by(plural: str, levels: int) -> Exchange:
    version = _VERSIONS.get(plural, "v1")
    entries = f"[{_entry(_deep(levels), version)}]"
    other = f"[{_entry(_deep(levels), version, manager=OTHER)}]"
    return exchange(
        f"{levels} levels of managed fields of {plural}",
        post(plural, _BODIES[plural].replace("@", entries), keep="made"),
        get(plural, "one"),
        get(plural),
        get(plural, accept=PARTIAL_LIST),
        get(plural, "one", accept=PARTIAL),
        get(plural, accept=TABLE),
        merge(plural, "one", '{"metadata": {"labels": {"a": "b"}}}'),
        merge(plural, "one", _sent(other)),
        merge(plural, "one", _sent(other)),
        watch(plural, "${made.metadata.resourceVersion}"),
        delete(plural, "one", '{"gracePeriodSeconds": 0}'),
        masked=("nodeName", "rows", "clusterIP", "clusterIPs", "cells"),
        managers=(MANAGER, OTHER),
    )


_ENTRIES = {
    "none": "[]",
    "null": "null",
    "an empty one": "[{}]",
    "two empty ones": "[{}, {}]",
    "a null": "[null]",
    "no operation": f"[{_entry(operation=None)}]",
    "another operation": f"[{_entry(operation='Delete')}]",
    "Apply": f"[{_entry(operation='Apply')}]",
    "no type": f"[{_entry(fieldsType=None)}]",
    "another type": f"[{_entry(fieldsType='FieldsV2')}]",
    "no version": f"[{_entry('{}', '')}]",
    "another version": "[" + _entry('{"f:y": {}}', "v9") + "]",
    "no manager": f"[{_entry(manager=None)}]",
    "no time": f"[{_entry(time=None)}]",
    "a subresource": f"[{_entry(subresource='status')}]",
    "no fields": "[" + _entry("{}") + "]",
    "null fields": "[" + _entry("null") + "]",
    "a step of another kind": "[" + _entry('{"x:a": {}, "f:x": {"q:b": {}, "f:c": {}}}') + "]",
    "a step without a kind": "[" + _entry('{"abc": {}}') + "]",
    "an index": "[" + _entry('{"f:x": {"i:0": {}, "v:\\"a\\"": {}, "k:{\\"a\\":1}": {}}}') + "]",
    "no index": "[" + _entry('{"f:x": {"i:a": {}}}') + "]",
    "no value": "[" + _entry('{"f:x": {"v:a": {}}}') + "]",
    "no key": "[" + _entry('{"f:x": {"k:1": {}}}') + "]",
    "a dot": "[" + _entry('{"f:x": {".": {}, "f:y": {}}}') + "]",
    "one twice": "[" + _entry('{"f:x": {}}') + "," + _entry('{"f:y": {}}') + "]",
    "two managers": "[" + _entry(manager="z" + MANAGER) + "," + _entry(manager=OTHER) + "]",
    "one of two wrong": "[" + _entry() + "," + _entry(operation="x") + "]",
    "text": '"a"',
    "an object": "{}",
    "fields as text": "[" + _entry('"a"') + "]",
    "fields as a list": "[" + _entry("[]") + "]",
    "a step that is no object": "[" + _entry('{"f:x": 1}') + "]",
    "more than it knows": "[" + _entry(more=1) + "]",
}


def _whether_kept(name: str, entries: str) -> Exchange:
    of_blob = entries.replace('"apiVersion": "v1"', f'"apiVersion": "{GROUP}/v1"')
    before = f"[{_BEFORE}]"
    return exchange(
        f"an entry of managed fields: {name}",
        post("configmaps", _config_map(entries, "new")),
        post("configmaps", _config_map(before)),
        put("configmaps", "one", _config_map(entries)),
        merge("configmaps", "one", _sent(entries)),
        strategic("configmaps", "one", _sent(entries)),
        post("blobs", blob_text("{}", "new", f', "managedFields": {of_blob}')),
        post("blobs", blob_text("{}", more=f', "managedFields": [{_BLOBS_BEFORE}]')),
        merge("blobs", "one", _sent(of_blob)),
        merge("blobs", "one", _sent(of_blob), "status"),
        get("blobs"),
        managers=(MANAGER, OTHER, "z" + MANAGER, ""),
    )


_BEFORE = _entry('{"f:before": {}}')
_BLOBS_BEFORE = _entry('{"f:before": {}}', f"{GROUP}/v1")

EXCHANGES: Sequence[Exchange] = (
    *(_kept_by(plural, levels) for plural in _BODIES for levels in (3, 300)),
    exchange(
        "9,900 levels of managed fields",
        post("configmaps", _config_map(f"[{_entry(_deep(9_900))}]")),
        get("configmaps"),
        delete("configmaps", "one"),
        managers=(MANAGER,),
    ),
    *(_whether_kept(name, entries) for name, entries in _ENTRIES.items()),
    exchange(
        "managed fields of a node",
        post("nodes", node("$ns-a")),
        merge("nodes", "$ns-a", _sent(f"[{_entry(_deep(1_200))}]")),
        get("nodes", "$ns-a"),
        delete("nodes", "$ns-a"),
        masked=("status",),
        managers=(MANAGER,),
    ),
    exchange(
        "managed fields by JSON patch",
        post("configmaps", _config_map(f"[{_BEFORE}]")),
        json_patch(
            "configmaps",
            "one",
            f'[{{"op": "replace", "path": "/metadata/managedFields", "value": [{_entry()}]}}]',
        ),
        json_patch("configmaps", "one", '[{"op": "remove", "path": "/metadata/managedFields"}]'),
        json_patch(
            "configmaps",
            "one",
            '[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]',
        ),
        get("configmaps", "one"),
        managers=(MANAGER,),
    ),
)
