"""The ADL of an application is valid, and the control plane plans what its author wrote."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from lxml import etree

from contracts.bundle_format import BundleLimits, open_bundle, pack
from contracts.reasons import Reason
from millrace import App
from millrace.adl import adl_of
from millrace.code import Code
from millrace.parameters import constant_value
from planner.application.adl import read_application
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused
from tests.places import ROOT, corpus
from tests.unit.millrace import words as w
from tests.unit.planner.adl_writing import plan_of
from tests.unit.planner.reading import NAMES as AADL
from tests.unit.planner.reading import read_pe, schema_errors

LEGACY = Fusion("legacy")
NAMES = {"a": "http://www.ibm.com/xmlns/prod/streams/application/v4200"}
CODE = Code("words", "app", "1.0.0", ROOT / "words.py", ROOT)


@dataclass
class Inner:
    name: str
    at: datetime.datetime | None


@dataclass
class Everything:
    word: str
    count: int
    numbers: list[int]
    names: set[str]
    totals: dict[str, list[float]]
    inner: Inner
    inners: dict[int, Inner] = field(default_factory=dict)
    raw: bytes | None = None


def everything() -> Iterator[Everything]:
    yield from ()


def is_big(item: Everything, least: int) -> bool:
    return item.count > least


def large() -> App:
    """An application with all that an ADL can say."""
    app = App("demo::Large")
    width, least = app.param("width", default=3), app.required_param("least", int)
    gpu = app.host_pool("gpu", tags=("gpu",), size=2, exclusive=True)
    source = app.source(everything, name="Source").host(gpu)
    big = source.filter(is_big, fn_kwargs={"least": least}, name="Big").colocate("front")
    source.map(lambda x: x, returns=Everything, name="Other").colocate("front")
    outer = big.parallel(2, name="Outer")
    inner = outer.map(lambda x: x, returns=Everything, name="First").parallel(width, key="word")
    inner.map(lambda x: x, returns=Everything, name="Deep").end_parallel().map(
        lambda x: x, returns=Everything, name="Last"
    ).end_parallel().sink(print, name="Sink").isolate()
    outer.sink(print, name="Inside").separate("apart", level="host")
    big.export(properties={"kind": "big", "levels": ["a", "b"], "number": 1, "yes": True})
    imported = app.import_(w.Word, application="demo::Words", stream="Words", name="Named")
    imported.union(app.import_(w.Word, subscription='kind == "x"', name="Found")).sink(
        print, name="Imported"
    ).host("node-1")
    return app


def counting(width: int = 3) -> App:
    """Words that are counted in a region of one operator."""
    app = App("demo::Words")
    found = app.source(w.lines, name="Lines").flat_map(w.words, name="Words")
    split = found.parallel(app.param("width", default=width), key="word")
    counts = split.key_by("word").map(w.counted, state=w.Total, name="Counted").end_parallel()
    counts.sink(print, name="Report")
    return app


def text_of(app: App) -> bytes:
    return adl_of(app.graph, app.pools, CODE)


def planned(app: App, fusion: Fusion = LEGACY, **more: Any) -> dict[str, etree._Element]:
    """The operators of all PEs of a plan, by name; `pe` is the number of the PE."""
    application = read_application(open_bundle(pack(text_of(app)), BundleLimits()))
    found = {}
    for number, text in plan_of(application, fusion, **more).aadls.items():
        for operator in read_pe(text).root.iterfind("a:operInstances/d:operInstance", AADL):
            operator.set("pe", str(number))
            found[str(operator.get("name"))] = operator
    return found


def constants(operator: etree._Element) -> dict[str, Any]:
    return {
        str(each.get("name")): constant_value(str(each.get("value")))
        for each in operator.iterfind("d:runtimeConstants/d:runtimeConstant", AADL)
    }


@pytest.mark.corpus
@pytest.mark.parametrize("make", [large, counting])
def test_an_adl_is_valid_under_the_schema_of_ibm_streams(make: Callable[[], App]) -> None:
    schema = etree.XMLSchema(etree.parse(corpus("schema/SAM/v4200/adlModel.xsd")))
    assert schema.validate(etree.fromstring(text_of(make()))), schema.error_log


@pytest.mark.corpus
def test_aadls_of_a_plan_are_valid_under_the_schema_of_ibm_streams() -> None:
    application = read_application(open_bundle(pack(text_of(large())), BundleLimits()))
    for text in plan_of(application, LEGACY, values={"least": "5"}).aadls.values():
        assert schema_errors(text) == ""


def test_a_region_of_one_operator_is_planned_with_a_channel_for_each_width() -> None:
    found = planned(counting(), values={"width": "2"})
    assert set(found) == {"Lines", "Words", "Counted[0]", "Counted[1]", "Report"}
    splitter = found["Words"].find(".//d:splitter", AADL)
    assert splitter is not None
    assert splitter.get("kind") == "Hash"
    assert [each.get("name") for each in splitter.iterfind("d:attributes/d:attribute", AADL)] == [
        "word"
    ]


def test_the_default_of_a_submission_time_value_is_the_width() -> None:
    assert sum(name.startswith("Counted[") for name in planned(counting(width=4))) == 4


def test_regions_in_regions_have_global_channels() -> None:
    found = planned(large(), values={"least": "5"})
    deep = [name for name in found if "Deep" in name]
    assert len(deep) == 2 * 3
    assert "Outer[1].Deep[5]" in found
    assert found["Outer[1].Deep[5]"].get("logicalName") == "Outer.Deep"


def test_an_operator_of_a_plan_names_module_application_and_graph() -> None:
    app = counting()
    found = constants(planned(app)["Counted[0]"])
    assert found["millrace.module"] == "words"
    assert found["millrace.app"] == "app"
    assert found["millrace.graph"] == app.graph.digest
    assert found["millrace.key"] == ["word"]
    assert found["millrace.onError"] == "fail"


def test_a_submission_time_value_reaches_the_argument_of_a_function() -> None:
    found = planned(large(), values={"least": "7"})
    assert constants(found["Big"])["argument.least"] == "7"


def greeting(line: w.Line, text: str, often: float, loud: bool) -> w.Line:
    return w.Line(text)


def typed() -> App:
    app = App("demo::Typed")
    values = {
        "text": app.required_param("text", str),
        "often": app.param("often", default=1.5),
        "loud": app.param("loud", default=False),
    }
    app.source(w.lines).map(greeting, fn_kwargs=values, name="Greeting").sink(print)
    return app


def test_a_text_reaches_the_argument_of_a_function_whatever_it_has() -> None:
    found = planned(typed(), values={"text": '7 "x" \\ y', "often": "1e3", "loud": "True"})
    assert constants(found["Greeting"])["argument.text"] == '7 "x" \\ y'


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"often": "much"}, "spec.submissionTimeValues.often is 'much', and has to be a number"),
        ({"loud": "1"}, "spec.submissionTimeValues.loud is '1', and has to be true or false"),
    ],
)
def test_a_value_of_another_type_is_refused_when_the_job_is_planned(
    values: dict[str, str], message: str
) -> None:
    with pytest.raises(PlanRefused) as refused:
        planned(typed(), values={"text": "x", **values})
    assert message in str(refused.value)
    assert refused.value.reason is Reason.SUBMISSION_VALUE_INVALID


def test_all_values_of_another_type_are_named_at_once() -> None:
    with pytest.raises(PlanRefused, match="least is 'x', and has to be a whole number"):
        planned(large(), values={"least": "x"})


def test_a_required_value_that_is_not_given_is_refused() -> None:
    with pytest.raises(PlanRefused, match="least is required and not given"):
        planned(large())


def test_operators_are_placed_as_the_author_says() -> None:
    found = planned(large(), Fusion("manual", 3), values={"least": "5"})
    assert found["Big"].get("pe") == found["Other"].get("pe")
    assert [name for name in found if found[name].get("pe") == found["Sink"].get("pe")] == ["Sink"]
    pool = found["Source"].find("d:resources/d:poolLocation", AADL)
    host = found["Imported"].find("d:resources/d:hostLocation", AADL)
    assert pool is not None
    assert host is not None
    assert (pool.get("poolIndex"), host.get("hostname")) == ("1", "node-1")


def test_channels_are_colocated_each_for_itself() -> None:
    app = App("demo::Words")
    region = app.source(w.lines).flat_map(w.words).parallel(2, name="Work")
    first = region.map(w.upper, name="A").colocate("together")
    first.map(w.upper, name="B").colocate("together").end_parallel().sink(print, name="Sink")
    found = planned(app)
    pe = {name: operator.get("pe") for name, operator in found.items()}
    assert pe["Work[0].A"] == pe["Work[0].B"] != pe["Work[1].A"] == pe["Work[1].B"]


def test_each_stream_that_leaves_a_region_has_a_port_of_its_own() -> None:
    app = App("demo::Words")
    region = app.source(w.lines).flat_map(w.words).parallel(2, name="Work")
    region.map(w.upper, name="A").end_parallel().sink(print, name="OfA")
    region.map(w.upper, name="B").end_parallel().sink(print, name="OfB")
    found = planned(app)
    for sink, source in (("OfA", "A"), ("OfB", "B")):
        read = {
            each.get("operInstanceIndex")
            for each in found[sink].iterfind(".//d:inputPort/d:interPeConnection", AADL)
        }
        assert read == {found[f"Work[{each}].{source}"].get("index") for each in (0, 1)}


def test_exports_and_imports_are_on_the_ports_of_pes() -> None:
    application = read_application(open_bundle(pack(text_of(large())), BundleLimits()))
    texts = "".join(plan_of(application, LEGACY, values={"least": "5"}).aadls.values())
    assert "<value>&quot;big&quot;</value>" in texts
    assert 'subscription="kind == &quot;x&quot;"' in texts
    assert 'applicationName="demo::Words"' in texts


def test_state_is_an_annotation_that_says_whether_it_follows_a_width() -> None:
    text = text_of(counting()).decode()
    assert '<value key="followsWidth" type="boolean">true</value>' in text
    assert '<value key="scope" type="rstring">key</value>' in text


def test_equal_applications_have_equal_adls() -> None:
    assert text_of(large()) == text_of(large())


def test_every_connection_is_written_at_both_of_its_ends() -> None:
    """Each reference of a port has a reference back at the other end."""
    root = etree.fromstring(text_of(large()))
    ends: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for port in root.iterfind(".//a:port", NAMES):
        ports = port.getparent()
        assert ports is not None
        owner = ports.getparent()
        assert owner is not None
        side = "input" if etree.QName(ports).localname == "inputPorts" else "output"
        own = (str(owner.get("index")), side, str(port.get("index")))
        for each in port.iterfind(".//a:connection", NAMES):
            other = (each.get("operIndex"), each.get("portKind"), each.get("portIndex"))
            ends.append((own, tuple(map(str, other))))
    assert len(ends) == len(set(ends)) > 20
    assert {(there, here) for here, there in ends} == set(ends)
