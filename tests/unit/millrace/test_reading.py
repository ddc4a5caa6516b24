"""The description of a PE: what the planner writes is read, and what cannot run is refused."""

from __future__ import annotations

import pytest

from contracts.bundle_format import BundleLimits, open_bundle, pack
from millrace.runtime.endings import Ending
from millrace.runtime.reading import (
    Description,
    DescriptionRefused,
    Inside,
    OperatorRefused,
    Outside,
    Splitting,
    description_of,
)
from planner.application.adl import read_application
from planner.numbering.records import Fusion
from tests.unit.millrace import test_hand_over as job
from tests.unit.planner.adl_writing import Adl, plan_of


def descriptions(fusion: Fusion) -> dict[str, Description]:
    """Those of a job with three channels, by the names of their operators."""
    application = read_application(open_bundle(pack(job.often.adl()), BundleLimits()))
    result = plan_of(application, fusion)
    found = [description_of(result.aadls[each.id].encode()) for each in result.record.pes]
    return {operator.name: each for each in found for operator in each.operators}


def test_a_splitter_leads_to_an_output_port_for_each_channel() -> None:
    passed = descriptions(Fusion("legacy"))["Passed"]
    (goal,) = passed.operators[0].goals
    assert isinstance(goal, Splitting)
    assert (goal.kind, goal.attributes) == ("Hash", ("key",))
    assert goal.channels == ((Outside(0),), (Outside(1),), (Outside(2),))
    assert len({peer for port in passed.outputs for peer, _ in port.peers}) == 3


def test_what_is_fused_is_reached_inside_of_the_pe() -> None:
    whole = descriptions(Fusion("manual", 1))["Passed"]
    goals = {each.name: each.goals for each in whole.operators}
    indexes = {each.name: each.index for each in whole.operators}
    assert goals["Numbers"] == (Inside(indexes["Passed"]),)
    assert (whole.inputs, whole.outputs, whole.peers) == ((), (), frozenset())


def test_an_operator_knows_its_channel_its_arguments_and_how_often_it_is_saved() -> None:
    found = descriptions(Fusion("legacy"))
    counted = found["Counting[2].Counted"]
    assert counted.operators[0].channels == {0: (2, 3)}
    assert counted.checkpoint_s == 0.03
    assert found["Numbers"].operators[0].constants["argument.upto"] == "10000"
    assert found["Report"].checkpoint_s is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"<pe", "is no XML"),
        (b'<pe><operInstance index="0"/></pe>', "lacks something"),
        (b'<pe id="x" jobId="0"/>', "has no operators"),
    ],
)
def test_a_damaged_description_is_refused(text: bytes, says: str) -> None:
    with pytest.raises(DescriptionRefused, match=says):
        description_of(text)


def test_a_compiled_operator_is_refused_by_its_name_and_kind() -> None:
    adl = Adl()
    adl.operator("Beacon")
    result = plan_of(adl, Fusion("legacy"))
    with pytest.raises(OperatorRefused, match=r"operator Beacon is of kind .*, which is compiled"):
        description_of(result.aadls[0].encode())
    assert OperatorRefused.ending is Ending.OPERATOR_REFUSED
