"""What is reported on an object that cannot be read, and when the report is withdrawn.

1. An object with conditions of ours says it in its condition Readable, which is there only while it
   is False. No other service writes that condition.
2. Every object gets an Event with the same sentence.
3. A Job is fusion-backend's to refuse, as it refuses every spec that it cannot use: no notice.

Who reads `notice_of` is the shell; whether an object can be read was found before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from contracts.facts import KINDS, Fact
from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import CUSTOM_RESOURCES, unreadable_patch
from contracts.unreadable import Unreadable, part_of

CONDITIONED: Final = frozenset(
    each.kind for each in CUSTOM_RESOURCES if "watch-ingest" in each.status_writers
)
_REFUSED_BY_OTHERS: Final = frozenset(each.kind for each in CUSTOM_RESOURCES) - CONDITIONED
_OBJECT_OF: Final[Mapping[str, str]] = {"BoundPod": "Pod"}
"""Kinds of facts that are named otherwise than the object they speak of."""
_TO_DO: Final = (
    "millrace leaves what runs as it is and reads the object again when it changes:"
    " make it flatter or smaller, or delete it"
)


@dataclass(frozen=True, slots=True)
class Notice:
    """What is to be written about an object: a patch of its status, an Event, or both.

    `why` is the sentence for people; empty where an earlier one is taken back.
    """

    fact: Fact
    why: str
    patch: Mapping[str, Any] | None

    @property
    def kind(self) -> str:
        """The kind of the object, which facts may speak of under another name."""
        return _OBJECT_OF.get(self.fact.kind, self.fact.kind)

    @property
    def ref(self) -> tuple[str, str, str]:
        """(kind, namespace, name)."""
        return (self.kind, self.fact.namespace, self.fact.name)

    @property
    def generation(self) -> int:
        """That of the spec; kinds that do not count generations have one Event in their life."""
        data = self.fact.data
        parts = data.parts if isinstance(data, Unreadable) else data or {}
        return int((parts.get("metadata") or {}).get("generation") or 0)


def notice_of(fact: Fact, now: float) -> Notice | None:
    """The notice that a fact calls for; None for nearly all."""
    data = fact.data
    if data is None or fact.kind in _REFUSED_BY_OTHERS:
        return None
    why = f"{data.why}; {_TO_DO}" if isinstance(data, Unreadable) else ""
    patch = _patch(fact.kind, data, why, now)
    is_reported = patch is None if fact.kind in CONDITIONED else not why
    if is_reported:
        return None
    return Notice(fact, why, patch)


def notice_again(notice: Notice, obj: Mapping[str, Any], now: float) -> Notice | None:
    """The notice that the object calls for as it is now, if it is the same object."""
    meta = obj["metadata"]
    if meta["uid"] != notice.fact.uid:
        return None
    data, version = KINDS[notice.fact.kind].of(obj), int(meta["resourceVersion"])
    return notice_of(replace(notice.fact, resource_version=version, data=data), now)


def _patch(kind: str, data: Mapping[str, Any], why: str, now: float) -> Mapping[str, Any] | None:
    if kind not in CONDITIONED:
        return None
    seen = data
    if isinstance(part_of(data, "status"), Unreadable):
        seen = {"metadata": data["metadata"], "status": {}}
    reason = Reason.OBJECT_UNREADABLE
    return unreadable_patch(seen, reason=reason, why=why, now=moment_of(now))
