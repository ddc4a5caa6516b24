"""What cannot fit is refused before it is described, and by nobody's estimate that is too high."""

from __future__ import annotations

import pytest

from contracts.bundle_format import pack
from contracts.reasons import Reason
from planner import planning
from planner.application.adl import read_application
from planner.application.bundles import open_bundle
from planner.description.sizing import Sizes
from planner.fusion import fusing
from planner.fusion.constraints import Unit
from planner.numbering.records import Fusion
from planner.planning import plan
from planner.refusals import PlanRefused
from planner.requesting import PlanLimits, PlanRequest
from tests.places import ROOT
from tests.unit.planner.adl_writing import Adl


def wordcount(width: int, fusion: Fusion, limits: PlanLimits | None = None) -> PlanRequest:
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    return PlanRequest(
        application=read_application(open_bundle(pack(adl.read_bytes()))),
        bundle_digest="digest",
        job_name="shop",
        job_id=7,
        fusion=fusion,
        submission_time_values={"width": str(width)},
        limits=limits or PlanLimits(),
    )


def test_a_pe_that_cannot_fit_is_refused_before_it_is_described(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def described(*_: object, **__: object) -> None:
        raise AssertionError("described although it cannot fit")

    monkeypatch.setattr(planning, "Describer", described)
    with pytest.raises(PlanRefused) as caught:
        plan(wordcount(3_000, Fusion.manual(2)))
    error = caught.value
    assert error.reason is Reason.PE_TOO_LARGE
    assert "AADL of PE shop-0 has at least" in error.message
    assert "widest connection is that of Words with" in error.message
    assert "Counted=3000 by spec.submissionTimeValues.width" in error.message


@pytest.mark.parametrize("fusion", [Fusion.legacy(), Fusion.manual(2), Fusion.manual(7)], ids=str)
@pytest.mark.parametrize("width", [1, 3, 90])
def test_the_least_size_of_a_pe_is_at_most_its_size_and_not_far_below(
    monkeypatch: pytest.MonkeyPatch, width: int, fusion: Fusion
) -> None:
    estimated: dict[int, int] = {}
    asked = Sizes.parts_needed

    def noted(sizes: Sizes, bytes_max: int, factor: float = 1.0) -> dict[int, int]:
        estimated.update({pe: sizes.bytes_min(pe) for pe in sizes._operators})
        return asked(sizes, bytes_max, factor)

    monkeypatch.setattr(Sizes, "parts_needed", noted)
    aadls = plan(wordcount(width, fusion)).aadls
    for pe, text in aadls.items():
        assert estimated[pe] <= len(text.encode())
        assert estimated[pe] >= len(text.encode()) // 4


def test_fusing_a_wide_region_does_not_sort_everything_for_every_operator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged = 0
    key = fusing._head_key

    def counted(unit: Unit) -> tuple[bool, bool, int]:
        nonlocal judged
        judged += 1
        return key(unit)

    monkeypatch.setattr(fusing, "_head_key", counted)
    plan(wordcount(400, Fusion.manual(2)))
    assert judged < 10 * 400


def test_too_many_operators_are_refused_by_the_field_that_brought_the_width() -> None:
    with pytest.raises(PlanRefused) as caught:
        plan(wordcount(30_000, Fusion.legacy(), PlanLimits(operators_max=20_000)))
    assert caught.value.reason is Reason.PLAN_TOO_LARGE
    assert caught.value.field == "spec.submissionTimeValues.width"
    assert "Counted=30000 by spec.submissionTimeValues.width" in caught.value.message


def refusal_of(adl: Adl, fusion: Fusion, bytes_max: int) -> PlanRefused:
    request = PlanRequest(
        application=adl.application(),
        bundle_digest="digest",
        job_name="shop",
        job_id=7,
        fusion=fusion,
        limits=PlanLimits(aadl_bytes_max=bytes_max),
    )
    with pytest.raises(PlanRefused) as caught:
        plan(request)
    return caught.value


@pytest.mark.parametrize(
    "fusion", [Fusion.legacy(), Fusion.manual(202), Fusion.automatic(4)], ids=str
)
def test_nobody_is_reported_to_divide_one_operator(fusion: Fusion) -> None:
    """Legacy has no more PEs to give, and no scheme divides an operator: narrower regions do, or
    several operators that feed the channels.
    """
    adl = Adl().chain("a", "f", "z").region("f", 200)
    message = refusal_of(adl, fusion, 50_000).message
    assert "it holds 1 operator, the widest connection is that of a with 200 connections" in message
    assert "one operator cannot be in several PEs, so more of them do not help" in message
    assert "make the parallel regions narrower (f=200 by constantWidth)" in message
    assert "let several operators share the connection" in message
    assert "ask for" not in message


def test_a_pe_of_operators_that_need_not_share_it_may_become_several() -> None:
    adl = Adl().chain(*(f"o{n}" for n in range(100)))
    message = refusal_of(adl, Fusion.manual(1), 20_000).message
    assert "it holds 100 operators" in message
    assert "ask for more PEs or for automatic fusion, which divides it" in message


@pytest.mark.parametrize(
    "fusion", [Fusion.legacy(), Fusion.manual(5), Fusion.automatic(5)], ids=str
)
def test_operators_that_are_joined_are_reported_what_joins_them(fusion: Fusion) -> None:
    adl = Adl().chain(*(f"o{n}" for n in range(100)))
    for operator in list(adl.operators.values())[:60]:
        operator.partitions = '<coLocation colocId="X"/>'
    message = refusal_of(adl, fusion, 20_000).message
    assert "it holds 60 operators" in message
    assert "constraints keep these operators in one PE, so more PEs do not help" in message
