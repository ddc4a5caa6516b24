"""The behaviour of a pod: by its annotations, or by a test through the kubelet's port.

Pure. Annotations are `sandbox.millrace.dev/behavior` (run, complete, fail, hang, image-pull-error,
never-ready), `…/after` (a duration such as 2s or 500ms since its start) and `…/exit-code`. A node
knows one behavior: silent. Other values are refused when the object is written (`steering.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sandbox.store import steering

BEHAVIOR, AFTER, EXIT_CODE = steering.BEHAVIOR, steering.AFTER, steering.EXIT_CODE
SILENT = "silent"
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


class Behavior(StrEnum):
    """The ways in which a pod can live."""

    RUN = "run"
    COMPLETE = "complete"  # its containers end with 0
    FAIL = "fail"  # its containers end with another code
    HANG = "hang"  # it runs, and ignores its deletion
    IMAGE_PULL_ERROR = "image-pull-error"  # it never starts
    NEVER_READY = "never-ready"  # it runs, and never gets ready
    EVICT = "evict"  # the kubelet throws it out; by the port only


@dataclass(frozen=True)
class Directive:
    """What a pod does, and how long after its start."""

    behavior: Behavior = Behavior.RUN
    after_s: float = 0.0
    exit_code: int = 0
    message: str = ""


RUN = Directive()


def directive_of(pod: Mapping[str, Any]) -> Directive:
    """What the annotations of a pod say."""
    annotations = pod["metadata"].get("annotations") or {}
    behavior = Behavior(annotations.get(BEHAVIOR, Behavior.RUN))
    default_code = "1" if behavior is Behavior.FAIL else "0"
    code = int(annotations.get(EXIT_CODE, default_code))
    return Directive(behavior, _seconds(annotations.get(AFTER, "0s")), code)


def is_silenced(node: Mapping[str, Any]) -> bool:
    """Whether the annotation of a node says that its kubelet is away."""
    return (node["metadata"].get("annotations") or {}).get(BEHAVIOR) == SILENT


def _seconds(text: str) -> float:
    found = steering.DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{AFTER}: {text} was stored and is no duration")
    return float(found[1]) * _UNITS_S[found[2]]
