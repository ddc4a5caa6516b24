"""Annotations that steer what the sandbox simulates: their words, and what is wrong with a value.

They are the only ones that the sandbox checks beyond Kubernetes: a misspelled value would have no
effect, and a test that relies on it would show nothing. docs/sandbox.md describes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sandbox.store.errors import Cause, invalid_value, not_supported
from sandbox.store.quantities import BadQuantity, amount

PREFIX: Final = "sandbox.millrace.dev/"
BEHAVIOR: Final = f"{PREFIX}behavior"
AFTER: Final = f"{PREFIX}after"
EXIT_CODE: Final = f"{PREFIX}exit-code"
LOG: Final = f"{PREFIX}log"
"""The text of the log of a pod that is played."""
CPU: Final = f"{PREFIX}cpu"
"""How much CPU the pod uses, or the node beside its pods; `played_cpu.py` reads it."""
CPU_MAX: Final = 1_000_000
EXIT_CODE_MAX: Final = 255
DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
BEHAVIORS: Final[Mapping[str, tuple[str, ...]]] = {
    "pods": ("complete", "fail", "hang", "image-pull-error", "never-ready", "run"),
    "nodes": ("silent",),
}
"""Values of the annotation by kind; those of `sandbox/controllers/behaviors.py`."""
_WORDS: Final = {"pods": (AFTER, BEHAVIOR, CPU, EXIT_CODE, LOG), "nodes": (BEHAVIOR, CPU)}


def steering_causes(kind: str, obj: Mapping[str, Any]) -> Iterator[Cause]:
    """Annotations of a pod or a node under our prefix that have another name or value."""
    for name, value in ((obj.get("metadata") or {}).get("annotations") or {}).items():
        if not name.startswith(PREFIX) or kind not in _WORDS:
            continue
        field = f"metadata.annotations[{name}]"
        if name not in _WORDS[kind]:
            yield not_supported("metadata.annotations", name, _WORDS[kind])
        elif name == BEHAVIOR and value not in BEHAVIORS[kind]:
            yield not_supported(field, value, BEHAVIORS[kind])
        elif name == AFTER and not DURATION.fullmatch(value):
            yield invalid_value(field, value, "must be a duration such as 2s or 500ms")
        elif name == EXIT_CODE and not _is_exit_code(value):
            yield invalid_value(field, value, f"must be a number from 0 to {EXIT_CODE_MAX}")
        elif name == CPU and not _is_cpu(value):
            detail = f"must be a quantity of CPU such as 250m or 1.5, at most {CPU_MAX}"
            yield invalid_value(field, value, detail)


def _is_exit_code(text: str) -> bool:
    return text.isdecimal() and int(text) <= EXIT_CODE_MAX


def _is_cpu(text: str) -> bool:
    try:
        return 0 <= amount(text) <= CPU_MAX
    except BadQuantity:
        return False
