"""Whether the pod that runs gets other resources in place: rules beside those of launches.

fusion-backend marks PEs whose share of the job's resources a resize changed, and nothing else
(`spec.resizesInPlace`). Their content is the same, so no launch follows: the pod itself is changed.

Properties: the decision compares the PE with its pod and needs no memory, so that it is the same
after a crash; a refusal is in the PE's status, and the same resources are not sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, Final

from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import StatedCondition, with_stated
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.resources.processing_element import RESIZED_IN_PLACE
from contracts.scheduling.requests import RESIZED, differ_in_place, with_default_requests
from contracts.showing import shown
from services.chassis.running.rules import Rule, always, rule_for
from services.chassis.running.stage import Because, Decision
from services.launching.core.effects import PatchStatus
from services.launching.core.owners import LaunchStatus
from services.launching.core.situation import Situation
from services.pod_state_machine.core.effects import Effect, ResizePod
from services.pod_state_machine.core.rounding import in_whole_bytes
from services.pod_state_machine.core.snapshot import Pe

Json = Mapping[str, Any]


class ResizeObservation(Enum):
    """What a PE whose pod is resized in place shows; a rule has one each."""

    NO_POD = "no pod of the newest launch is there to stay"
    LAUNCH_DUE = "another launch is requested, whose pod gets the new resources"
    REFUSED = "the API server refused these resources, as the status says"
    DIFFERENT = "the pod has other resources than the PE"
    REFUSAL_OVER = "the pod has the resources of the PE, and the status says that they were refused"
    AS_WANTED = "the pod has the resources of the PE"


@dataclass(frozen=True)
class ResizeSituation:
    """A PE with its launches, and what it requests for its pod."""

    of_launches: Situation
    pe: Pe

    @cached_property
    def wanted(self) -> dict[str, dict[str, str]]:
        """CPU and memory of the PE, as the API server completes them."""
        return wanted_of(self.pe.spec.get("resources") or {})

    @property
    def has_pod(self) -> bool:
        """Whether the pod of the newest launch is there, neither ends nor has ended, and stays."""
        pod, is_lost = self.of_launches.pod, self.of_launches.context.has_lost_job
        if pod is None or pod.is_deleting or pod.is_over:
            return False
        return not (is_lost or self.pe.is_deleting)

    @property
    def is_different(self) -> bool:
        """Whether the pod has other resources than the PE."""
        pod = self.of_launches.pod
        return pod is not None and differ_in_place(self.wanted, pod.resources)

    @property
    def is_pending(self) -> bool:
        """Whether the kubelet does not put the resources of the pod in force."""
        pod = self.of_launches.pod
        return pod is not None and pod.is_resize_pending

    @property
    def refusal(self) -> StatedCondition | None:
        """What the status says of a refusal."""
        stated = self.pe.status.condition(RESIZED_IN_PLACE)
        return stated if stated is not None and stated.status == "False" else None

    @property
    def is_refused(self) -> bool:
        """Whether just these resources were refused."""
        stated = self.refusal
        return stated is not None and stated.observed_generation == self.pe.metadata_generation


Resize = Callable[[ResizeSituation], tuple[Effect, ...]]


def leave(_at: ResizeSituation) -> tuple[Effect, ...]:
    """Leave the pod as it is."""
    return ()


def resize_pod(at: ResizeSituation) -> tuple[Effect, ...]:
    """Change the resources of the pod that runs."""
    pod = at.of_launches.pod
    assert pod is not None, "observed: a pod"
    resources = tuple(
        (part, name, amount)
        for part, amounts in sorted(at.wanted.items())
        for name, amount in sorted(amounts.items())
    )
    return (ResizePod(pod.name, pod.uid, resources),)


def withdraw_refusal(at: ResizeSituation) -> tuple[Effect, ...]:
    """Write that the pod has the resources after all."""
    reason = Reason.RESIZED_IN_PLACE
    status = _with_condition(at.pe, "True", reason, reason.sentence, at.of_launches.now)
    return (PatchStatus(at.pe.uid, status),)


_O = ResizeObservation
RESIZE_RULES: Final[tuple[Rule[ResizeSituation, Resize], ...]] = (
    Rule(_O.NO_POD, lambda at: not at.has_pod, leave, Reason.WAITING),
    Rule(
        _O.LAUNCH_DUE,
        lambda at: at.of_launches.is_new_launch_requested or at.of_launches.is_behind,
        leave,
        Reason.WAITING,
    ),
    Rule(
        _O.REFUSED,
        lambda at: at.is_different and at.is_refused,
        leave,
        Reason.RESIZE_REFUSED,
    ),
    Rule(_O.DIFFERENT, lambda at: at.is_different, resize_pod, Reason.SHARE_CHANGED),
    Rule(
        _O.REFUSAL_OVER,
        lambda at: at.refusal is not None and not at.is_pending,
        withdraw_refusal,
        Reason.RESIZED_IN_PLACE,
    ),
    Rule(_O.AS_WANTED, always, leave, Reason.NOTHING_TO_CHANGE),
)


def with_resize(decided: Decision[Effect], at: Situation, pe: Pe) -> Decision[Effect]:
    """A decision on launches, and what becomes of the resources of the pod that runs.

    Of two writes of the status, that on the launch goes first.
    """
    if not pe.resizes_in_place:
        return decided
    seen = ResizeSituation(at, pe)
    rule = rule_for(RESIZE_RULES, seen)
    effects = rule.action(seen)
    if any(isinstance(each, PatchStatus) for each in decided.effects):
        effects = tuple(each for each in effects if not isinstance(each, PatchStatus))
    return replace(
        decided,
        effects=(*decided.effects, *effects),
        rules={**decided.rules, "resize": rule.observation.name},
        because=(
            *decided.because,
            *(Because(rule.observation.name, rule.reason_in(seen)) for _ in effects),
        ),
    )


def wanted_of(resources: Json) -> dict[str, dict[str, str]]:
    """CPU and memory of a PE's resources, in whole bytes; limits are requests where none is."""
    given = {part: amounts for part, amounts in resources.items() if amounts}
    completed = with_default_requests(in_whole_bytes(given))
    return {
        part: {name: str(amounts[name]) for name in RESIZED if name in amounts}
        for part, amounts in completed.items()
    }


def refused_status(pe: Pe, effect: ResizePod, why: str, now: float) -> LaunchStatus:
    """The status when the API server refused other resources for the pod that runs."""
    text = ", ".join(f"{part}.{name}={amount}" for part, name, amount in effect.resources)
    message = f"Pod {effect.name} keeps its resources: {text} was refused: {why}"
    return _with_condition(pe, "False", Reason.RESIZE_REFUSED, message, now)


def _with_condition(pe: Pe, status: str, reason: Reason, text: str, now: float) -> LaunchStatus:
    message = shown(text, MESSAGE_CHARS_MAX)
    desired = StatedCondition(
        RESIZED_IN_PLACE, status, reason.value, message, moment_of(now), pe.metadata_generation
    )
    return replace(pe.status, conditions=with_stated(pe.status.conditions, desired))
