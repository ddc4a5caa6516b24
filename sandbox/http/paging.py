"""Pages of lists: what a list asks for, and the continue tokens that lead from page to page.

A page shows the state that the first page showed; the store goes back to it (Store.list, `as_of`).
A page that is full has a token as soon as any object follows, whether it matches or not: nobody has
looked yet. Tokens look like those of kube-apiserver, and are as little of a client's business.
"""

from __future__ import annotations

import binascii
import posixpath
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from sandbox.http.list_options import EXACT, ListOptions, too_large_version, version_number
from sandbox.store.errors import ApiError, bad_request
from sandbox.store.schema_causes import go_type
from sandbox.store.watching import StoredObject

Key = tuple[str, str]  # namespace and name
_WRITTEN_AS = "meta.k8s.io/v1"
_OF_ANY_VERSION = -1  # in a token: go on from here, in the newest state
_INVALID = "invalid continue token: continue key is not valid"
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which state a list shows (None: the newest), after which key, and how much of it."""

    as_of: int | None
    after: Key | None
    limit: int


@dataclass(frozen=True, slots=True)
class Page:
    """The objects of a page; with a token and the number of those that follow, if there are any."""

    items: Sequence[StoredObject]
    token: str = ""
    remaining: int = 0


def wanted(options: ListOptions, current_version: int) -> Wanted:
    """What a list asks for. 400 for what contradicts itself, 504 for the future.

    Version 0 takes what a cache holds, and caches know no limit. With a limit, a version is exact.
    """
    limit = 0 if options.version == "0" else options.limit
    if options.token:
        as_of, after = _read(options.token)
        if options.version not in {"", "0"}:
            raise bad_request("specifying resource version is not allowed when using continue")
        _refuse_future(as_of, current_version)
        return Wanted(as_of if as_of >= 0 else None, after, limit)
    version = version_number(options.version, of_list=True)
    _refuse_future(version or 0, current_version)
    exact = options.match == EXACT or (not options.match and bool(options.limit and version))
    return Wanted(version if exact else None, None, limit)


def _refuse_future(version: int, current_version: int) -> None:
    if version > current_version:
        raise too_large_version(version, current_version)


def page_of(
    objects: Sequence[StoredObject], version: int, wanted_page: Wanted, last: Key | None
) -> Page:
    """The part of the ordered `objects` that was requested; `last` ends the collection."""
    if wanted_page.after is not None:
        objects = [obj for obj in objects if key_of(obj) > wanted_page.after]
    if not wanted_page.limit or len(objects) < wanted_page.limit:
        return Page(objects)
    kept = objects[: wanted_page.limit]
    end = key_of(kept[-1])
    if last is None or last <= end:
        return Page(kept)
    return Page(kept, _token(version, end), len(objects) - len(kept))


def key_of(obj: StoredObject) -> Key:
    """Where an object stands in its collection."""
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


def too_old(wanted_page: Wanted) -> ApiError:
    """410 for a token whose state is forgotten, with one that goes on in the newest state."""
    token = _token(_OF_ANY_VERSION, wanted_page.after or ("", ""))
    return ApiError(410, "Expired", _TOO_OLD, token=token)


def _token(version: int, last: Key) -> str:
    start = "/".join(part for part in last if part) + "\0"
    decoded = {"v": _WRITTEN_AS, "rv": version, "start": start}
    return urlsafe_b64encode(orjson.dumps(decoded)).decode().rstrip("=")


def _read(token: str) -> tuple[int, Key]:
    """The version and the key of a token; 400 in the words of kube-apiserver for any other text."""
    decoded = _decoded(token)
    of_version = "(version meta.k8s.io/v1)"
    if decoded.get("v") != _WRITTEN_AS:
        why = f"server does not recognize this encoded version {decoded.get('v', '')}"
        raise bad_request(f"{_INVALID}: {why}")
    if not decoded.get("rv"):
        raise bad_request(f"{_INVALID}: incorrect encoded start resourceVersion {of_version}")
    start = decoded.get("start", "")
    if not start:
        raise bad_request(f"{_INVALID}: encoded start key empty {of_version}")
    if posixpath.normpath(f"/{start.lstrip('/')}") != f"/{start.removeprefix('/')}":
        raise bad_request(f"{_INVALID}: {start}")
    namespace, _, name = start.removesuffix("\0").rpartition("/")
    return decoded["rv"], (namespace, name)


def _decoded(token: str) -> dict[str, Any]:
    known = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    bad = next((at for at, char in enumerate(token) if char not in known), None)
    try:
        if bad is None:
            text = urlsafe_b64decode(token + "=" * (-len(token) % 4))
            return _checked(orjson.loads(text))
    except orjson.JSONDecodeError as problem:
        raise _unreadable(text) from problem
    except binascii.Error:
        bad = len(token)
    raise bad_request(f"{_INVALID}: illegal base64 data at input byte {bad}")


def _checked(decoded: Any) -> dict[str, Any]:
    kinds = {"v": str, "rv": int, "start": str}
    if decoded is None:
        return {}
    if not isinstance(decoded, dict):
        raise _misfit(decoded, "storage.continueToken")
    for name, kind in kinds.items():
        value = decoded.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            word = "int64" if kind is int else "string"
            raise _misfit(value, word, f"struct field continueToken.{name} of type")
    return decoded


def _misfit(value: Any, kind: str, into: str = "value of type") -> ApiError:
    return bad_request(f"{_INVALID}: json: cannot unmarshal {go_type(value)} into Go {into} {kind}")


def _unreadable(text: bytes) -> ApiError:
    first = text[:1].decode("latin-1")
    return bad_request(f"{_INVALID}: invalid character '{first}' looking for beginning of value")
