"""Plans are those of the original: what runs where, with which numbers, ports and connections.

A fresh plan is compared in both modes, a resize in compat, where it is the original's, too. Both go
through what `millrace plan` prints.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from lxml import etree

from contracts.bundle_format import BundleLimits, open_bundle, pack
from contracts.reasons import Reason
from planner.application.adl import read_application
from planner.application.model import Application
from planner.drafting import Draft, draft
from planner.numbering.records import Fusion, PlanRecord
from planner.outline import outline, outline_of_resize
from planner.planning import PlanResult, complete
from planner.refusals import PlanRefused
from planner.requesting import PlanLimits, PlanRequest
from tests.places import corpus, golden
from tests.unit.planner.reading import read_pes, schema_errors

GOLDEN = golden()
BUNDLES = {
    "Parallel": "apps.parallel.Parallel.sab",
    "Parallel-update": "apps.parallel.Parallel.sab",
    "apps.hostpools": "apps.hostpools.HostPools.sab",
}
PLANNED_ALTHOUGH_THE_ORIGINAL_CRASHED = {"passthru"}
LARGE = PlanLimits(aadl_bytes_max=1 << 30)
TEXTS = ("pe_adl_same", "pe_adl_changed", "pe_new", "pe_gone")

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(
        not (GOLDEN / "golden.json").exists(),
        reason="the golden cases are not there; see MILLRACE_GOLDEN",
    ),
]


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


def widths_of(case: dict[str, Any], kind: str) -> tuple[tuple[str, int], ...]:
    found = [arg[2:].split("=") for arg in case["args"] if arg.startswith(kind)]
    return tuple((name, int(width)) for name, width in found)


def drafted(case: dict[str, Any], *, compat: bool, previous: PlanRecord | None = None) -> Draft:
    scheme = case["scheme"]
    return draft(
        PlanRequest(
            application=application_of(case["app"]),
            bundle_digest="digest",
            job_name="job",
            job_id=0,
            fusion=Fusion.legacy() if scheme == "legacy" else Fusion.manual(scheme),
            width_overrides=widths_of(case, "w:"),
            widths={**previous.widths, **dict(widths_of(case, "u:"))} if previous else {},
            previous=previous,
            limits=LARGE,
            compat=compat,
        )
    )


def comparable(recorded: Any) -> Any:
    """A recording without what we do not print; that is compared on its own."""
    if not isinstance(recorded, dict):
        return recorded
    left_out = ("logicalIndex", "update", *TEXTS)
    return {key: comparable(value) for key, value in recorded.items() if key not in left_out}


def check_texts(result: PlanResult, ours: dict[str, Any]) -> None:
    """The texts say what the outline says, and are valid."""
    check_validity(result)
    pes = read_pes(result.aadls)
    assert {
        str(pe): {"in": item.inputs, "out": item.outputs, "operators": item.operators}
        for pe, item in pes.items()
    } == ours["pe"]
    assert sum(item.leaving for item in pes.values()) == ours["operator_connections"]
    assert sum(item.static for item in pes.values()) == ours["static_connections"]


def check_validity(result: PlanResult) -> None:
    for text in result.aadls.values():
        assert "\n" not in text
        assert schema_errors(text) == ""


@pytest.mark.parametrize("case", cases(), ids=name_of)
def test_a_plan_is_the_original_one(case: dict[str, Any]) -> None:
    """Every golden case, compat: PEs, operators, ports, connections, errors, and the resize."""
    expected = case["result"]
    has_crashed = case["app"] in PLANNED_ALTHOUGH_THE_ORIGINAL_CRASHED
    if "error" in expected and not has_crashed:
        with pytest.raises(PlanRefused) as refused:
            drafted(case, compat=True)
        assert refused.value.code == expected["error"]
        return
    before = drafted(case, compat=True)
    first = complete(before)
    ours = outline(before)
    check_texts(first, ours)
    if has_crashed:
        return
    assert ours == {"widths": {}, **comparable(expected)}
    check_positions(first, expected["pe"])
    if "update" in expected:
        check_update(case, before, first)


def check_update(case: dict[str, Any], before: Draft, first: PlanResult) -> None:
    expected = case["result"]["update"]
    after = drafted(case, compat=True, previous=first.record)
    second = complete(after)
    check_validity(second)
    changes = outline_of_resize(before, after)
    widths = changes["after"].pop("widths")
    assert widths == {**first.record.widths, **dict(widths_of(case, "u:"))}
    assert changes == comparable(expected)
    check_positions(second, expected["after"]["pe"])
    assert texts_of(first.record, second.record) == {key: expected[key] for key in TEXTS}


def check_positions(result: PlanResult, recorded: dict[str, Any]) -> None:
    """The position of each PE that was rendered is the recorded one."""
    for pe, text in result.aadls.items():
        position = etree.fromstring(text.encode()).get("logicalIndex")
        assert position == str(recorded[str(pe)]["logicalIndex"])


def texts_of(before: PlanRecord, after: PlanRecord) -> dict[str, int]:
    """How many texts a resize kept, changed, made and dropped."""
    old = {pe.id: pe.content_id for pe in before.pes}
    new = {pe.id: pe.content_id for pe in after.pes}
    both = old.keys() & new.keys()
    same = sum(old[pe] == new[pe] for pe in both)
    counts = same, len(both) - same, len(new.keys() - both), len(old.keys() - both)
    return dict(zip(TEXTS, counts, strict=True))


FRESH = [case for case in cases() if "error" not in case["result"]]
CONTRADICT = {"e1_coex", "e1_isoco", "e1_host"}


@pytest.mark.parametrize("case", FRESH, ids=name_of)
def test_a_fresh_plan_is_the_same_in_both_modes(case: dict[str, Any]) -> None:
    """Unless constraints contradict, which the original takes without a word."""
    if case["app"] not in CONTRADICT:
        by_default = drafted(case, compat=False)
        assert outline(by_default) == outline(drafted(case, compat=True))
        check_validity(complete(by_default))
        return
    with pytest.raises(PlanRefused) as refused:
        drafted(case, compat=False)
    assert refused.value.reason is Reason.CONSTRAINTS_CONTRADICT
