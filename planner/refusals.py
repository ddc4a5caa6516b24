"""The one error a planner may end in: the request cannot be planned, and why.

A refusal is about the input (bundle, job spec, widths), never about us: the same request is refused
again, so nobody retries it. What is not a `PlanRefused` is a defect.
"""

from __future__ import annotations

import re

from contracts.reasons import Reason
from contracts.showing import counted, shown

__all__ = ["PlanRefused", "counted", "shown"]  # a sentence of a refusal needs all three

REFUSAL_CHARS_MAX = 16_384
"""Of a message: it stands in statuses, beside other words, which have limits of their own."""
_CODE = re.compile(r"\((CDISR[0-9]{4}E)[,)]")


class PlanRefused(Exception):
    """The plan cannot be made.

    `reason` goes into the condition; `field` is the path of the culprit in plain words (for example
    `spec.submissionTimeValues.width1` or `hostPool "gpu"`), `value` what it holds, shortened.
    """

    def __init__(self, reason: Reason, *, field: str, value: object, message: str) -> None:
        """A refusal; the message names field and value already."""
        self.message = shown(message, REFUSAL_CHARS_MAX)
        super().__init__(self.message)
        self.reason = reason
        self.field = shown(field, REFUSAL_CHARS_MAX // 2)
        self.value = shown(value)

    @property
    def code(self) -> str:
        """The original's message id where there is one, else the reason."""
        found = _CODE.search(self.message)
        return found.group(1) if found else self.reason.value

    def within(self, field: str, value: object) -> PlanRefused:
        """The same refusal, for the field of the Job's spec that brought the culprit in."""
        message = f"{field}: {shown(value)}: {self.message}"
        return PlanRefused(self.reason, field=field, value=value, message=message)

    def __reduce__(self) -> tuple[object, ...]:
        """Survives the way back from a worker process."""
        return (_revive, (self.reason.value, self.field, self.value, self.message))


def _revive(reason: str, field: str, value: str, message: str) -> PlanRefused:
    return PlanRefused(Reason(reason), field=field, value=value, message=message)  # type: ignore[call-arg]
