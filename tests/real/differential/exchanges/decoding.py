"""Texts that are nearly JSON, or more than it: escapes, bytes, words, numbers, repetitions."""

from __future__ import annotations

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
    put,
    strategic,
    watch,
)

COVERS = (
    "sandbox/store/json_text.py",
    "sandbox/http/bodies.py",
    "sandbox/http/requests.py",
    "sandbox/http/protobuf*",
)

_VALUES = (
    *('"\\ud800"', '"\\udc00\\ud800"', '"\\ud800\\u0041"', '"\\ud83d\\ude00"', '"\\\\ud800"'),
    *('"\\ud800\\ud83d\\ude00"', '"\\uDFFF\\n"', '"\\u0000"', '"\\u0001\\u001f\\u007f\\u0080"'),
    *('"\\u2028\\u2029"', '"<>&\\/\'"', '"\\b\\f\\n\\r\\t\\"\\\\"', '"\\ufeff\\uffff\\ufffe"'),
    *('"\\u202e\\u200b"', '"[/red] ${x} %s {{ }}"', '"---\\n- a: b"', '"\\u001b[31m"'),
)
_NO_VALUES = (
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        "-",
        "+1",
        ".5",
        "1.",
        "1.e1",
        "1e",
        "1e+",
        "01",
        "-01",
        "0x1",
    ),
    *(
        "1_000",
        "nul",
        "nulL",
        "tru",
        "truE",
        "falze",
        "True",
        "None",
        "undefined",
        "'a'",
        '"a',
        '"',
    ),
    *('"\t"', '"\n"', '"\x00"', '"\x1f"', '"\\x"', '"\\\'"', '"\\u12g4"', '"\\u12"', '"\\'),
    *("[1,]", "[,1]", "[1 2]", "[1:2]", "[1}", "[", "[1", "[1,", '{"a"}', '{"a":}', '{"a":1,}'),
    *("{,}", "{1:2}", "{a:1}", '{"a" 1}', '{"a":1 "b":2}', '{"a":1]', "{", '{"a"', '{"a":', "}"),
    *("é", "\u2028", "/* a */ 1", "// a\n1", "", "1 2", "#", "\\", "\x7f", "\x00"),
)
_NUMBERS = (
    *("1e308", "1.7976931348623157e308", "1e309", "-1e309", "1e400", "9" * 308, "9" * 310),
    *("1" * 5_000, "-" + "1" * 5_000, "1." + "1" * 5_000, "0." + "0" * 400 + "1", "1e-400"),
    *("5e-324", "4.9e-325", "123456789012345678901234567890", "0.1e-6", "1e21", "1e20", "1E+2"),
)
_BYTES = (
    *(b"\xff", b"\xc3", b"\xc3(", b"\xed\xa0\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80\x80"),
    *(b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xf8\x88\x80\x80\x80", b"\xef\xbf\xbe", b"\xe2\x28\xa1"),
    *(b"\xfe\xff", b"\xc3\xc3\xa9", b"\x7f"),
)
_WHOLE = (
    *(b"", b" ", b"\n", b"null", b"true", b"1", b'"a"', b"[]", b"[{}]", b"{}", b"\x00", b"\xff"),
    *(b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"{", b"}", b"{}{}", b"{} x", b"{}\n{}", b"<a/>"),
    *(b"k8s\x00", b"a: b", b"---\n", b"{}\x00", b"{}]", b"'", b'"', b"\\", b"\xc3\xa9"),
)


def _config_map(value: str, name: str = "one", more: str = "") -> str:
    return f'{{"metadata": {{"name": "{name}"{more}}}, "data": {{"v": {value}}}}}'


def _in_text(value: bytes) -> bytes:
    return b'"a' + value + b'b"'


def _written(value: bytes, name: str) -> bytes:
    return blob_text('{"v": "@@"}', name).encode().replace(b'"@@"', value)


_TEXTS = (
    exchange(
        "escapes in a blob",
        *(post("blobs", blob_text(f'{{"v": {v}}}', f"v{n}")) for n, v in enumerate(_VALUES)),
        *(post("blobs", blob_text(f"{{{v}: 1}}", f"k{n}")) for n, v in enumerate(_VALUES)),
        merge("blobs", "v0", f'{{"spec": {{{", ".join(f"{v}: {v}" for v in _VALUES)}}}}}'),
        json_patch("blobs", "v0", f'[{{"op": "add", "path": "/spec/w", "value": {_VALUES[0]}}}]'),
        get("blobs"),
        watch("blobs", "0"),
    ),
    exchange(
        "escapes in a config map",
        *(post("configmaps", _config_map(v, f"v{n}")) for n, v in enumerate(_VALUES)),
        *(
            post("configmaps", _config_map('""', f"a{n}", f', "annotations": {{"a": {v}}}'))
            for n, v in enumerate(_VALUES)
        ),
        *(
            post("configmaps", _config_map('""', f"l{n}", f', "labels": {{"a": {v}}}'))
            for n, v in enumerate(_VALUES)
        ),
        *(post("configmaps", f'{{"metadata": {{"name": {v}}}}}') for v in _VALUES),
        *(strategic("configmaps", "v0", f'{{"data": {{"w": {v}}}}}') for v in _VALUES),
        get("configmaps"),
    ),
    exchange(
        "bytes that are no UTF-8",
        *(post("blobs", _written(_in_text(v), f"v{n}")) for n, v in enumerate(_BYTES)),
        *(
            post("blobs", _written(b"{" + _in_text(v) + b":1}", f"k{n}"))
            for n, v in enumerate(_BYTES)
        ),
        *(post("blobs", _written(v, f"o{n}")) for n, v in enumerate(_BYTES)),
        *(
            post("configmaps", _config_map("@@", f"c{n}").encode().replace(b"@@", _in_text(v)))
            for n, v in enumerate(_BYTES)
        ),
        *(merge("blobs", "v0", b'{"spec": {"w": ' + _in_text(v) + b"}}") for v in _BYTES),
        get("blobs"),
        get("configmaps"),
    ),
)


def _refused(name: str, values: tuple[str, ...], *more: Step) -> Exchange:
    return exchange(
        name,
        post("blobs", blob_text("{}")),
        post("configmaps", _config_map('""')),
        *(post("blobs", blob_text(f'{{"v": {v}}}', f"v{n}")) for n, v in enumerate(values)),
        *(post("blobs", blob_text(f"[1, {v}]", f"l{n}")) for n, v in enumerate(values)),
        *(post("configmaps", _config_map(v, f"v{n}")) for n, v in enumerate(values)),
        *(put("blobs", "one", blob_text(f'{{"v": {v}}}')) for v in values),
        *(merge("blobs", "one", f'{{"spec": {{"w": {v}}}}}') for v in values),
        *(
            json_patch("blobs", "one", f'[{{"op": "add", "path": "/spec/w", "value": {v}}}]')
            for v in values
        ),
        *more,
        get("blobs"),
    )


def _all_over(body: bytes) -> tuple[Step, ...]:
    return (
        post("blobs", body),
        post("configmaps", body),
        put("blobs", "one", body),
        put("configmaps", "one", body),
        merge("blobs", "one", body),
        merge("configmaps", "one", body),
        json_patch("blobs", "one", body),
        strategic("configmaps", "one", body),
    )


_BODIES = (
    exchange(
        "whole bodies",
        post("blobs", blob_text("{}")),
        post("configmaps", _config_map('""')),
        *(step for body in _WHOLE for step in _all_over(body)),
    ),
    exchange(
        "whole bodies of a delete",
        *(
            step
            for body in _WHOLE
            for step in (
                post("configmaps", _config_map('""'), compared=False),
                delete("configmaps", "one", body),
            )
        ),
    ),
    exchange(
        "bodies of another type",
        *(
            post("blobs", blob_text("{}"), content_type=kind)
            for kind in (
                *("text/plain", "application/xml", "application/cbor", "application/yaml; x=y"),
                *("APPLICATION/JSON", "application/json; charset=latin-1", "json", "*/*", ";"),
                *("application/x-www-form-urlencoded", "multipart/form-data; boundary=a"),
            )
        ),
        *(
            merge("blobs", "one", "{}", content_type=kind)
            for kind in ("application/json", "text/plain", "application/merge-patch+yaml", "")
        ),
    ),
)

_TWICE = (
    '{"v": 1, "v": 2}',
    '{"v": {"a": 1}, "v": {"b": 2}}',
    '{"v": {"a": 1, "a": 2, "a": 3}, "w": [{"b": 1, "b": 2}]}',
    '{"v": 1, "\\u0076": 2}',
    '{"given": 1, "given": "x"}',
    '{"known": {"a": "x", "b": 1, "b": 2}}',
    '{"V": 1, "v": 2}',
)
_REPEATED = tuple(
    exchange(
        f"fields twice, validation {how or 'unsaid'}",
        *(
            post("blobs", blob_text(text, f"b{n}"), fieldValidation=how)
            for n, text in enumerate(_TWICE)
        ),
        post("blobs", blob_text("{}"), compared=False),
        *(merge("blobs", "one", f'{{"spec": {text}}}', fieldValidation=how) for text in _TWICE),
        *(
            post("configmaps", text, fieldValidation=how)
            for text in (
                '{"metadata": {"name": "a"}, "metadata": {"name": "b"}}',
                '{"metadata": {"name": "c"}, "data": {"a": "1", "a": "2"}, "data": {"b": "3"}}',
                '{"metadata": {"name": "d", "labels": {"a": "1"}, "labels": {"b": "2"}}}',
                '{"metadata": {"name": "e"}, "x": {"a": 1, "a": 2}, "x": 1}',
                '{"metadata": {"name": "f"}, "Data": {"a": "1"}, "data": {"b": "2"}}',
            )
        ),
        get("blobs"),
        get("configmaps"),
    )
    for how in ("", "Ignore", "Warn", "Strict")
)

EXCHANGES = (
    *_TEXTS,
    _refused(
        "values that are none",
        _NO_VALUES,
        *(strategic("configmaps", "one", f'{{"data": {{"w": {v}}}}}') for v in _NO_VALUES),
    ),
    _refused("numbers of any size", _NUMBERS),
    *_BODIES,
    *_REPEATED,
)
