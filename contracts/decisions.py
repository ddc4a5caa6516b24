"""What a service did and why: records for people and tools; no correctness rests on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DECISION_TYPE = "com.ibm.streams.decision"


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """One effect of a decision: its name, the object it is for, and how it ended."""

    name: str
    subject: str
    outcome: str


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision of one service about one key; `cause` is the id of the fact that led to it."""

    service: str
    key: str
    reason: str
    effects: tuple[EffectRecord, ...] = ()
    cause: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object."""
        return {
            "service": self.service,
            "key": self.key,
            "reason": self.reason,
            "effects": [
                {"name": e.name, "subject": e.subject, "outcome": e.outcome} for e in self.effects
            ],
            "cause": self.cause,
            "detail": dict(self.detail),
        }
