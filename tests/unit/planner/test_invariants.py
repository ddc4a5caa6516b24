"""What holds for every application, tried on generated ones."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import prod

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.application.model import Application
from planner.drafting import Draft, draft
from planner.numbering.records import Fusion
from planner.outline import outline
from planner.planning import PlanResult, complete
from planner.refusals import PlanRefused
from tests.unit.planner.adl_writing import Adl, plan_of, request_of
from tests.unit.planner.constrained import constrained
from tests.unit.planner.reading import NAMES, Pe, read_pes, schema_errors

COMPOSITES = ("", "P.", "Q.", "P.R.", "P.R.S.")
RESTRAINTS = (
    "",
    "",
    "",
    '<coLocation colocId="C"/>',
    '<exLocation exlocId="X"/>',
    '<coLocation colocId="byChannel(B)"/>',
)
SCHEMES = st.sampled_from(
    [
        Fusion.legacy(),
        *(Fusion.manual(n) for n in (1, 2, 3, 5, 9)),
        Fusion.automatic(1),
        Fusion.automatic(3, largest_node_mcpu=1000),
    ]
)
FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FAST = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def applications(draw: st.DrawFn, *, always_restartable: bool = False) -> Adl:
    """Operators in nested composites, connected forwards and now and then back, with regions.

    Their constraints never contradict each other.
    """
    adl = Adl()
    paths: list[str] = []
    for number in range(draw(st.integers(2, 7))):
        path = draw(st.sampled_from(COMPOSITES)) + f"o{number}"
        partitions = draw(st.sampled_from(RESTRAINTS))
        is_restartable = always_restartable or draw(st.integers(0, 7)) > 0
        adl.operator(
            path,
            inputs=draw(st.integers(0, 2)),
            outputs=draw(st.integers(0, 2)),
            partitions=partitions,
            restartable=is_restartable or "coLocation" in partitions,
        )
        paths.append(path)
    for source, target in product(paths, paths):
        outputs, inputs = adl.operators[source].outputs, adl.operators[target].inputs
        forwards = paths.index(source) < paths.index(target)
        if outputs and inputs and draw(st.integers(0, 2 if forwards else 9)) == 0:
            adl.connect(
                source,
                target,
                draw(st.integers(0, outputs - 1)),
                draw(st.integers(0, inputs - 1)),
            )
    roots = [*adl.operators, *adl.composites]
    for root in draw(st.lists(st.sampled_from(roots), unique=True, max_size=4)):
        kind = draw(st.sampled_from(["RoundRobin", "Hash", "Broadcast"]))
        adl.region(root, draw(st.integers(1, 3)), kind)
    return adl


def operators_expected(application: Application, widths: dict[str, int], adl: Adl) -> int:
    def around(path: str) -> list[str]:
        parts = path.split(".")
        return [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]

    return sum(prod(widths.get(each, 1) for each in around(path)) for path in adl.operators)


def check_ports(result: PlanResult, pes: dict[int, Pe]) -> None:
    """Both ends of every static connection agree; each id is unique in its PE and direction."""
    leaving: Counter[tuple[int, int, int, int]] = Counter()
    entering: Counter[tuple[int, int, int, int]] = Counter()
    for pe, item in pes.items():
        for port in item.root.iterfind("a:outputPorts/a:outputPort", NAMES):
            for end in port.iterfind("a:staticConnections/a:staticConnection", NAMES):
                peer, entry = int(str(end.get("peId"))), int(str(end.get("iportId")))
                leaving[pe, int(str(port.get("id"))), peer, entry] += 1
        for port in item.root.iterfind("a:inputPorts/a:inputPort", NAMES):
            for end in port.iterfind("a:staticConnections/a:staticConnection", NAMES):
                peer, out = int(str(end.get("peId"))), int(str(end.get("oportId")))
                entering[peer, out, pe, int(str(port.get("id")))] += 1
    assert leaving == entering
    assert not leaving or max(leaving.values()) == 1
    places = [(port.pe, port.key.direction, port.id) for port in result.record.ports]
    assert len(places) == len(set(places))


def check_port_order(pes: dict[int, Pe]) -> None:
    """Ids are ranks by the smallest PE at the other end, then operator, port, splitter, channel."""
    for pe in pes.values():
        for side in ("inputPorts/a:inputPort", "outputPorts/a:outputPort"):
            ranks = []
            for port in pe.root.iterfind(f"a:{side}", NAMES):
                ends = port.iterfind("a:staticConnections/a:staticConnection", NAMES)
                peer = min((int(str(end.get("peId"))) for end in ends), default=1 << 40)
                (own,) = port.iterfind("a:operInstanceConnection", NAMES)
                place = [own.get("operInstanceIndex"), own.get("iportIndex", own.get("oportIndex"))]
                place += [own.get("splitterIndex", "-1"), own.get("channelIndex", "-1")]
                ranks.append((int(str(port.get("id"))), peer, [int(str(each)) for each in place]))
            assert [number for number, _, _ in ranks] == list(range(len(ranks)))
            assert ranks == sorted(ranks, key=lambda rank: rank[1:])


def check_connections(pes: dict[int, Pe], connections_expected: int) -> None:
    """Every connection is written at both of its operators."""
    outgoing: Counter[tuple[str, ...]] = Counter()
    incoming: Counter[tuple[str, ...]] = Counter()
    for item in pes.values():
        for operator in item.root.iterfind("a:operInstances/d:operInstance", NAMES):
            index = str(operator.get("index"))
            for kind in ("inter", "intra"):
                for end in operator.iterfind(f".//d:outputPorts//d:{kind}PeConnection", NAMES):
                    outgoing[
                        index, str(end.get("operInstanceIndex")), str(end.get("iportIndex"))
                    ] += 1
                for port in operator.iterfind("d:inputPorts/d:inputPort", NAMES):
                    for end in port.iterfind(f"d:{kind}PeConnection", NAMES):
                        source = str(end.get("operInstanceIndex"))
                        incoming[source, index, str(port.get("index"))] += 1
    assert outgoing == incoming
    assert sum(outgoing.values()) == connections_expected


def check_channels(result: PlanResult, pes: dict[int, Pe], drafted: Draft) -> None:
    """A splitter has each channel of its region; operators' global channels leave none out."""
    widths = {region.index: region.width for region in result.record.regions}
    for item in pes.values():
        for splitter in item.root.iterfind(".//d:splitter", NAMES):
            channels = {
                int(str(each.get("index")))
                for each in splitter.iterfind("d:parallelChannel", NAMES)
            }
            assert channels == set(range(widths[int(str(splitter.get("regionIndex")))]))
    channels_of: dict[tuple[int, int], list[int]] = {}
    for operator in drafted.topology.operators.values():
        if operator.levels:
            level = operator.levels[0]
            assert level.channels == prod(each.width for each in operator.levels)
            channels_of.setdefault((operator.item.index, level.channels), []).append(level.channel)
    for (_, count), found in channels_of.items():
        assert sorted(found) == list(range(count))


