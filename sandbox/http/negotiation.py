"""In which shape a client wants its objects: whole, as a table, or metadata only.

Lives here: reading the Accept header, and the shapes other than tables (tables.py). Discovery
has shapes of its own, which it picks from the same reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sandbox.store.errors import ApiError

PARTIAL = "PartialObjectMetadata"
PARTIAL_LIST = "PartialObjectMetadataList"
TABLE = "Table"
META_API_VERSION = "meta.k8s.io/v1"
_ANY_JSON = frozenset({"application/json", "application/*", "*/*", ""})
_META_VERSIONS = frozenset({"v1", "v1beta1"})
_AVAILABLE = (
    "Available representations: application/json, application/yaml, "
    "application/vnd.kubernetes.protobuf"
)


@dataclass(frozen=True, slots=True)
class MediaType:
    """One entry of an Accept header: the type, and the parameters as, g and v."""

    type: str
    shape: str = ""
    group: str = ""
    version: str = ""


@lru_cache(maxsize=256)
def media_types(accept: str) -> tuple[MediaType, ...]:
    """The entries of an Accept header in the client's order."""
    return tuple(_media_type(part) for part in accept.split(","))


def _media_type(part: str) -> MediaType:
    name, *parameters = (piece.strip() for piece in part.split(";"))
    said = dict(pair.partition("=")[::2] for pair in parameters)
    return MediaType(name, said.get("as", ""), said.get("g", ""), said.get("v", ""))


@lru_cache(maxsize=256)
def shape_of(accept: str) -> str:
    """Empty for whole objects, else Table, PartialObjectMetadata or …List; 406 if none is ours."""
    for media in media_types(accept):
        if media.type not in _ANY_JSON:
            continue
        if not media.shape:
            return ""
        of_meta = media.group == "meta.k8s.io" and media.version in _META_VERSIONS
        if of_meta and media.shape in {TABLE, PARTIAL, PARTIAL_LIST}:
            return media.shape
    raise ApiError(406, "NotAcceptable", f"406: Not Acceptable\n\n{_AVAILABLE}", {})


def not_acceptable(message: str) -> ApiError:
    return ApiError(406, "NotAcceptable", message)


def as_partial(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The object's metadata alone."""
    return {"kind": PARTIAL, "apiVersion": META_API_VERSION, "metadata": obj["metadata"]}
