"""What an object says of itself, and which objects must say that they cannot be read.

Read from the text that the API server serves, with a reader of its own: no depth harms it, and it
shares nothing with the reader that is tested. Which must say what:

1. A Job that is not being deleted has a phase, and where that is Failed a reason and a message, in
   its status or in condition Accepted. One whose spec nests more than 64 levels deep is Failed, or
   its condition Accepted is False, with reason ObjectUnreadable or EditRefused, or it has an Event
   with the first: the flood itself writes other statuses over those that were there.
2. A ProcessingElement, ParallelRegion, HostPool or Placement whose spec nests more than 64 levels
   deep has condition Readable, which is False and has a reason and a message, and an Event.
3. Any other object of 1 and 2 has no such condition, and no object of other kinds an Event: what
   nobody here reads of it (managedFields, data, labels of no meaning) may be as it wants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

import orjson

LEVELS_MAX = 64
JOBS = "streamsjobs"
CONDITIONED = frozenset({"streamspes", "streamsprs", "streamshostpools", "streamsplacements"})
UNREADABLE = "ObjectUnreadable"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: how deep it nests, and its text."""

    levels: int
    text: bytes


def members_of(text: bytes) -> Mapping[str, Member]:
    """The members of a JSON object, of any depth."""
    found: dict[str, Member] = {}
    depth = levels = begin = 0
    key = ""
    for token in _TOKEN.finditer(text):
        first = token[0][:1]
        if first in b"{[":
            depth += 1
            levels = max(levels, depth - 1)
        elif first in b"}]":
            depth -= 1
        ends_member = (first == b"," and depth == 1) or (first == b"}" and depth == 0)
        if ends_member and key:
            found[key] = Member(levels, text[begin : token.start()])
            key = ""
        elif first == b'"' and depth == 1 and not key:
            key, begin, levels = str(orjson.loads(token[0])), token.end(), 0
        elif first == b":" and depth == 1:
            begin = token.end()
    return found


def problem_of(plural: str, text: bytes, reasons: Set[str]) -> str:
    """What an object ought to say and does not, or says and ought not; `reasons` of its Events."""
    members = members_of(text)
    spec, meta = members.get("spec"), members["metadata"]
    is_deep = spec is not None and spec.levels > LEVELS_MAX
    status = _status_of(members)
    if b'"deletionTimestamp"' in meta.text:
        return ""
    if plural == JOBS:
        return _problem_of_job(status, is_deep=is_deep, has_event=UNREADABLE in reasons)
    said = _condition(status, "Readable")
    if plural in CONDITIONED and is_deep:
        if said.get("status") != "False" or not (said.get("reason") and said.get("message")):
            return f"its spec nests {spec.levels if spec else 0} levels and it says {said}"
        return "" if UNREADABLE in reasons else f"no Event: {sorted(reasons)}"
    return (
        f"it can be read, and it says {said or sorted(reasons)}"
        if (said or UNREADABLE in reasons)
        else ""
    )


def _problem_of_job(status: Mapping[str, Any], *, is_deep: bool, has_event: bool) -> str:
    phase, accepted = status.get("phase"), _condition(status, "Accepted")
    is_refused = accepted.get("status") == "False" and bool(accepted.get("message"))
    says_why = bool(status.get("reason") and status.get("message")) or is_refused
    if not phase or (phase == "Failed" and not says_why):
        return f"it does not say why: {str(status)[:300]}"
    is_over = phase in ("Failed", "Deleting", "Completed")  # or somebody wrote that it is
    says_deep = is_refused and accepted.get("reason") in (UNREADABLE, "EditRefused")
    if is_deep and not (is_over or says_deep or has_event):
        return f"nobody can read its spec, and it is {phase}, {accepted}"
    return ""


def _status_of(members: Mapping[str, Member]) -> Mapping[str, Any]:
    status = members.get("status")
    if status is None or status.levels > LEVELS_MAX:
        return {}
    found: Mapping[str, Any] = orjson.loads(status.text)
    return found


def _condition(status: Mapping[str, Any], wanted: str) -> Mapping[str, Any]:
    conditions = status.get("conditions") or ()
    return next((each for each in conditions if each.get("type") == wanted), {})
