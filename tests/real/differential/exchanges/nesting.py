"""Objects nested deeper than readers go: what is taken, shown, patched, watched and deleted.

kube-apiserver cannot read a custom resource any more whose spec has 9,994 to 9,997 levels of
objects in it, and lists and watches of its kind fail from then on. Nothing here may get there:
objects stay at `OBJECTS_MAX`.
"""

from __future__ import annotations

from tests.real.differential.objects import blob_text
from tests.real.differential.steps import (
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    Exchange,
    Step,
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

COVERS = ("sandbox/store/folding.py", "sandbox/store/structural.py", "sandbox/store/schemas.py")

OBJECTS_MAX = 9_990
TESTED_BYTES_MAX = 8_000
_YAML = "application/yaml"


def lists(levels: int, inner: str = "1") -> str:
    """So many lists in each other."""
    return "[" * levels + inner + "]" * levels


def maps(levels: int, inner: str = "1") -> str:
    """So many objects in each other."""
    return '{"a":' * levels + inner + "}" * levels


def mixed(levels: int, inner: str = '"x"') -> str:
    """Objects and lists in each other, with something beside each."""
    half = levels // 2
    return '{"b":[1.0,"é"],"a":[true,' * half + inner + "]}" * half


_DEEP = {
    **{f"{levels} lists": lists(levels) for levels in (79, 81, 255, 1_100)},
    **{f"{levels} objects": maps(levels) for levels in (90, 230, 1_025)},
    **{f"{levels} of both": mixed(levels) for levels in (84, 2_000)},
}
_DEEPEST = {"lists": lists(9_998), "objects": maps(OBJECTS_MAX)}
_TOO_DEEP = {
    "lists": lists(9_999),
    "lists further down": lists(12_000),
    "lists without an end": "[" * 100_000,
    "objects": maps(9_999),
    "objects further down": maps(50_000),
    "both": mixed(10_000),
}


def _tested(text: str) -> tuple[Step, ...]:
    """kube-apiserver needs minutes for these where there are 10,000 levels."""
    return (
        json_patch("blobs", "one", '[{"op": "copy", "from": "/spec/v", "path": "/spec/u"}]'),
        json_patch("blobs", "one", f'[{{"op": "test", "path": "/spec/u", "value": {text}}}]'),
        json_patch("blobs", "one", '[{"op": "test", "path": "/spec/u", "value": [2]}]'),
    )


def _whole_life(name: str, text: str) -> Exchange:
    return exchange(
        f"a blob of {name}",
        post("blobs", blob_text(f'{{"v": {text}}}'), keep="made"),
        get("blobs", "one"),
        get("blobs"),
        get("blobs", limit=1),
        get("blobs", accept=PARTIAL_LIST),
        get("blobs", accept=TABLE, includeObject="Object"),
        get("blobs", "one", accept=PARTIAL),
        put("blobs", "one", blob_text(f'{{"v": {text}, "given": 4}}')),
        merge("blobs", "one", '{"spec": {"given": 5}}'),
        merge("blobs", "one", '{"spec": {"given": 5}}'),
        merge("blobs", "one", '{"spec": {"given": -5}}'),
        merge("blobs", "one", f'{{"spec": {{"v": {text}}}}}'),
        merge("blobs", "one", f'{{"status": {{"v": {text}}}}}', "status"),
        json_patch("blobs", "one", '[{"op": "add", "path": "/spec/w", "value": 1}]'),
        *(_tested(text) if len(text) < TESTED_BYTES_MAX else ()),
        json_patch("blobs", "one", '[{"op": "remove", "path": "/spec/v"}]'),
        watch("blobs", "${made.metadata.resourceVersion}"),
        watch("blobs", "0"),
        delete("blobs", "one"),
        get("blobs"),
    )


def _short_life(name: str, text: str) -> Exchange:
    """As much as kube-apiserver does in a few seconds."""
    return exchange(
        f"as many {name} as there may be",
        post("blobs", blob_text(_v(text))),
        get("blobs"),
        watch("blobs", "0"),
        merge("blobs", "one", '{"spec": {"v": 1}}'),
        delete("blobs", "one"),
    )


def _v(text: str) -> str:
    return f'{{"v": {text}}}'


def _far_down(levels: int, end: str = "") -> str:
    return "v" + "/a" * levels + end


_ENDING = '{"x": 1, "y": [1, 2]}'


def _in_spec(field: str, text: str) -> str:
    return f'{{"spec": {{"{field}": {text}}}}}'


def _operation(kind: str, where: str, rest: str = "") -> str:
    return f'[{{"op": "{kind}", "path": "/spec/{where}"{rest}}}]'


_PATCHED_BLOB = (
    exchange(
        "a merge patch far down",
        post("blobs", blob_text(_v(maps(500, _ENDING)))),
        *(
            merge("blobs", "one", _in_spec("v", maps(levels, inner)))
            for levels, inner in (
                (500, '{"x": 2}'),
                (500, '{"y": null, "z": {"q": null}}'),
                (20, '{"x": 2}'),
                (2_000, '{"x": 2}'),
                (100, "null"),
            )
        ),
        merge("blobs", "one", _in_spec("w", maps(300, '{"x": null, "y": [null]}'))),
        merge("blobs", "one", _in_spec("w", lists(300, '{"x": null}'))),
        merge("blobs", "one", '{"spec": {"v": 1, "w": null}}'),
        get("blobs", "one"),
    ),
    exchange(
        "a JSON patch far down",
        post("blobs", blob_text(_v(maps(500, _ENDING)))),
        *(
            json_patch("blobs", "one", operation)
            for operation in (
                _operation("add", _far_down(500, "/z"), f', "value": {lists(300)}'),
                _operation("replace", _far_down(500, "/x"), ', "value": 2'),
                _operation("test", _far_down(500, "/y"), ', "value": [1, 2]'),
                _operation("remove", _far_down(500, "/y/0")),
                _operation("remove", _far_down(501, "/y/0")),
                _operation("move", "w", f', "from": "/spec/{_far_down(90)}"'),
                _operation("copy", "v/b", ', "from": "/spec/w/a/a/a/a/a/a/a/a/a/a"'),
                _operation("test", "w/a", ', "value": 1'),
            )
        ),
        get("blobs", "one"),
    ),
    exchange(
        "patches that add up to depth",
        post("blobs", blob_text('{"v": {}}')),
        *(
            json_patch(
                "blobs",
                "one",
                _operation("add", _far_down(levels, "/a"), f', "value": {maps(59, "{}")}'),
            )
            for levels in range(0, 601, 60)
        ),
        get("blobs", "one"),
    ),
)

_TYPED = (
    exchange(
        "depth in a field that core kinds do not have",
        *(
            post("configmaps", f'{{"metadata": {{"name": "c{n}"}}, "nobody": {text}}}')
            for n, text in enumerate((lists(300), maps(1_100), lists(9_999), lists(10_000)))
        ),
        post(
            "configmaps",
            f'{{"metadata": {{"name": "strict"}}, "nobody": {maps(2_000)}}}',
            fieldValidation="Strict",
        ),
        merge("configmaps", "c0", f'{{"nobody": {maps(2_000)}}}'),
        strategic("configmaps", "c0", f'{{"nobody": {maps(2_000)}}}'),
        get("configmaps", "c0"),
    ),
    exchange(
        "depth where a core kind wants something else",
        *(
            post("configmaps", f'{{"metadata": {{"name": "one"}}, "data": {{"a": {text}}}}}')
            for text in (lists(300), maps(1_100))
        ),
        post("configmaps", f'{{"metadata": {maps(1_100)}}}'),
        post("configmaps", f'{{"metadata": {{"name": "one", "labels": {lists(1_100)}}}}}'),
        post("pods", f'{{"metadata": {{"name": "one"}}, "spec": {{"affinity": {lists(2_000)}}}}}'),
        post("pods", f'{{"metadata": {{"name": "one"}}, "spec": {{"affinity": {maps(2_000)}}}}}'),
    ),
    exchange(
        "depth in metadata and typed fields of custom resources",
        post("blobs", blob_text("{}", more=f', "nobody": {maps(2_000)}')),
        post("blobs", blob_text("{}", "two", more=f', "labels": {{"a": {maps(2_000)}}}')),
        post("blobs", blob_text(f'{{"known": {{"a": {maps(2_000)}}}}}', "three")),
        post("blobs", blob_text(f'{{"known": {{"b": {maps(2_000)}}}}}', "four")),
        post("blobs", blob_text(f'{{"list": {lists(2_000)}}}', "five")),
        post("blobs", blob_text(f'{{"table": {maps(2_000)}}}', "six")),
        post("blobs", blob_text(f'{{"given": {lists(300)}}}', "seven")),
        post(
            "widgets",
            f'{{"apiVersion": "diff.example.com/v1", "kind": "Widget", "metadata": '
            f'{{"name": "one"}}, "spec": {{"size": 1, "free": {maps(2_000)}, "x": {lists(900)}}}}}',
        ),
        get("blobs"),
        get("widgets"),
    ),
    exchange(
        "depth as options and in reviews",
        post("configmaps", '{"metadata": {"name": "one"}}'),
        delete("configmaps", "one", f'{{"kind": "DeleteOptions", "x": {lists(2_000)}}}'),
        delete("configmaps", "one", lists(2_000)),
        delete("configmaps", "one", lists(20_000)),
    ),
)


def _too_deep(name: str, text: str) -> Exchange:
    return exchange(
        f"too deep: {name}",
        post("blobs", blob_text("{}")),
        post("blobs", blob_text(f'{{"v": {text}}}', "two")),
        put("blobs", "one", blob_text(f'{{"v": {text}}}')),
        post("configmaps", f'{{"metadata": {{"name": "one"}}, "nobody": [{text}]}}'),
        merge("blobs", "one", f'{{"spec": {{"v": {text}}}}}'),
        json_patch("blobs", "one", f'[{{"op": "add", "path": "/spec/v", "value": {text}}}]'),
        merge("configmaps", "kube-root-ca.crt", f'{{"spec": {{"v": {text}}}}}'),
        strategic("configmaps", "kube-root-ca.crt", f'{{"spec": {{"v": {text}}}}}'),
        get("blobs", "one"),
    )


def _yaml(name: str, text: str) -> Step:
    return post("blobs", blob_text(f'{{"v": {text}}}', name), content_type=_YAML)


_IN_YAML = exchange(
    "YAML of many levels",
    _yaml("one", lists(50)),
    _yaml("two", lists(300)),
    _yaml("three", maps(300).replace(":", ": ")),
    _yaml("four", lists(1_500)),
    get("blobs"),
)

EXCHANGES = (
    *(_whole_life(name, text) for name, text in _DEEP.items()),
    *(_short_life(name, text) for name, text in _DEEPEST.items()),
    *(_too_deep(name, text) for name, text in _TOO_DEEP.items()),
    *_PATCHED_BLOB,
    *_TYPED,
    _IN_YAML,
)