def labels_expected(pes: dict[int, Pe]) -> list[str]:
    """One for each PE input port: which it is, for the operator port behind it."""
    found = []
    for pe, item in pes.items():
        for port in item.root.iterfind("a:inputPorts/a:inputPort", NAMES):
            (end,) = port.iterfind("a:operInstanceConnection", NAMES)
            place = int(str(end.get("operInstanceIndex"))), int(str(end.get("iportIndex")))
            found.append((place, f"{pe}.{port.get('id')}"))
    return [f"7.{place[0]}.{place[1]}={pe_port}@7" for place, pe_port in sorted(found)]


@FAST
@given(adl=applications(), fusion=SCHEMES)
def test_every_plan_is_whole_and_consistent(adl: Adl, fusion: Fusion) -> None:
    """Operators, ports, connections and labels add up; the AADLs are valid and repeatable."""
    application = adl.application()
    drafted = draft(request_of(application, fusion))
    result = complete(drafted)
    pes = read_pes(result.aadls)
    names = [name for item in pes.values() for name in item.operators]
    assert len(names) == len(set(names))
    assert len(names) == operators_expected(application, result.record.widths, adl)
    check_ports(result, pes)
    check_port_order(pes)
    found = outline(drafted)
    check_connections(pes, found["operator_connections"])
    check_channels(result, pes, drafted)
    assert result.port_labels.splitlines() == labels_expected(pes)
    assert found["pe_input_ports"] == sum(len(pe.input_ports) for pe in result.record.pes)
    assert found["static_connections"] == sum(item.static for item in pes.values())
    again = plan_of(adl.application(), fusion)
    assert again.aadls == result.aadls
    assert again.record == result.record


