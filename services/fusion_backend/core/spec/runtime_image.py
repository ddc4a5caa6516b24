"""The image that PEs of an application in Python run in, and what a Job asks of it for nothing.

The image is written into a PE when it is made, or when a resize changes its content. A PE that runs
keeps its image, whatever the setting says later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from contracts.runtime_image import is_our_runtime

Json = Mapping[str, Any]

_FOR_ANOTHER: Final = ("buildType", "runWithValgrind", "allowPtrace")
"""Fields that choose between builds of the original's runtime, or are for its debuggers."""


def image_of(spec: Json, *, is_python: bool, runtime_image: str) -> str:
    """The image of the PEs of a Job's spec; empty where pod-state-machine chooses it."""
    given = (spec.get("processingElement") or {}).get("image")
    return str(given or (runtime_image if is_python else ""))


def with_image(spec: Json, image: str) -> Json:
    """The spec, whose PEs get this image; unchanged where it is empty."""
    if not image:
        return spec
    template = spec.get("processingElement") or {}
    return {**spec, "processingElement": {**template, "image": image}}


def without_effect(spec: Json, image: str) -> Iterator[str]:
    """A sentence for each field of the spec that the runtime in this image ignores."""
    template = spec.get("processingElement") or {}
    for field in _FOR_ANOTHER if is_our_runtime(image) else ():
        if template.get(field):
            yield f"processingElement.{field} has no effect: {image} is one build without debugger"
