"""Fresh plans are those of the original: what runs where, with which ports and connections."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from contracts.bundle_format import BundleLimits, open_bundle, pack
from services.fusion_backend.core import planning
from services.fusion_backend.core.planning import (
    Application,
    PlanLimits,
    PlanRequest,
    PlanResult,
    plan,
    read_application,
)
from services.fusion_backend.core.records import Fusion
from services.fusion_backend.core.refusals import PlanRefused
from tests.places import corpus, golden
from tests.unit.fusion_backend.planner.reading import read_pes, schema_errors

GOLDEN = golden()
BUNDLES = {
    "Parallel": "apps.parallel.Parallel.sab",
    "Parallel-update": "apps.parallel.Parallel.sab",
    "apps.hostpools": "apps.hostpools.HostPools.sab",
}
PLANNED_ALTHOUGH_THE_ORIGINAL_CRASHED = {"passthru"}
LARGE = PlanLimits(aadl_bytes_max=1 << 30)


def cases() -> list[dict[str, Any]]:
    if not (GOLDEN / "golden.json").exists():
        return []
    loaded: list[dict[str, Any]] = json.loads((GOLDEN / "golden.json").read_text())["cases"]
    return loaded


def name_of(case: dict[str, Any]) -> str:
    return "-".join([case["app"], str(case["scheme"]), *case["args"]])


@cache
def application_of(app: str) -> Application:
    if app in BUNDLES:
        data = corpus(BUNDLES[app]).read_bytes()
    else:
        data = pack((GOLDEN / "adl" / f"{app}.adl").read_bytes())
    return read_application(open_bundle(data, BundleLimits()))


def planned(case: dict[str, Any]) -> PlanResult:
    widths = [arg[2:].split("=") for arg in case["args"] if arg.startswith("w:")]
    scheme = case["scheme"]
    return plan(
        PlanRequest(
            application=application_of(case["app"]),
            bundle_digest="digest",
            job_name="job",
            job_id=0,
            fusion=Fusion.legacy() if scheme == "legacy" else Fusion.manual(scheme),
            width_overrides=tuple((alias, int(width)) for alias, width in widths),
            limits=LARGE,
        )
    )


@pytest.fixture(autouse=True)
def _every_placement_is_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts and exclusive pools are refused before they are planned; here they are planned."""
    monkeypatch.setattr(planning, "refuse_unsupported", lambda _: None)


@pytest.mark.corpus
@pytest.mark.skipif(not cases(), reason="the golden cases are not there; see MILLRACE_GOLDEN")
@pytest.mark.parametrize("case", cases(), ids=name_of)
def test_a_fresh_plan_is_the_original_one(case: dict[str, Any]) -> None:
    """Every golden case: the same PEs, operators, ports, connections; AADLs under the schema."""
    expected = case["result"]
    if "error" in expected and case["app"] not in PLANNED_ALTHOUGH_THE_ORIGINAL_CRASHED:
        with pytest.raises(PlanRefused, match=expected["error"]):
            planned(case)
        return
    result = planned(case)
    pes = read_pes(result.aadls)
    for text in result.aadls.values():
        assert "\n" not in text
        assert schema_errors(text) == ""
    if "error" in expected:
        return
    assert {str(pe): (item.operators, item.inputs, item.outputs) for pe, item in pes.items()} == {
        pe: (item["operators"], item["in"], item["out"]) for pe, item in expected["pe"].items()
    }
    assert sum(item.leaving for item in pes.values()) == expected["operator_connections"]
    assert sum(item.static for item in pes.values()) == expected["static_connections"]
    assert result.record.widths == expected.get("widths", {})
