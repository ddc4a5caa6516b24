"""Values that somebody sends who means no good or knows no better, and where they are put.

Everything is drawn from one `random.Random`, so a seed says all. Values from a schema are made
here as well: what fits it, at its limits, so that the server takes it and the services meet it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

Json = Any
DEEP = 700
"""Below what JSON readers refuse (1,024), and near Python's own limit of recursion (1,000)."""

NUMBERS: tuple[Json, ...] = (
    *(0, -1, 1, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30),
    *(1.5, 1e308, -0.0, 1e-320),
)
TEXTS: tuple[str, ...] = (
    *("", " ", "\n", "x\n", "a\tb", "\x00", "\ud800", "９", "٣", "é" * 200, "ﬀ", "\u202e", "𝕏"),
    *("9e990000", "1e-990000", "9" * 400, "-1", "0x10", "1_000", "NaN", "Infinity", "1e400"),
    *("null", "true", "{}", "[]", "%s%n", "${HOME}", "{{.}}", "; rm -rf /", "<!ENTITY a 'b'>"),
    *("../../etc/passwd", "/etc/passwd", "a/b/c/d", "-", ".", "..", "-a", "A", "a" * 64, "a" * 254),
    *("a" * 5_000, "2026-13-45T99:99:99Z", "9999-12-31T23:59:59Z", "0000-00-00T00:00:00Z"),
)
QUANTITIES: tuple[Json, ...] = ("1", "100m", "1Gi", "9e990000", "1e-990000", 2, "-1", "5Ei", "0")


def deep(levels: int = DEEP) -> Json:
    """A list in a list in a list."""
    nested: Json = []
    for _ in range(levels):
        nested = [nested]
    return nested


def value(dice: random.Random) -> Json:
    """Any of them; seldom one that is deep or large."""
    match dice.randrange(20):
        case 0:
            return deep(dice.choice((3, 100, DEEP)))
        case 1:
            return {dice.choice(TEXTS): dice.choice(TEXTS) for _ in range(dice.randrange(5))}
        case 2:
            return [dice.choice(TEXTS) for _ in range(dice.randrange(5))]
        case 3 | 4:
            return dice.choice((None, True, False))
        case 5 | 6 | 7 | 8 | 9:
            return dice.choice(NUMBERS)
    return dice.choice(TEXTS)


def damaged(dice: random.Random, good: Json, *, places: int = 1) -> Json:
    """`good`, changed: hostile values at so many places, or something missing or doubled."""
    result = good
    for _ in range(places):
        place = _place(dice, result)
        if place is None:
            return value(dice)
        container, key = place
        match dice.randrange(5):
            case 0:
                del container[key]
            case 1:
                container[key] = [container[key], container[key]]
            case 2:
                container[key] = str(container[key])
            case _:
                container[key] = value(dice)
    return result


def _place(dice: random.Random, tree: Json) -> tuple[Any, Any] | None:
    """A random member of a random container; the deeper ones are as likely as the others."""
    places: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack:
        each = stack.pop()
        members = each.items() if isinstance(each, dict) else enumerate(each)
        for key, member in list(members):
            places.append((each, key))
            if isinstance(member, dict | list):
                stack.append(member)
    return dice.choice(places) if places else None


# --------------------------------------------------------------------------- what fits a schema


def fitting(dice: random.Random, schema: Mapping[str, Any]) -> Json:
    """A value that fits a structural schema, at its limits more often than not."""
    if schema.get("nullable") and dice.random() < 0.1:
        return None
    if "enum" in schema:
        return dice.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return dice.choice(QUANTITIES)
    match schema.get("type"):
        case "object":
            return _object(dice, schema)
        case "array":
            most = min(int(schema.get("maxItems", 3)), 3)
            return [fitting(dice, schema["items"]) for _ in range(dice.randint(0, most))]
        case "boolean":
            return dice.random() < 0.5
        case "integer" | "number":
            low, high = schema.get("minimum", -3), schema.get("maximum", 2**63 - 1)
            return dice.choice((low, low + 1, min(low + 7, high), min(high, 2**31), high))
    return _text(dice, schema)


def _object(dice: random.Random, schema: Mapping[str, Any]) -> Json:
    required = schema.get("required", ())
    made = {
        name: fitting(dice, each)
        for name, each in schema.get("properties", {}).items()
        if name in required or dice.random() < 0.25
    }
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        made |= {f"k{n}": fitting(dice, others) for n in range(dice.randrange(3))}
    return made


def _text(dice: random.Random, schema: Mapping[str, Any]) -> str:
    low, high = int(schema.get("minLength", 0)), int(schema.get("maxLength", 5_000))
    if schema.get("format") == "date-time":
        return dice.choice(("2026-11-20T00:00:00Z", "9999-12-31T23:59:59Z"))
    found = [text for text in (*TEXTS, "x", "default", "good-0") if low <= len(text) <= high]
    plain = ["x" * min(max(low, 1), high), "name"]
    return dice.choice(found if found and dice.random() < 0.5 else plain)
