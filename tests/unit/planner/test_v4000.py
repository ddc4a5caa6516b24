"""An ADL of version 4000 gives the plan of the same application written in version 4200."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from contracts.bundle_format import BundleLimits, open_bundle, pack
from contracts.reasons import Reason
from planner.application.adl import read_application
from planner.application.model import Application
from planner.numbering.records import Fusion
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from tests.places import corpus
from tests.unit.planner.adl_v4000_writing import as_v4000
from tests.unit.planner.adl_writing import Adl, plan_of
from tests.unit.planner.reading import schema_errors
from tests.unit.planner.test_invariants import applications
from tests.unit.planner.test_texts import export_of, import_of

LEGACY = Fusion.legacy()


def alone(adl: Adl) -> list[list[str]]:
    """Every operator in a PE of its own."""
    return [[name] for name in adl.operators]


def text_of(adl: Adl) -> str:
    """The document, of the product version that every document of version 4000 is taken for."""
    return adl.text().replace("4.3.0.0", "4.1.0.0")


def read(text: str) -> Application:
    bundle = replace(Adl().chain("a", "b").bundle(), adl=text.encode(), build_id="build")
    return read_application(bundle)


def both(
    adl: Adl, pes: Iterable[Iterable[str]], fusion: Fusion = LEGACY
) -> tuple[PlanResult, PlanResult]:
    """The plans of the older and the newer form; the older one is valid under its schema."""
    old = as_v4000(text_of(adl), pes)
    schema = etree.XMLSchema(etree.parse(str(corpus("schema/SAM/v4000/adlModel.xsd"))))
    schema.validate(etree.fromstring(old.encode()))
    assert not schema.error_log
    return plan_of(read(old), fusion), plan_of(read(text_of(adl)), fusion)


def plain() -> Adl:
    return Adl().chain("a", "b", "c")


def nested() -> Adl:
    adl = Adl().operator("a", 0, 1).operator("P.H.f").operator("z", 1, 0)
    return adl.connect("a", "P.H.f").connect("P.H.f", "z").region("P", 2).region("P.H.f", 3, "Hash")


def placed() -> Adl:
    adl = Adl().pool("gpu", inside='<tag name="gpu"/>').chain("a", "b", "c")
    adl.operators["b"].resources = (
        '<poolLocation poolIndex="1" inpoolIndex="2"/><coLocation colocId="H"/>'
        '<exLocation exlocId="X"/>'
    )
    return adl


def with_values() -> Adl:
    adl = Adl().value("width", '"2"').chain("a", "f", "z").region("f", "width")
    written = adl.text
    adl.text = lambda: written().replace(  # type: ignore[method-assign]
        "<runtimeConstants/>",
        '<checkpointing policy="periodic" period="1.5"/><runtimeConstants><runtimeConstant'
        ' name="lit" value="1" submissionTimeValueIndex="0"/></runtimeConstants>',
    )
    return adl


def with_imports() -> Adl:
    adl = Adl().operator("a").operator("z", 1, 0).connect("a", "z")
    adl.pseudo = [
        import_of("I1", 5, 0, '<nameBasedImport applicationName="A" streamName="s"/>'),
        import_of("I2", 6, 1, '<propertyBasedImport subscription="k"/>', ' filter="x &gt; 1"'),
        export_of("E", 7, 0, ' streamName="out" allowFilter="false"'),
    ]
    return adl


def annotated() -> Adl:
    adl = plain()
    note = '<splAnnotation tag="view"><value key="name" type="rstring">V</value></splAnnotation>'
    written = adl.text
    adl.text = lambda: written().replace(  # type: ignore[method-assign]
        'singleThreadedOnOutputs="true">', f'singleThreadedOnOutputs="true">{note}'
    )
    return adl


@pytest.mark.parametrize(
    "adl", [plain(), nested(), placed(), with_values(), with_imports(), annotated()]
)
@pytest.mark.parametrize("fusion", [LEGACY, Fusion.manual(2)])
def test_both_versions_of_an_application_give_the_same_plan(adl: Adl, fusion: Fusion) -> None:
    old, new = both(adl, alone(adl), fusion)
    assert old.record == new.record
    assert old.aadls == new.aadls
    assert old.port_labels == new.port_labels
    assert [schema_errors(text) for text in old.aadls.values()] == [""] * len(old.aadls)


def test_operators_that_were_compiled_into_one_pe_stay_together() -> None:
    """As if each had the co-location id of the PE; an operator alone in its PE has none."""
    old, _ = both(plain(), [["a"], ["b", "c"]])
    assert [pe.operators for pe in old.record.pes] == [("a",), ("b", "c")]
    adl = plain()
    for name in "bc":
        adl.operators[name].partitions = '<coLocation colocId="pe1"/>'
    assert plan_of(read(text_of(adl)), LEGACY).aadls == old.aadls


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(adl=applications(always_restartable=True), data=st.data())
def test_both_versions_of_any_application_give_the_same_plan(adl: Adl, data: st.DataObject) -> None:
    """Whatever PEs it was compiled into."""
    groups: dict[int, list[str]] = {}
    for name in adl.operators:
        groups.setdefault(data.draw(st.integers(0, 3)), []).append(name)
    for index, names in enumerate(groups.values()):
        for name in names:
            together = f'<coLocation colocId="pe{index}"/>' if len(names) > 1 else ""
            adl.operators[name].partitions = together
    adl.regions = [
        (path, width, "Hash" if kind == "Broadcast" else kind) for path, width, kind in adl.regions
    ]
    old = plan_of(read(as_v4000(text_of(adl), groups.values())), LEGACY)
    new = plan_of(read(text_of(adl)), LEGACY)
    assert old.record == new.record
    assert old.aadls == new.aadls


def test_an_operator_restarts_and_moves_as_its_pe_where_it_says_nothing() -> None:
    adl = plain()
    adl.operators["b"].restartable = False
    text = as_v4000(text_of(adl), alone(adl))
    bare = re.sub('(<operInstance [^>]*) restartable="[a-z]*" relocatable="true"', r"\1", text)
    assert bare != text
    record = plan_of(read(bare), LEGACY).record
    assert [pe.restartable for pe in record.pes] == [True, False, True]


def test_a_splitter_is_round_robin_or_hash_and_every_definition_is_of_cpp() -> None:
    adl = Adl().chain("a", "f", "z").region("f", 2, "Broadcast")
    old = as_v4000(text_of(adl), alone(adl)).replace("SPL_C++", "SPL_Java")
    aadls = plan_of(read(old), LEGACY).aadls
    assert '<splitter kind="Hash"' in aadls[0]
    assert 'runtimeType="SPL_CPlusPlus"' in aadls[0]


def test_what_a_pe_says_of_display_tracing_and_capabilities_is_reported_of_its_operators() -> None:
    adl = plain()
    old = as_v4000(text_of(adl), alone(adl)).replace(
        '<tracing level="error"/>',
        '<display name="d" value="&quot;:1&quot;"/><tracing level="debug"/>'
        "<capability>Hear</capability>",
    )
    aadl = plan_of(read(old), LEGACY).aadls[0]
    assert ' display=":1"' in aadl
    assert '<a:tracingUpdate level="debug"/>' in aadl
    assert "<a:capability>Hear</a:capability>" in aadl


def test_a_bundle_is_packed_from_the_older_version_too() -> None:
    adl = plain()
    packed = pack(as_v4000(text_of(adl), alone(adl)).encode())
    assert read_application(open_bundle(packed, BundleLimits())).name == "demo::Main"


def refusal(text: str) -> PlanRefused:
    with pytest.raises(PlanRefused) as caught:
        read(text)
    assert caught.value.reason is Reason.ADL_INVALID
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('index="1" name="b"', 'index="9" name="b"', "'b' in line 1 of the ADL is in no PE"),
        ('index="1" name="b"', 'index="0" name="b"', "stands in two PEs"),
        ("exportOperName", "other", "has no attribute exportOperName"),
        ('importOperName="I1"', 'importOperName="J"', "named by no PE port as what it imports"),
        ("pes>", "peas>", "has no child pes"),
        ('compositeOperIndex="0"', 'compositeOperIndex="7"', "has an unknown definition"),
        ('optimized="true"', 'optimized="yes"', "not a boolean"),
        ('toolkitIndex="0"', 'toolkitIndex="x"', "not a number"),
        ("bin/x.so", "x" * 5000, "more than 4096 characters"),
        (
            '<tracing level="error"/>',
            '<tracing level="error"/>' + "<capability>C</capability>" * 65,
            "more than 64 capabilities",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_by_element_and_line(
    old: str, new: str, says: str
) -> None:
    adl = with_imports()
    adl.operators["b"] = adl.operators.pop("z")
    adl.operators["b"].path = "b"
    adl.connections = [("a", 0, "b", 0)]
    text = as_v4000(text_of(adl), alone(adl))
    assert old in text
    assert says in refusal(text.replace(old, new)).message


@pytest.mark.parametrize("namespace", ["", "http://example.com/other", "application/v4100"])
def test_a_root_of_another_namespace_is_refused_with_both_that_are_known(namespace: str) -> None:
    error = refusal(f'<applicationSet xmlns="{namespace}"/>')
    assert error.field == "ADL root"
    assert "version 4200" in error.message
    assert "4000" in error.message
