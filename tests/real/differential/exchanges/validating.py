"""What a schema and its rules refuse: types, limits, defaults, pruning, CEL, transitions."""

from __future__ import annotations

from typing import Any

from tests.real.differential.objects import widget
from tests.real.differential.steps import Exchange, exchange, merge, post

COVERS = (
    "sandbox/store/validation.py",
    "sandbox/store/rule*",
    "sandbox/store/schemas.py",
    "contracts/resources/*",
)

_SPECS: tuple[dict[str, Any], ...] = (
    {"size": 1},
    {},
    {"size": 0},
    {"size": 101},
    {"size": "1"},
    {"size": 1.5},
    {"size": 2.0},
    {"size": None},
    {"size": True},
    {"size": 1, "mode": "other"},
    {"size": 1, "mode": None},
    {"size": 1, "name": "a"},
    {"size": 1, "name": "abcdefghi"},
    {"size": 1, "name": "AB"},
    {"size": 1, "note": None},
    {"size": 1, "ratio": 1},
    {"size": 1, "ratio": "x"},
    {"size": 1, "even": 3},
    {"size": 1, "flag": "yes"},
    {"size": 1, "at": "yesterday"},
    {"size": 1, "at": "2026-01-01T00:00:00Z"},
    {"size": 1, "amount": "5%"},
    {"size": 1, "amount": 5},
    {"size": 1, "amount": 1.5},
    {"size": 1, "free": {"any": {"thing": [1]}}},
    {"size": 1, "tags": ["a", "b", "c", "d"]},
    {"size": 1, "tags": [1]},
    {"size": 1, "tags": "a"},
    {"size": 1, "bag": ["a", "a"]},
    {"size": 1, "parts": [{"name": "a"}, {"name": "b", "weight": 1}]},
    {"size": 1, "parts": [{"weight": 1}]},
    {"size": 1, "parts": [{"name": "a"}, {"name": "a"}]},
    {"size": 1, "labels": {"a": "b"}},
    {"size": 1, "labels": {"a": 1}},
    {"size": 1, "labels": {"a": "1", "b": "2", "c": "3"}},
    {"size": 1, "nested": {}},
    {"size": 1, "nested": None},
    {"size": 1, "nested": {"depth": None, "x": 1}},
    {"size": 1, "low": 2, "high": 1},
    {"size": 1, "low": 1, "high": 2},
    {"size": 1, "short": "abcdefgh"},
    {"size": 0, "low": 2, "high": 1},
    {"size": 1, "name": "A", "tags": [1, 2, 3, 4]},
    {"size": 9223372036854775807},
    {"size": 1, "once": "x" * 21},
)
_CHANGES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"once": "a"}, {"once": "b"}),
    ({"once": "a"}, {"once": None}),
    ({"once": "a"}, {"once": "a", "size": 2}),
    ({"count": 2}, {"count": 1}),
    ({"count": 2}, {"count": 3}),
    ({"count": 2}, {"count": None}),
    ({"low": 1, "high": 2}, {"low": 3}),
    ({"short": "abcd"}, {"short": "abcde"}),
)


def _changed(number: int, before: dict[str, Any], after: dict[str, Any]) -> Exchange:
    return exchange(
        f"a rule on a change {number}",
        post("widgets", widget(spec={"size": 1, **before}), compared=False),
        merge("widgets", "one", {"spec": after}),
    )


EXCHANGES = (
    *(
        exchange(f"schema of a widget {i}", post("widgets", widget(spec=s)))
        for i, s in enumerate(_SPECS)
    ),
    *(_changed(i, before, after) for i, (before, after) in enumerate(_CHANGES)),
)
