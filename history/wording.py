"""Entries in plain words: what was seen, observed or decided, about which object, and why.

saw       Pod/j-0-ac6a314052: phase Running on node-0
decided   ProcessingElement/j-0: FirstLaunch, the first launch; CreatePod j-0-ac6a314052: created
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.belonging import is_root
from contracts.decisions import DecisionRecord, EffectRecord
from contracts.facts import Fact, FactType
from contracts.reasons import reason_of
from contracts.resources import JOB
from contracts.showing import shown
from contracts.unreadable import Unreadable
from history.belonging import ref_of, service_of
from history.entries import Decided, Entry, Gap, Observed, Seen, Unread
from services.chassis.kube.writing import Outcome
from services.roster import SERVICES

EFFECTS_WORDED_MAX: Final = 5
_JOB_KEY: Final = re.compile(r"\w+\(namespace='(?P<namespace>[^']*)', name='(?P<name>[^']*)'\)")
_KINDED_KEY: Final = re.compile(r"(?P<kind>[A-Z]\w+)/(?:[^/]*/)?(?P<name>[^/]+)")
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DONE: Final = frozenset({*map(str, Outcome), "begun"})
_KEYS_OF: Final = {row.name: row.objects[0] for row in SERVICES if row.objects}
"""What a key without a kind is, by the service that decides on it."""


@dataclass(frozen=True, slots=True)
class Worded:
    """An entry in words: `what` happened, to the object `about`, in `text`; `why` may be empty."""

    time_s: float
    service: str
    what: str
    about: str
    text: str
    why: str = ""

    @property
    def line(self) -> str:
        """All but the time and the service, as one line."""
        why = f" ({self.why})" if self.why else ""
        about = f"{self.about}: " if self.about else ""
        return f"{about}{self.text}{why}"


def worded(entry: Entry, *, why: str = "", before: Mapping[str, Any] | None = None) -> Worded:
    """An entry in words; `before` is what was seen of its object before, if anything."""
    service = service_of(entry)
    match entry:
        case Seen():
            about = object_of(entry)
            return Worded(entry.time_s, service, "saw", about, _fact_in_words(entry, before), why)
        case Decided():
            about, text = object_of(entry), decision_in_words(entry.decision)
            return Worded(entry.time_s, service, "decided", about, text, why)
        case Observed():
            about, text = object_of(entry), _observation_in_words(entry)
            return Worded(entry.time_s, service, "observed", about, text, why)
        case Unread():
            text = f"the record {entry.place} cannot be read: {shown(entry.why)}"
            return Worded(entry.time_s, service, "unread", "", text)
        case Gap():
            text = f"{entry.partition} from {entry.first} to {entry.end - 1}: {entry.why}"
            return Worded(entry.time_s, service, "gap", "", text)


def object_of(entry: Entry) -> str:
    """`<kind>/<name>` of the object that an entry is about; empty if there is not one."""
    match entry:
        case Seen(fact=Fact() as fact):
            return f"{fact.kind}/{fact.name}"
        case Decided():
            return key_in_words(entry.decision.service, entry.decision.key)
        case Observed():
            ref = ref_of(entry.observation.content)
            return f"{ref[0]}/{ref[2]}" if ref else ""
        case _:
            return ""


def key_in_words(service: str, key: str) -> str:
    """What a service decided on, as `<kind>/<name>`."""
    if found := _JOB_KEY.fullmatch(key):
        return f"{JOB.kind}/{found['name']}"
    if found := _KINDED_KEY.fullmatch(key):
        return f"{found['kind']}/{found['name']}"
    namespace, _, name = key.partition("/")
    if not namespace:
        return shown(name)
    if "/" in name:  # another root, or the pods of the uid of one
        first, second, *_ = name.split("/")
        return f"{first}/{second}" if is_root(first) else f"{JOB.kind}/{first}"
    return f"{_KEYS_OF.get(service, 'Object')}/{shown(name)}"


# --------------------------------------------------------------------------- decisions


def decision_in_words(decision: DecisionRecord) -> str:
    """The reason with its sentence, and the effects with their outcomes."""
    message = decision.detail.get("message")
    known = reason_of(decision.reason)
    sentence = shown(message) if message else known.sentence if known else ""
    head = f"{decision.reason}: {sentence}" if sentence else decision.reason
    return " ".join((head, *_effects_in_words(decision)))


def _effects_in_words(decision: DecisionRecord) -> Iterator[str]:
    failed_first = sorted(decision.effects, key=lambda effect: effect.outcome in _DONE)
    for effect in failed_first[:EFFECTS_WORDED_MAX]:
        yield f"→ {effect_in_words(effect)}"
    more = len(decision.effects) - EFFECTS_WORDED_MAX
    if more > 0:
        yield f"→ {more} more"


def effect_in_words(effect: EffectRecord) -> str:
    """What an effect did, to which object, and how it ended."""
    name = _CAPITAL.sub(" ", effect.name).lower()
    subject = f" {shown(effect.subject)}" if effect.subject else ""
    return f"{name}{subject}: {shown(effect.outcome)}"


# --------------------------------------------------------------------------- facts


def _fact_in_words(entry: Seen, before: Mapping[str, Any] | None) -> str:
    fact = entry.fact
    if not isinstance(fact, Fact):
        kind = "a full list" if fact.full else "a comparison"
        return f"{kind} of {fact.kind} is complete"
    if fact.type is FactType.DELETION:
        return "is gone"
    if isinstance(fact.data, Unreadable):
        return f"cannot be read: {shown(fact.data.why)}"
    now = state_of(fact)
    if fact.type is FactType.ADDITION and before is None:
        return f"exists, {now}" if now else "exists"
    changed = _changed(before or {}, fact.data or {})
    if before is None:
        return now or "changed"
    parts = f"{', '.join(changed)} changed" if changed else "changed, not in what decisions use"
    is_other = now and now != _state(fact.kind, before)
    return now if is_other else f"{parts}, {now}" if now else parts


def state_of(fact: Fact) -> str:
    """The state of the object of a fact in a few words; empty where its kind has none."""
    return _state(fact.kind, fact.data or {})


def _state(kind: str, data: Mapping[str, Any]) -> str:
    found: list[str] = []
    metadata = _part(data, "metadata")
    if metadata.get("deletionTimestamp"):
        found.append("being deleted")
    match kind:
        case "Pod" | "BoundPod":
            found += _pod_state(data)
        case "Node":
            found.append("ready" if data.get("ready") else "not ready")
            if data.get("unschedulable"):
                found.append("closed to new pods")
            found += [f"taint {_part_text(taint)}" for taint in data.get("taints") or ()]
        case _:
            status = _part(data, "status")
            found += _status_state(status)
    return ", ".join(found)


def _pod_state(data: Mapping[str, Any]) -> Iterator[str]:
    if data.get("phase"):
        yield f"phase {shown(data['phase'])}"
    if data.get("node"):
        yield f"on {shown(data['node'])}"
    if data.get("reason") or data.get("message"):
        yield _reason_text(data)
    for each in data.get("conditions") or ():
        if isinstance(each, Mapping) and each.get("status") == "False" and each.get("message"):
            yield f"{shown(each.get('type'))} is False: {_reason_text(each)}"
    for each in data.get("containers") or ():
        if isinstance(each, Mapping) and each.get("waiting"):
            words = [shown(each[key]) for key in ("waiting", "waitingMessage") if each.get(key)]
            yield f"container {shown(each.get('name'))} waits: {': '.join(words)}"
        elif isinstance(each, Mapping) and each.get("exitCode") is not None:
            last = f": {shown(each['lastLine'])}" if each.get("lastLine") else ""
            yield f"container {shown(each.get('name'))} ended with {shown(each['exitCode'])}{last}"


def _status_state(status: Mapping[str, Any]) -> Iterator[str]:
    if status.get("phase"):
        yield f"phase {shown(status['phase'])}"
    if status.get("width") is not None:
        yield f"width {shown(status['width'])}"
    if status.get("reason"):
        yield _reason_text(status)


def _reason_text(value: Mapping[str, Any]) -> str:
    words = [shown(value[key]) for key in ("reason", "message", "text") if value.get(key)]
    return ": ".join(words)


def _part_text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return shown(value)
    return shown(f"{value.get('key')}={value.get('value') or ''}:{value.get('effect')}")


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, Mapping) else {}


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names of the parts that differ."""
    return [shown(name) for name in sorted({*before, *now}) if before.get(name) != now.get(name)]


# --------------------------------------------------------------------------- observations


def _observation_in_words(entry: Observed) -> str:
    observation = entry.observation
    words = _CAPITAL.sub(" ", observation.what).lower()
    content = observation.content if isinstance(observation.content, Mapping) else {}
    for name in ("refusal", "trouble"):
        trouble = content.get(name)
        if isinstance(trouble, Mapping) and trouble.get("reason"):
            return f"{words}: {_reason_text(trouble)}"
    named = [content[key] for key in ("subject", "child", "pe", "pod") if content.get(key)]
    return f"{words} {shown(named[0])}" if named else words
