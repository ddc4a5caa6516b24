"""What a service decided, on what, and what it observed that is no fact.

Both go to the decision topic, behind the decisions: nothing waits for them, and no correctness
rests on them. A decision names its position: with the facts before it and the observations up to
it, its snapshot can be made again (`services/chassis/running/replaying.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

DECISION_TYPE: Final = "com.ibm.streams.decision"
OBSERVATION_TYPE: Final = "com.ibm.streams.observation"


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """One effect of a decision: its name, the object it is for, and how it ended.

    `value` is the whole effect if it is small; of any other `sha256` is the digest of its JSON.
    """

    name: str
    subject: str
    outcome: str
    value: Any = None
    sha256: str = ""

    def to_json(self) -> dict[str, Any]:
        """The effect as a JSON object."""
        found = {"name": self.name, "subject": self.subject, "outcome": self.outcome}
        return found | (
            {"value": self.value} if self.value is not None else {"sha256": self.sha256}
        )

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> EffectRecord:
        """The effect that a JSON object says; raises KeyError."""
        return EffectRecord(
            str(value["name"]),
            str(value["subject"]),
            str(value["outcome"]),
            value.get("value"),
            str(value.get("sha256", "")),
        )


@dataclass(frozen=True, slots=True)
class EffectsDecided:
    """All effects of a decision, those that wait for their back-off included.

    `sha256` is the digest of their JSON, a line each in the order of the decision.
    """

    count: int = 0
    sha256: str = ""

    def to_json(self) -> dict[str, Any]:
        """The effects as a JSON object."""
        return {"count": self.count, "sha256": self.sha256}

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> EffectsDecided:
        """The effects that a JSON object says; raises KeyError or ValueError."""
        return EffectsDecided(int(value["count"]), str(value["sha256"]))


@dataclass(frozen=True, slots=True)
class Position:
    """What an instance knew: the facts that it had read, and its observations.

    `start` tells the starts of an instance apart. `offsets` are the next offsets of the partitions
    that it reads, by `<topic without prefix>/<partition>`, and `facts` counts the facts that it has
    read. `observation` is the number of the last observation of this start; 0 before the first.
    """

    instance: str
    start: str
    offsets: Mapping[str, int] = field(default_factory=dict)
    facts: int = 0
    observation: int = 0

    def to_json(self) -> dict[str, Any]:
        """The position as a JSON object."""
        return {
            "instance": self.instance,
            "start": self.start,
            "offsets": dict(self.offsets),
            "facts": self.facts,
            "observation": self.observation,
        }

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> Position:
        """The position that a JSON object says; raises KeyError or ValueError."""
        offsets = {str(name): int(offset) for name, offset in value["offsets"].items()}
        return Position(
            str(value["instance"]),
            str(value["start"]),
            offsets,
            int(value["facts"]),
            int(value["observation"]),
        )


@dataclass(frozen=True, slots=True)
class ObjectsRead:
    """The objects in a snapshot: how many, and the SHA-256 of their refs, uids and versions.

    Of few objects `names` has each one: `<kind>/<namespace>/<name> <uid>@<version>`. `views` stands
    for all objects that the views of the service are folded from; empty if it has none.
    """

    count: int = 0
    sha256: str = ""
    names: tuple[str, ...] = ()
    views: str = ""

    def to_json(self) -> dict[str, Any]:
        """The objects as a JSON object."""
        named = {"names": self.names} if self.names else {}
        folded = {"views": self.views} if self.views else {}
        return {"count": self.count, "sha256": self.sha256} | named | folded

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> ObjectsRead:
        """The objects that a JSON object says; raises KeyError or ValueError."""
        return ObjectsRead(
            int(value["count"]),
            str(value["sha256"]),
            tuple(map(str, value.get("names", ()))),
            str(value.get("views", "")),
        )


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision of one service about one key; `cause` is the id of the fact that led to it.

    `rules` has the rule that held, by the decision that it makes: a service may make several on one
    snapshot. `now` is the time that the core was given (unix seconds). `effects` are the first of
    those that were carried out, `decided` stands for all of them.
    """

    service: str
    key: str
    reason: str
    effects: tuple[EffectRecord, ...] = ()
    decided: EffectsDecided = field(default_factory=EffectsDecided)
    cause: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    now: float = 0.0
    release: str = ""
    position: Position = field(default_factory=lambda: Position("", ""))
    objects: ObjectsRead = field(default_factory=ObjectsRead)

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object."""
        return {
            "service": self.service,
            "release": self.release,
            "key": self.key,
            "now": self.now,
            "rules": dict(self.rules),
            "reason": self.reason,
            "effects": [each.to_json() for each in self.effects],
            "decided": self.decided.to_json(),
            "cause": self.cause,
            "detail": dict(self.detail),
            "position": self.position.to_json(),
            "objects": self.objects.to_json(),
        }

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> DecisionRecord:
        """The record that a JSON object says; raises KeyError, TypeError or ValueError."""
        return DecisionRecord(
            service=str(value["service"]),
            key=str(value["key"]),
            reason=str(value["reason"]),
            effects=tuple(map(EffectRecord.of_json, value["effects"])),
            decided=EffectsDecided.of_json(value["decided"]),
            cause=str(value["cause"]),
            detail=dict(value["detail"]),
            rules={str(what): str(rule) for what, rule in value["rules"].items()},
            now=float(value["now"]),
            release=str(value["release"]),
            position=Position.of_json(value["position"]),
            objects=ObjectsRead.of_json(value["objects"]),
        )


@dataclass(frozen=True, slots=True)
class Observation:
    """What an instance took in beside facts, and between which facts.

    `number` counts from 1 in each start of an instance. `what` is the kind of observation,
    `content` what was observed: of a secret thing only name, digest and dates. `offsets` are those
    of a `Position`.
    """

    number: int
    what: str
    content: Any
    offsets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ObservationsRecord:
    """Observations of one start of one instance, in order.

    A number that is missing was dropped: what was decided after it cannot be made again.
    """

    service: str
    instance: str
    start: str
    observations: tuple[Observation, ...]

    def to_json(self) -> dict[str, Any]:
        """The record as a JSON object; of the offsets only those that differ from those before."""
        before: Mapping[str, int] = {}
        said = []
        for each in self.observations:
            offsets = {
                name: offset for name, offset in each.offsets.items() if before.get(name) != offset
            }
            before = each.offsets
            said.append(
                {
                    "number": each.number,
                    "what": each.what,
                    "content": each.content,
                    "offsets": offsets,
                }
            )
        return {
            "service": self.service,
            "instance": self.instance,
            "start": self.start,
            "observations": said,
        }

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> ObservationsRecord:
        """The record that a JSON object says; raises KeyError or ValueError."""
        offsets: dict[str, int] = {}
        found = []
        for each in value["observations"]:
            offsets = offsets | {str(name): int(number) for name, number in each["offsets"].items()}
            found.append(
                Observation(int(each["number"]), str(each["what"]), each["content"], offsets)
            )
        return ObservationsRecord(
            str(value["service"]), str(value["instance"]), str(value["start"]), tuple(found)
        )
