"""What a PE gets of its job's resources: the matrix of seed and original, and small amounts."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from contracts import labels
from planner.numbering.records import Fusion
from services.chassis.table.entries import Entry
from services.fusion_backend.core import children
from services.fusion_backend.core.shares import Shares
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot
from services.fusion_backend.core.spec.dividing import divided, refusal_of_units
from services.fusion_backend.core.spec.inputs import BundleSource, PlanInputs
from tests.unit.fusion_backend.test_children import PE, RECORD, job

Json = dict[str, Any]

OWN: Json = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "3"}}
WHOLE: Json = {
    "limits": {"cpu": "16.0", "memory": "64Gi"},
    "requests": {"cpu": "8", "memory": "32Gi"},
}
QUARTER: Json = {
    "limits": {"cpu": "4", "memory": "16Gi"},
    "requests": {"cpu": "2", "memory": "8Gi"},
}
DEFAULTS: Json = {"requests": {"cpu": "100m", "memory": "128Mi"}}
FOUR = replace(RECORD, pes=(PE,) * 4)


def given(**spec: Any) -> Json:
    """The resources of each PE of a job of four."""
    body = children.processing_element(job(**spec), FOUR, PE, launch_count=0)
    resources: Json = body["spec"]["resources"]
    return resources


@pytest.mark.parametrize(
    ("of_job", "of_pe", "share"),
    [
        (None, None, DEFAULTS),
        ({}, None, DEFAULTS),
        ({"limits": {}, "requests": None}, None, DEFAULTS),
        (None, OWN, OWN),
        ({}, OWN, OWN),
        (WHOLE, None, QUARTER),
        (WHOLE, OWN, QUARTER),
        ({"limits": WHOLE["limits"]}, OWN, {"limits": QUARTER["limits"]}),
        ({"requests": WHOLE["requests"]}, None, {"requests": QUARTER["requests"]}),
    ],
)
def test_resources_of_the_job_are_divided_and_win_over_those_of_the_template(
    of_job: Json | None, of_pe: Json | None, share: Json
) -> None:
    """Limits and requests alike; only one of them is enough."""
    assert given(resources=of_job, processingElement={"resources": of_pe}) == share


def test_a_pe_that_a_resize_changes_gets_its_share_of_the_wider_job() -> None:
    """It is launched again in any case; where its share is the same, nothing is written of it."""
    seen: Json = {"metadata": {"labels": {}}, "spec": {}}
    entry = Entry("ProcessingElement", "default", PE.name, "uid", 1, seen)
    patch = children.processing_element_patch(job(resources=WHOLE), FOUR, PE, entry)
    assert patch["spec"]["resources"] == QUARTER
    seen["spec"]["resources"] = QUARTER
    same = children.processing_element_patch(job(resources=WHOLE), FOUR, PE, entry)
    assert "resources" not in same["spec"]


@pytest.mark.parametrize(
    ("quantity", "parts", "share"),
    [
        ("16.0", 4, "4"),
        ("64Gi", 4, "16Gi"),
        ("1", 3, "0.333"),
        (10, 4, "2.5"),
        ("500m", 2, "250m"),
        ("100", 1, "100"),
        ("1e3", 4, "250"),
        ("2E", 4, "0.5E"),
        ("2K", 4, "0.5K"),
        ("0", 4, "0"),
        ("0Gi", 4, "0Gi"),
        ("odd", 2, "odd"),
        ("-1", 2, "-1"),
    ],
)
def test_a_quantity_is_divided_with_its_suffix(quantity: object, parts: int, share: str) -> None:
    """At most three decimals, rounded down, no zero at the end."""
    assert divided(quantity, parts) == share


@pytest.mark.parametrize(
    ("quantity", "parts", "share"),
    [
        ("0.001", 4, "1m"),
        ("1m", 4, "1m"),
        ("3m", 4, "1m"),
        ("1m", 4000, "1m"),
        ("1", 5000, "1m"),
        ("1k", 5_000_000, "1m"),
        ("0.009", 4, "0.002"),
        ("1n", 1000, "1n"),
    ],
)
def test_a_share_of_cpu_that_would_be_nothing_is_the_least_there_is(
    quantity: str, parts: int, share: str
) -> None:
    """A container without any CPU would not be what anybody requested."""
    assert divided(quantity, parts) == share


@pytest.mark.parametrize(
    ("resource", "quantity", "parts", "share"),
    [
        ("memory", "1Gi", 2000, "0.512Mi"),
        ("memory", "1Ki", 4000, "1"),
        ("memory", "1", 4, "1"),
        ("memory", "1k", 4000, "1"),
        ("ephemeral-storage", "1M", 2000, "0.5k"),
        ("nvidia.com/gpu", "4", 2, "2"),
        ("nvidia.com/gpu", "4", 3, "1"),
        ("nvidia.com/gpu", "1", 4, "1"),
        ("nvidia.com/gpu", "0", 4, "0"),
        ("hugepages-2Mi", "64Mi", 4, "16777216"),
        ("hugepages-2Mi", "10Mi", 3, "2097152"),
        ("hugepages-1Gi", "7Gi", 2, "3221225472"),
        ("nvidia.com/gpu", "5", 3, "1"),
        ("nvidia.com/gpu", "3k", 7, "428"),
    ],
)
def test_bytes_and_devices_have_a_smallest_piece(
    resource: str, quantity: str, parts: int, share: str
) -> None:
    """The API server takes neither half a device nor half a byte, nor half a huge page."""
    assert divided(quantity, parts, resource=resource) == share


@pytest.mark.parametrize(
    ("resource", "quantity", "needed"),
    [
        ("nvidia.com/gpu", "2", "3"),
        ("nvidia.com/gpu", "0.5", "3"),
        ("hugepages-2Mi", "5Mi", "6291456"),
    ],
)
def test_a_plan_of_more_pes_than_units_is_refused_with_what_it_needs(
    resource: str, quantity: str, needed: str
) -> None:
    """A share of one each would be more than the job asks for, and none no share at all."""
    for part in ("limits", "requests"):
        spec = {"resources": {part: {resource: quantity}}}
        refused = refusal_of_units(spec, 3)
        assert refused is not None
        assert refused.field == f"spec.resources.{part}.{resource}"
        assert f"is {quantity}, and 3 PEs would share it" in refused.message
        assert f"ask for {needed}," in refused.message
        assert refusal_of_units({"resources": {part: {resource: needed}}}, 3) is None


def test_what_is_measured_or_absent_is_shared_by_any_number_of_pes() -> None:
    whole = {"limits": {"cpu": "1m", "memory": "1", "nvidia.com/gpu": "0"}, "requests": None}
    assert refusal_of_units({"resources": whole}, 1_000) is None
    assert refusal_of_units({"resources": None}, 1_000) is None
    assert refusal_of_units({}, 1_000) is None


def test_shares_never_add_up_to_more_than_the_whole() -> None:
    for parts in (1, 3, 7, 64, 199):
        assert Decimal(divided("7.5", parts)) * parts <= Decimal("7.5")
        assert Decimal(divided("7.5", parts)) > 0


@pytest.mark.parametrize("resource", ["cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi"])
@pytest.mark.parametrize(
    "quantity", ["1e400", "9" * 5000, "1e99999999", "0." + "1" * 5000, "1e-9", "-1", "1\n", "Ei"]
)
def test_what_is_no_quantity_or_endless_is_left_to_the_api_server(
    resource: str, quantity: str
) -> None:
    """It says what is wrong with it; a division that stops would leave the job without a word."""
    assert divided(quantity, 7, resource=resource) == quantity


@pytest.mark.parametrize("resource", ["cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi"])
@pytest.mark.parametrize(
    "quantity", ["1e30", "1E99", "9" * 99, "0." + "0" * 98 + "1", "9" * 99 + "Ei"]
)
def test_quantities_of_many_digits_are_divided(resource: str, quantity: str) -> None:
    assert divided(quantity, 7, resource=resource) != quantity


def shared(
    *held: str, pes: int, stamps: int = 0, memory: str = "", resource: str = "cpu", of: str = "8"
) -> Shares:
    """The shares of a plan of generation 1, whose first PEs had these amounts before."""
    record = replace(
        RECORD, generation=1, pes=tuple(replace(PE, id=n, name=f"j-{n}") for n in range(pes))
    )
    whole: Json = {"limits": {resource: of, **({"memory": memory} if memory else {})}}
    amounts = [{resource: each, **({"memory": "1Gi"} if memory else {})} for each in held]
    entries = {
        f"j-{n}": Entry(
            "ProcessingElement",
            "default",
            f"j-{n}",
            f"u{n}",
            1,
            {
                "metadata": {
                    "labels": {labels.GENERATION: str(stamps)},
                    "generation": 1,
                    "deletionTimestamp": None,
                },
                "spec": {"contentId": PE.content_id, "resources": {"limits": each}},
                "status": {},
            },
        )
        for n, each in enumerate(amounts)
    }
    plan = KnownPlan(record, PlanInputs("j", 0, 1, BundleSource("a.sab"), Fusion.legacy()), "")
    children_ = {"ProcessingElement": entries}
    return Shares(Snapshot("default", "j", job=job(resources=whole), children=children_), plan)


def test_what_is_left_is_divided_among_the_pes_that_a_resize_adds_or_changes() -> None:
    """Three of six keep 1.6 of 8 CPUs: 3.2 are left."""
    shares = shared("1.6", "1.6", "1.6", pes=6)
    assert shares.of_new() == {"limits": {"cpu": "1066m"}}
    assert shares.outdated == {"j-0", "j-1", "j-2"}


def test_what_is_left_of_units_is_divided_in_whole_ones() -> None:
    """3 pages of 2 MiB are left for two PEs, and 5 devices for three."""
    pages = shared("4Mi", pes=3, resource="hugepages-2Mi", of="10Mi")
    assert pages.of_new() == {"limits": {"hugepages-2Mi": "2097152"}}
    devices = shared("2", pes=4, resource="nvidia.com/gpu", of="7")
    assert devices.of_new() == {"limits": {"nvidia.com/gpu": "1"}}


def test_where_nearly_nothing_is_left_new_pes_get_an_equal_share() -> None:
    """Rounding leaves a little: 8 CPUs are 7 × 1.142, and 0.006."""
    assert shared(*("1.142",) * 7, pes=9).of_new() == {"limits": {"cpu": "0.888"}}
    assert shared("8", pes=2).of_new() == {"limits": {"cpu": "4"}}
    both = shared("2", pes=2, memory="1Gi").of_new()
    assert both == {"limits": {"cpu": "6000m", "memory": "0.5Gi"}}, "of each resource alone"


def test_pes_that_this_plan_wrote_share_equally() -> None:
    """A PE that is made again after it was deleted gets what the others have."""
    assert shared("1", "1", pes=8, stamps=1).of_new() == {"limits": {"cpu": "1"}}
