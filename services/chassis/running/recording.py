"""Records what a stage decided, and on what, for people and for a replay."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.decisions import DecisionRecord, Position
from services.chassis.kube.writing import Outcome
from services.chassis.process.log_lines import log_of
from services.chassis.process.tracing import Cause
from services.chassis.running.carrying_out import CarriedOut
from services.chassis.running.decision_log import (
    DecisionLog,
    effects_recorded,
    objects_read,
)
from services.chassis.running.observations import Observations, Observed
from services.chassis.running.stage import Decision
from services.chassis.running.wiring import Runtime
from services.chassis.table.entries import Entry

REMEMBERED_KEYS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class MadeOf:
    """What a decision was made of: the time, the position, and the objects that were read.

    `views` is the digest of what its views were folded from.
    """

    now: float
    position: Position
    entries: Sequence[Entry]
    views: str = ""


class Recorder:
    """The decision records and the observations of one start of an instance.

    The first observation has the release, and the settings that make the stage.
    """

    def __init__(self, runtime: Runtime, settings: Mapping[str, Any]) -> None:
        start = runtime.new_id()
        self._runtime = runtime
        self.log = DecisionLog(runtime, start)
        self.observations = Observations(runtime, self.log, start)
        self._reasons: OrderedDict[Hashable, str] = OrderedDict()
        self._log = log_of(runtime.service)
        started = {"release": runtime.release, "settings": settings}
        self.observations.enter(Observed.STARTED, started)

    def record(
        self,
        key: Hashable,
        subject: tuple[str, str],
        decision: Decision[Any],
        made_of: MadeOf,
        carried_out: CarriedOut,
        cause: Cause,
    ) -> None:
        """Publish a decision if an effect changed something, or if its reason changed."""
        is_news = any(outcome != Outcome.EXISTED for _, outcome in carried_out.outcomes)
        if not is_news and self._reasons.get(key) == decision.reason:
            return
        remember(self._reasons, key, decision.reason)
        try:
            self._publish(key, subject, decision, made_of, carried_out, cause)
        except Exception:  # noqa: BLE001 - records are for people; work goes on
            self._runtime.metrics.count("millrace_crashes_total", where="record")
            self._log.exception("record_crashed", key=str(key))

    def _publish(
        self,
        key: Hashable,
        subject: tuple[str, str],
        decision: Decision[Any],
        made_of: MadeOf,
        carried_out: CarriedOut,
        cause: Cause,
    ) -> None:
        runtime = self._runtime
        whose = (runtime.service, runtime.release, key_text(key), cause.event_id)
        record = record_of(*whose, decision, made_of, carried_out)
        self.log.publish(*subject, record, cause.trace_id)


def record_of(
    service: str,
    release: str,
    key: str,
    cause: str,
    decision: Decision[Any],
    made_of: MadeOf,
    carried_out: CarriedOut,
) -> DecisionRecord:
    """The record of a decision."""
    decided, effects = effects_recorded(decision.effects, carried_out)
    return DecisionRecord(
        service=service,
        key=key,
        reason=decision.reason,
        effects=effects,
        decided=decided,
        cause=cause,
        detail=decision.detail,
        rules=decision.rules,
        now=made_of.now,
        release=release,
        position=made_of.position,
        objects=objects_read(made_of.entries, made_of.views),
    )


def key_text(key: Hashable) -> str:
    """A key as people read it."""
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)


def remember(memory: OrderedDict[Hashable, Any], key: Hashable, value: Any) -> None:
    """Keep a value of a key, and those of the keys that were used last."""
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > REMEMBERED_KEYS_MAX:
        memory.popitem(last=False)
