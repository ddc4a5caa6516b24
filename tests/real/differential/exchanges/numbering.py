"""Numbers in custom resources, in all their spellings: what counts as whole, and what is stored."""

from __future__ import annotations

from tests.real.differential.objects import dial_text, widget
from tests.real.differential.steps import Exchange, exchange, get, json_patch, merge, post

COVERS = (
    "sandbox/store/numbers.py",
    "sandbox/store/number_checks.py",
    "sandbox/store/quantities.py",
)

_NUMBERS = (
    *("1", "1.0", "1.5", "1e3", "1E3", "0.1e1", "-0", "-0.0", "-1", "-1.5", "101", "101.0", "3.5"),
    *("1e5", "1e6", "1234567.0", "1e15", "1e16", "1e20", "1e-5", "1e-400", "1.0000000001"),
    *("2147483647", "2147483648", "-2147483648", "-2147483649", "4e9", "9007199254740993"),
    *("9007199254740991.0", "9007199254740992.0", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "-9223372036854775809", "9.2233720368547758e18"),
    *("18446744073709551615", "18446744073709551616", f"1{'0' * 30}", f"-1{'0' * 30}", "1e300"),
)
_OTHERS = ('"1"', "true", "null", "[]", "{}", "[1.0]", "[1.5]", '[1, "a", 1.5]', "[null]")
_REPEATED = ("[1, 1.0]", "[1.0, 1.0]", "[1.5, 1.5]", '{"a": 1.0}', '{"a": 1.5}', '{"a": null}')
_FIELDS = (
    *("any", "int32", "int64", "unit", "small", "open", "chosen", "maybe", "given", "either"),
    *("ratio", "float", "bounded", "list", "bag", "table", "text", "flag", "word", "free"),
)
_CHANGED = ("1.0", "1", "2.0", "1e3", "1.5", "9223372036854775808", '"1"', "true", "null")


def _said_at_once(field: str) -> Exchange:
    """A Dial for every spelling in one field."""
    return exchange(
        f"numbers of {field}",
        *(
            post("dials", dial_text(f'{{"{field}": {text}}}', f"n{number}"))
            for number, text in enumerate((*_NUMBERS, *_OTHERS, *_REPEATED))
        ),
    )


def _operations(path: str, text: str) -> str:
    return f'[{{"op": "replace", "path": "{path}", "value": {text}}}]'


EXCHANGES = (
    *(_said_at_once(field) for field in _FIELDS),
    exchange(
        "numbers in a merge patch",
        post("dials", dial_text('{"any": 1, "free": {"a": 1.0}}')),
        *(merge("dials", "one", f'{{"spec": {{"any": {text}}}}}') for text in _CHANGED),
        *(merge("dials", "one", f'{{"spec": {{"list": [1, {text}]}}}}') for text in _CHANGED),
        *(merge("dials", "one", f'{{"spec": {{"free": {text}}}}}') for text in _CHANGED),
        get("dials", "one"),
    ),
    exchange(
        "numbers in a JSON patch",
        post("dials", dial_text('{"any": 1, "list": [1]}')),
        *(json_patch("dials", "one", _operations("/spec/any", text)) for text in _CHANGED),
        *(json_patch("dials", "one", _operations("/spec/list/0", text)) for text in _CHANGED),
        get("dials", "one"),
    ),
    exchange(
        "numbers in a status",
        post("dials", dial_text('{"any": 1}')),
        *(
            merge("dials", "one", f'{{"status": {{"count": {text}}}}}', "status")
            for text in _CHANGED
        ),
        get("dials", "one"),
    ),
    exchange(
        "a rule on a whole number with a point",
        post("widgets", widget(spec={"size": 1, "low": 1.0, "high": 2})),
    ),
    exchange(
        "numbers in a test of a JSON patch",
        post("dials", dial_text('{"any": 1000, "flag": true}'), compared=False),
        *(
            json_patch("dials", "one", _operations(path, text).replace("replace", "test"))
            for path, text in (
                *(("/spec/any", text) for text in ("1000", "1000.0", "1e3", "1001", '"1000"')),
                *(("/spec/flag", text) for text in ("1", "true", "false")),
            )
        ),
    ),
)