@FAST
@given(adl=applications(), fusion=SCHEMES, compat=st.booleans())
def test_every_text_is_valid_under_the_schema(adl: Adl, fusion: Fusion, *, compat: bool) -> None:
    request = replace(request_of(adl.application(), fusion), compat=compat)
    for text in complete(draft(request)).aadls.values():
        assert schema_errors(text) == ""


def test_every_text_with_constraints_is_valid() -> None:
    """Hosts, places in pools, isolation, JVM arguments and consistent regions are written."""
    valid = 0

    @FEW
    @given(adl=constrained(), fusion=SCHEMES, compat=st.booleans())
    def check(adl: Adl, fusion: Fusion, *, compat: bool) -> None:
        nonlocal valid
        request = request_of(adl.application(), fusion)
        with suppress(PlanRefused):
            for text in complete(draft(replace(request, compat=compat))).aadls.values():
                assert schema_errors(text) == ""
                valid += 1

    check()
    assert valid > 20, "nearly all were refused"


@FEW
@given(adl=applications(), fusion=SCHEMES, compat=st.booleans())
def test_the_same_widths_again_change_nothing(adl: Adl, fusion: Fusion, *, compat: bool) -> None:
    """Neither identities nor texts, also where compat plans from scratch."""
    request = replace(request_of(adl.application(), fusion), compat=compat)
    first = complete(draft(request))
    again = complete(
        draft(replace(request, widths=first.record.widths, previous=first.record, generation=2))
    )
    assert again.aadls == {}
    assert again.record == replace(first.record, generation=2, high_water=again.record.high_water)


@FAST
@given(adl=applications(), fusion=SCHEMES)
def test_the_scheme_does_not_change_which_operators_there_are(adl: Adl, fusion: Fusion) -> None:
    application = adl.application()
    one = {
        item.key: item.operator for item in plan_of(application, Fusion.legacy()).record.operators
    }
    two = {item.key: item.operator for item in plan_of(application, fusion).record.operators}
    assert one == two


@FAST
@given(adl=applications(always_restartable=True), fusion=SCHEMES, data=st.data())
def test_a_resize_keeps_identities_and_comes_back(
    adl: Adl, fusion: Fusion, data: st.DataObject
) -> None:
    """w → w' → w ends with the texts of the start, and no id ever means something else.

    All are restartable: else a new channel may join a co-location group that it makes contradict
    its PE, and then the group has to leave.
    """
    application = adl.application()
    first = plan_of(application, fusion)
    names = sorted(first.record.widths)
    changed = {name: data.draw(st.integers(1, 3), label=name) for name in names}
    larger = {name: max(width, changed[name]) for name, width in first.record.widths.items()}
    wide = plan_of(application, fusion, larger, previous=first.record)
    back = plan_of(application, fusion, first.record.widths, previous=wide.record)
    assert back.record.operators == first.record.operators
    assert [pe.content_id for pe in back.record.pes] == [pe.content_id for pe in first.record.pes]
    kept = {item.key: item for item in wide.record.operators}
    assert all(kept[item.key] == item for item in first.record.operators)
    ports = {(item.pe, item.key): item.id for item in wide.record.ports}
    for item in first.record.ports:
        assert ports.get((item.pe, item.key), item.id) == item.id
    check_ports_of(wide)


def check_ports_of(result: PlanResult) -> None:
    places = [(port.pe, port.key.direction, port.id) for port in result.record.ports]
    assert len(places) == len(set(places))


@FAST
@given(adl=applications(), pes=st.integers(1, 9))
def test_ex_located_operators_never_share_a_pe_unless_co_located(adl: Adl, pes: int) -> None:
    """No packing violates a constraint; N = 1 without constraints is one PE."""
    application = adl.application()
    record = plan_of(application, Fusion.manual(pes)).record
    restraints = {path: adl.operators[path].partitions for path in adl.operators}
    if not any(restraints.values()) and all(o.restartable for o in adl.operators.values()):
        assert len(record.pes) <= max(1, pes)
    for pe in record.pes:
        paths = [_logical(name) for name in pe.operators]
        apart = [path for path in paths if "exLocation" in restraints[path]]
        assert len(apart) <= 1


def _logical(name: str) -> str:
    return ".".join(part.partition("[")[0] for part in name.split("."))
