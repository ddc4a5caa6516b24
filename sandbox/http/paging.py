"""Pages of lists: what a list asks for, and the continue tokens that lead from page to page.

A page shows the state that the first page showed; the store goes back to it (Store.list, `as_of`).
A page that is full has a token as soon as any object follows, whether it matches or not: nobody has
looked yet. Tokens look like those of kube-apiserver, and are as little of a client's business.
"""

from __future__ import annotations

import posixpath
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from sandbox.http.list_options import EXACT, ListOptions, too_large_version, version_number
from sandbox.store.errors import ApiError, bad_request
from sandbox.store.watching import StoredObject

Key = tuple[str, str]  # namespace and name
_WRITTEN_AS = "meta.k8s.io/v1"
_OF_ANY_VERSION = -1  # in a token: go on from here, in the newest state
_INVALID = "the continue token is not one of this server; list again without it"
_TOO_OLD = (
    "the state that the list began with is forgotten; list again, or go on in the newest state "
    "with the token of this answer"
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
    """The version and the key of a token; 400 for any other text."""
    try:
        text = b64decode(token + "=" * (-len(token) % 4), altchars="-_", validate=True)
        decoded = orjson.loads(text)
        writer, version, start = decoded["v"], decoded["rv"], decoded["start"]
    except (ValueError, KeyError, TypeError) as problem:
        raise bad_request(_INVALID) from problem
    is_ours = writer == _WRITTEN_AS and isinstance(start, str) and type(version) is int
    if not (is_ours and start and version) or _is_crooked(start):
        raise bad_request(_INVALID)
    namespace, _, name = start.removesuffix("\0").rpartition("/")
    return version, (namespace, name)


def _is_crooked(path: str) -> bool:
    return posixpath.normpath(f"/{path.lstrip('/')}") != f"/{path.removeprefix('/')}"
