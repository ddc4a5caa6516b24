"""JSON paths of printer columns: `.status.phase`, `.labels['a.b']`, `[?(@.type=="X")].status`.

Lives here: parsing and evaluation of the subset that CRDs use; a path is parsed once. What a
value looks like in a table is decided in tables.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

Step = Callable[[Any], Iterable[Any]]
_TOKEN = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\]\\])+)
      | \[\?\(@\.(?P<key>[\w.\-/]+)\s*==\s*(?P<quote>["'])(?P<wanted>.*?)(?P=quote)\)\]
      | \[(?P<index>-?\d+)\]
      | \[(?P<q>["'])(?P<name>.*?)(?P=q)\]
      | (?P<all>\[\*\]|\.\*)""",
    re.VERBOSE,
)


def find_all(path: str, obj: Any) -> list[Any]:
    """Every value at a path, in order; empty where nothing is there."""
    found = [obj]
    for step in _steps(path):
        found = [value for item in found for value in step(item)]
    return found


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    text = text if text.startswith((".", "[")) else f".{text}"
    steps, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return (lambda _: (),)  # what cannot be read selects nothing, as in an empty cell
        steps.append(_step(token))
        at = token.end()
    return tuple(steps)


def _step(token: re.Match[str]) -> Step:
    if token["all"]:
        return _children
    if token["index"] is not None:
        at = int(token["index"])
        return lambda item: item[at : at + 1 or None] if isinstance(item, list) else ()
    if token["key"] is not None:
        key, wanted = token["key"].split("."), token["wanted"]
        return lambda item: [child for child in _children(item) if _at(child, key) == wanted]
    name = token["name"]
    if name is None:
        name = re.sub(r"\\(.)", r"\1", token["field"])
    return lambda item: (item[name],) if isinstance(item, Mapping) and name in item else ()


def _children(item: Any) -> Iterable[Any]:
    if isinstance(item, Mapping):
        return item.values()
    return item if isinstance(item, list) else ()


def _at(item: Any, keys: list[str]) -> Any:
    for key in keys:
        if not isinstance(item, Mapping):
            return None
        item = item.get(key)
    return item
