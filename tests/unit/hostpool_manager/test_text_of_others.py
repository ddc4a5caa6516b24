"""Placements contain text of users (hosts, tags, pools); answers quote it without harm."""

from __future__ import annotations

import pytest

from contracts.reasons import Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.resources.placement import PlacementPhase
from placement.answers import Answer, Nearest, Refused, Unknown
from services.hostpool_manager.core.pool_rules import PoolSituation, missing_message
from services.hostpool_manager.core.snapshot import HostPool, InForce, ObservedPool, Placement, Ref
from services.hostpool_manager.core.specs import SpecInvalid, job_of
from services.hostpool_manager.core.statuses import (
    host_pool_status,
    is_current,
    placement_status,
    status_of_answer,
)
from tests.hostile import HOSTILE, harm, texts

TEXTS = pytest.mark.parametrize(
    "text", [*HOSTILE.values(), "z" * 100_000], ids=[*HOSTILE, "very long"]
)


def check(*values: object) -> None:
    for text in texts(list(values)):
        assert harm(text, ends_of_lines=False) == ""
        assert len(text) <= MESSAGE_CHARS_MAX


@TEXTS
def test_an_answer_is_harmless_and_current_when_it_is_written(text: str) -> None:
    near = (Nearest("node-1", (f"is not {text}", f"lacks the tag {text}")),)
    answers: tuple[Answer, ...] = (
        Refused(Reason.HOST_MISSING, f"PE 1 asks for {text}", nearest=near),
        Unknown(text),
    )
    for answer in answers:
        desired = status_of_answer(answer, spec_generation=1, in_force=InForce())
        status = placement_status({}, desired, now="2026-01-01T00:00:00Z")
        check({key: value for key, value in status.items() if value is not None})
        assert is_current(status, desired)


@TEXTS
def test_the_status_of_a_host_pool_is_harmless(text: str) -> None:
    placement = Placement(
        Ref("default", "shop"),
        "u",
        1,
        1,
        phase=PlacementPhase.REFUSED,
        message=text,
        in_force=InForce(0),
    )
    pool = HostPool("default", "shop-1", "u", 1, placement.ref)
    observed = ObservedPool(pool, {}, (), least=1)
    at = PoolSituation(observed, placement)
    desired = at.status(Reason.MEMBERS_MISSING, missing_message(at))
    status = host_pool_status({}, desired, now="2026-01-01T00:00:00Z")
    check(status)


@TEXTS
def test_a_spec_that_cannot_be_read_is_quoted_without_harm(text: str) -> None:
    ref = Ref("default", "shop")
    spec = {"generation": 0, "pools": [], "classes": [{"pes": text, "requests": {}}]}
    with pytest.raises(SpecInvalid) as caught:
        job_of(ref, spec)
    desired = status_of_answer(
        Refused(Reason.SPEC_INVALID, str(caught.value)), spec_generation=1, in_force=InForce()
    )
    check(desired.message)
