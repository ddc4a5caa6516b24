"""Sizes at their borders: bodies, objects, annotations, data, names, and how many of everything."""

from __future__ import annotations

import json

from tests.real.differential.objects import blob_text
from tests.real.differential.steps import (
    Exchange,
    Step,
    delete,
    exchange,
    get,
    json_patch,
    merge,
    post,
)

COVERS = ("sandbox/store/pod_resizing.py", "sandbox/store/quantities.py")

KIB = 1024
BODY_BYTES_MAX = 3 * KIB * KIB
OBJECT_BYTES_MAX = 1536 * KIB
ANNOTATIONS_BYTES_MAX = 256 * KIB
DATA_BYTES_MAX = KIB * KIB
KEYS = 50_000


def _config_map(name: str, rest: str = "", meta: str = "") -> str:
    return f'{{"metadata": {{"name": "{name}"{meta}}}{rest}}}'


def _text(name: str, value: str) -> str:
    return f'{{"{name}": "{value}"}}'


def _meta(field: str, name: str, value: str) -> str:
    return f', "{field}": {_text(name, value)}'


def _annotated(name: str, size: int) -> Step:
    """All keys and values together."""
    return post("configmaps", _config_map(name, meta=_meta("annotations", "a", "x" * size)))


def _data(name: str, size: int, char: str = "x") -> Step:
    return post("configmaps", _config_map(name, _meta("data", "a", char * size)))


def _many(count: int) -> str:
    return json.dumps({f"key-{number}": number for number in range(count)})


_ONE = (get("configmaps", "one"), delete("configmaps", "one"))
_LENGTHS = (62, 63, 64, 252, 253, 254, 1_000, 100_000)

EXCHANGES: tuple[Exchange, ...] = (
    exchange(
        "a body of the largest size",
        *(
            post("configmaps", text.ljust(BODY_BYTES_MAX + more))
            for text in (_config_map("one"),)
            for more in (0, 1, 1_000_000)
        ),
        merge("configmaps", "one", "{}".ljust(BODY_BYTES_MAX)),
        merge("configmaps", "one", "{}".ljust(BODY_BYTES_MAX + 1)),
        delete("configmaps", "one", "{}".ljust(BODY_BYTES_MAX + 1)),
    ),
    exchange(
        "annotations of all sizes",
        _annotated("a", ANNOTATIONS_BYTES_MAX - 1),
        _annotated("b", ANNOTATIONS_BYTES_MAX),
        merge("configmaps", "a", '{"metadata": {"annotations": {"b": ""}}}'),
        post("blobs", blob_text("{}", more=_meta("annotations", "a", "é" * 131_072))),
    ),
    exchange(
        "data of all sizes",
        _data("a", DATA_BYTES_MAX),
        _data("b", DATA_BYTES_MAX + 1),
        _data("c", DATA_BYTES_MAX // 2, "é"),
        _data("d", DATA_BYTES_MAX // 2 + 1, "é"),
        merge("configmaps", "a", '{"data": {"b": ""}}'),
        merge("configmaps", "a", '{"data": {"b": "x"}}'),
        get("configmaps"),
    ),
    exchange(
        "a blob of all sizes",
        *(
            post("blobs", blob_text(_text("v", "x" * size), f"b{number}"))
            for number, size in enumerate((1_400_000, OBJECT_BYTES_MAX + 1_000, 1_900_000))
        ),
        merge("blobs", "b0", f'{{"spec": {_text("w", "x" * 200_000)}}}'),
        get("blobs"),
        delete("blobs", "b0"),
    ),
    exchange(
        "many keys and items",
        post("blobs", blob_text(f'{{"v": {_many(KEYS)}}}')),
        post("blobs", blob_text(f'{{"v": {[[]] * 20_000}}}', "three")),
        get("blobs"),
        json_patch(
            "blobs",
            "three",
            json.dumps([{"op": "remove", "path": "/spec/v/0"}] * 100),
        ),
        json_patch(
            "blobs",
            "three",
            json.dumps([{"op": "test", "path": "/spec/given", "value": 3}] * 10_001),
        ),
        delete("blobs"),
    ),
    exchange(
        "many labels",
        post(
            "configmaps",
            json.dumps(
                {"metadata": {"name": "one", "labels": {f"l-{n}": str(n) for n in range(5_000)}}}
            ),
        ),
        *_ONE,
    ),
    exchange(
        "names of all lengths",
        *(post("configmaps", _config_map("n" * length)) for length in _LENGTHS),
        *(
            post("configmaps", _config_map("one", _meta("data", "k" * length, "")))
            for length in _LENGTHS
        ),
        *(
            post("configmaps", _config_map("two", meta=_meta("labels", "a", "v" * length)))
            for length in _LENGTHS
        ),
        *(
            post("configmaps", _config_map("three", meta=_meta("labels", "k" * length, "")))
            for length in _LENGTHS
        ),
        *(
            post(
                "configmaps",
                _config_map("four", meta=_meta("annotations", "k" * length, "")),
            )
            for length in _LENGTHS
        ),
        *(post("blobs", blob_text("{}", "n" * length)) for length in _LENGTHS),
        *(post("blobs", blob_text(_text("k" * length, ""), "one")) for length in _LENGTHS),
    ),
)
