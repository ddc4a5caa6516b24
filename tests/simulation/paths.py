"""Paths of requests, read and changed."""

from __future__ import annotations

from urllib.parse import urlsplit


def plural_of(path: str) -> str:
    """The resource of a collection."""
    return urlsplit(path).path.rpartition("/")[2]


def with_query(path: str, key: str, value: str) -> str:
    """The path with one part of its query set."""
    start, _, query = path.partition("?")
    others = [part for part in query.split("&") if part and not part.startswith(f"{key}=")]
    return f"{start}?{'&'.join([*others, f'{key}={value}'])}"
