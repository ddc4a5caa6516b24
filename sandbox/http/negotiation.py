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
_AVAILABLE_TYPES = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_STREAMS = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


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
    values = dict(pair.partition("=")[::2] for pair in parameters)
    return MediaType(name, values.get("as", ""), values.get("g", ""), values.get("v", ""))


@lru_cache(maxsize=256)
def shape_of(accept: str) -> str | None:
    """Empty for whole objects, else Table, PartialObjectMetadata or …List; None if none is ours."""
    requested = _requested(accept)
    return None if requested is None else requested.shape


@lru_cache(maxsize=256)
def version_of_shape(accept: str) -> str:
    """The apiVersion of the shape that was requested."""
    requested = _requested(accept)
    return f"meta.k8s.io/{requested.version}" if requested and requested.shape else META_API_VERSION


def _requested(accept: str) -> MediaType | None:
    """The first entry that can be served."""
    for media in media_types(accept):
        of_meta = media.group == "meta.k8s.io" and media.version in _META_VERSIONS
        is_ours = not media.shape or (of_meta and media.shape in {TABLE, PARTIAL, PARTIAL_LIST})
        if media.type in _ANY_JSON and is_ours:
            return media
    return None


def unacceptable(*, custom: bool, of_list: bool) -> ApiError:
    """406, naming what is served: of custom resources in other words, of lists also streams."""
    if custom:
        return not_acceptable(f"only the following media types are accepted: {_AVAILABLE_TYPES}")
    streams = _STREAMS if of_list else ""
    text = f"406: Not Acceptable\n\nAvailable representations: {_AVAILABLE_TYPES}{streams}"
    return ApiError(406, "NotAcceptable", text, {})


def not_acceptable(message: str) -> ApiError:
    return ApiError(406, "NotAcceptable", message)


def as_partial(obj: Mapping[str, Any], api_version: str = META_API_VERSION) -> dict[str, Any]:
    """The object's metadata alone."""
    return {"kind": PARTIAL, "apiVersion": api_version, "metadata": obj["metadata"]}
