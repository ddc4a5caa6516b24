"""Pages of lists: what a list asks for, and the continue tokens that lead from page to page.

A page shows the state that the first page showed; the store goes back to it (Store.list, `as_of`).
Tokens look like those of kube-apiserver, and are as little of a client's business.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from sandbox.http.requests import EXACT, Call, check_list, too_large_version
from sandbox.store.errors import ApiError, bad_request
from sandbox.store.watching import StoredObject

_WRITTEN_AS = "meta.k8s.io/v1"
_INVALID = "invalid continue token: continue key is not valid: "


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which state a list shows (None: the newest), after which key, and how much of it."""

    as_of: int | None
    after: tuple[str, str] | None
    limit: int


@dataclass(frozen=True, slots=True)
class Page:
    """The objects of a page; with a token and the number of those that follow, if there are any."""

    items: Sequence[StoredObject]
    token: str = ""
    remaining: int = 0


def wanted(call: Call, current_version: int) -> Wanted:
    """What a list asks for. 422 or 400 for what contradicts itself, 504 for the future."""
    check_list(call)
    limit = max(call.query.number("limit") or 0, 0)
    version = call.version()
    if token := call.query.text("continue"):
        if version:
            raise bad_request("specifying resource version is not allowed when using continue")
        as_of, after = _read(token)
        return Wanted(as_of, after, limit)
    if version and version > current_version:
        raise too_large_version(version, current_version)
    exact = call.query.text("resourceVersionMatch") == EXACT
    return Wanted(version if exact else None, None, limit)


def page_of(objects: Sequence[StoredObject], version: int, asked: Wanted) -> Page:
    """The part of the ordered `objects` that was asked for."""
    if asked.after is not None:
        objects = [obj for obj in objects if _key(obj) > asked.after]
    if not asked.limit or len(objects) <= asked.limit:
        return Page(objects)
    kept = objects[: asked.limit]
    return Page(kept, _token(version, _key(kept[-1])), len(objects) - len(kept))


def _key(obj: StoredObject) -> tuple[str, str]:
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _token(version: int, last: tuple[str, str]) -> str:
    start = "/".join(part for part in last if part) + "\0"
    said = {"v": _WRITTEN_AS, "rv": version, "start": start}
    return urlsafe_b64encode(orjson.dumps(said)).decode().rstrip("=")


def _read(token: str) -> tuple[int, tuple[str, str]]:
    try:
        text = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        said = orjson.loads(text)
        namespace, _, name = said["start"].rstrip("\0").rpartition("/")
        return int(said["rv"]), (namespace, name)
    except orjson.JSONDecodeError as problem:
        raise _unreadable(text) from problem
    except (binascii.Error, KeyError, TypeError, ValueError) as problem:
        raise bad_request(f"{_INVALID}{problem}") from problem


def _unreadable(text: bytes) -> ApiError:
    first = text[:1].decode("latin-1")
    return bad_request(f"{_INVALID}invalid character '{first}' looking for beginning of value")
