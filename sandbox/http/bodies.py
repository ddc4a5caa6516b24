"""Bodies of requests: from bytes to values, with the refusals of kube-apiserver.

What is deep is folded here (folding.py), so that nothing behind has to know how deep a body was.
"""

from __future__ import annotations

from typing import Any

import orjson
import yaml

from sandbox.store import json_text
from sandbox.store.errors import bad_request
from sandbox.store.folding import SHALLOW_BRACKETS_MAX, folded, is_deep, measured, written
from sandbox.store.json_text import DEPTH_MAX, TooLarge, Unreadable
from sandbox.store.resources import ResourceType


def json_object(body: bytes, rt: ResourceType) -> Any:
    """The body of a POST or PUT."""
    try:
        sent = decoded(body, to_doubles=rt.custom)
        if rt.custom or len(written(sent)) == len(body):
            return sent
        whole = json_text.parsed(body, _into_one)
        return folded(whole) if is_deep(whole) else whole
    except TooLarge as number:
        raise bad_request(f"the number {number} is too large") from number
    except Unreadable as problem:
        raise bad_request(f"the body is not JSON: {problem}") from problem


def _into_one(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Where a struct of Go meets an object twice, it fills the one it has."""
    found = dict(members)
    if len(found) == len(members):
        return found
    found = {}
    for name, value in members:
        there: Any = found.get(name)
        both = isinstance(there, dict) and isinstance(value, dict)
        found[name] = {**there, **value} if both else value
    return found


def json_patch_body(body: bytes) -> Any:
    """The body of a PATCH."""
    try:
        return decoded(body, to_doubles=True)
    except TooLarge as number:
        raise bad_request(f"the number {number} is too large") from number
    except Unreadable as problem:
        raise bad_request(f"the patch is not JSON: {problem}") from problem


def decoded(body: bytes, *, to_doubles: bool = False) -> Any:
    """The value of a text; what ordinary readers refuse is read slowly.

    Raises Unreadable and, where all numbers have to be doubles, TooLarge.
    """
    try:
        sent = orjson.loads(body)
    except orjson.JSONDecodeError:
        whole = json_text.parsed(body, to_doubles=to_doubles)
        if not is_deep(whole):
            return whole
        sent, depth = measured(whole)
        if depth > DEPTH_MAX:
            json_text.refuse_depth()
        return sent
    if body.count(b"{") + body.count(b"[") > SHALLOW_BRACKETS_MAX and is_deep(sent):
        return folded(sent)
    return sent


def yaml_object(body: bytes) -> Any:
    """YAML as JSON can say it: what has no JSON form is refused here and not deep in the store."""
    try:
        if max(body.count(b"{") + body.count(b"["), body.count(b"\n")) < SHALLOW_BRACKETS_MAX:
            return decoded(orjson.dumps(_loaded(body), default=str))
        read = json_text.far_down(lambda: _loaded(body))
        return folded(read) if is_deep(read) else decoded(orjson.dumps(read, default=str))
    except (yaml.YAMLError, orjson.JSONEncodeError, RecursionError, Unreadable) as problem:
        raise bad_request(f"the body is not YAML: {problem}") from problem


def _loaded(body: bytes) -> Any:
    return yaml.load(body, _PlainLoader)  # noqa: S506 - a safe loader without time stamps


class _PlainLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML without time stamps: Kubernetes reads them as strings."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
