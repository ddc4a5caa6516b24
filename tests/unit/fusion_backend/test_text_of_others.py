"""Statuses and Events quote what people wrote into a Job; whoever reads them is not harmed."""

from __future__ import annotations

import pytest

from contracts.reasons import Reason
from contracts.resources.conditions import stalled_patch
from contracts.resources.fields import MESSAGE_CHARS_MAX
from planner.refusals import PlanRefused
from services.chassis.table.entries import Entry
from services.fusion_backend.core.conditions import is_current, job_status_patch
from services.fusion_backend.core.effects import (
    Announcement,
    DesiredCondition,
    JobStatusChange,
    WriteRegionStatus,
)
from services.fusion_backend.core.region_statuses import region_status_patch
from services.fusion_backend.core.seen import RefusedWidth, RegionSeen
from tests.hostile import HOSTILE, harm, texts
from tests.unit.fusion_backend.world import World

TEXTS = pytest.mark.parametrize(
    "text", [*HOSTILE.values(), "z" * 100_000], ids=[*HOSTILE, "very long"]
)


def check(*values: object) -> None:
    for text in texts(list(values)):
        assert harm(text, ends_of_lines=False) == ""
        assert len(text) <= MESSAGE_CHARS_MAX


@TEXTS
def test_whatever_a_status_or_an_event_is_to_say_is_harmless_and_bounded(text: str) -> None:
    submitted = DesiredCondition("Submitted", "False", Reason.SUBMITTING, f"pod of x: {text}")
    event = Announcement(Reason.SUBMITTING, text, 1)
    change = JobStatusChange(
        "Failed", Reason.NAME_TAKEN, text, (submitted,), announcements=(event,)
    )
    patch = job_status_patch({}, change, generation=1, now=0.0)
    refused = RefusedWidth(4, Reason.WIDTH_REFUSED, text, "", 0, text)
    width = WriteRegionStatus(
        "x-0", 0, 3, 0, 1, Reason.WIDTH_REFUSED, text, "", submitted, refused=refused
    )
    seen = RegionSeen(Entry("ParallelRegion", "default", "x-0", "uid", 1, {"status": {}}))
    region = region_status_patch(seen, width, now=0.0)
    check(patch, region, event.message, width.message)
    assert is_current(patch["status"], submitted)


@TEXTS
def test_a_refusal_is_harmless_and_bounded(text: str) -> None:
    refusal = PlanRefused(Reason.SPEC_INVALID, field=text, value=text, message=text)
    check(refusal.field, refusal.value, refusal.message, str(refusal))
    check(refusal.within(text, text).message)


@TEXTS
def test_what_is_reported_of_a_crash_is_reported_once(text: str) -> None:
    """It is asked after every run of the key."""
    job = {"metadata": {"generation": 1}, "status": {}}
    patch = stalled_patch(job, reason="Crashing", why=text, now="2026-01-01T00:00:00Z")
    assert patch is not None
    check(patch)
    after = job | patch
    assert stalled_patch(after, reason="Crashing", why=text, now="2026-01-02T00:00:00Z") is None


@TEXTS
def test_a_job_with_hostile_names_and_values_ends_in_harmless_sentences(text: str) -> None:
    """Aliases of regions, names and values of submission-time values, the bundle's name."""
    world = World(
        parallelRegions=[{"alias": text, "width": 3}], submissionTimeValues={text: text, "x": text}
    )
    world.converge()
    assert world.status()["phase"] in ("Failed", "Submitted")
    status = {key: world.status().get(key) for key in ("reason", "message", "conditions")}
    check(status, [message for _, message in world.events])
    assert world.events
