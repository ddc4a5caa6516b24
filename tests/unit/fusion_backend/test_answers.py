"""What is known of a Job holds the planner's texts until they are written, and never unpacked."""

from __future__ import annotations

from dataclasses import replace

from contracts.reasons import Reason
from planner.compressing import CompressedTexts
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused
from services.fusion_backend.adapters.answers import Answers
from services.fusion_backend.core.recording import port_labels_id
from services.fusion_backend.core.spec.inputs import BundleSource, PlanInputs
from tests.unit.planner.adl_writing import Adl, plan_of

INPUTS = PlanInputs("shop", 0, 0, BundleSource("shop.sab"), Fusion.legacy())


def test_texts_are_found_by_content_and_stay_compressed() -> None:
    narrow = plan_of(Adl().chain("a", "f", "z").region("f", 3), Fusion.legacy())
    wide = plan_of(Adl().chain("a", "f", "z").region("f", 4), Fusion.legacy())
    known = Answers().of("uid")
    known.learn(INPUTS, narrow)
    known.learn(replace(INPUTS, widths=(("f", 4),)), wide)
    for plan in (narrow, wide):
        assert known.texts[port_labels_id(plan.port_labels)] == plan.port_labels
        for pe in plan.record.pes:
            assert known.texts[pe.content_id] == plan.aadls[pe.id]
    held = [each for texts in known.texts_of.values() for each in texts if len(each) > 1]
    assert all(isinstance(each, CompressedTexts) for each in held)


def test_the_same_plan_learned_again_is_held_once() -> None:
    plan = plan_of(Adl().chain("a", "z"), Fusion.legacy())
    known = Answers().of("uid")
    for _ in range(3):
        known.learn(INPUTS, plan)
    assert len(known.texts_of) == 1


def test_texts_are_let_go_once_their_generation_is_complete() -> None:
    plan = plan_of(Adl().chain("a", "z"), Fusion.legacy())
    known = Answers().of("uid")
    known.learn(INPUTS, plan)
    known.settle()
    assert not known.texts
    assert not known.outcomes


def test_a_refusal_brings_no_texts() -> None:
    known = Answers().of("uid")
    known.learn(INPUTS, PlanRefused(Reason.FUSION_INVALID, field="f", value=0, message="no"))
    assert not known.texts
    assert known.outcomes
