"""Parallel regions by hand: small applications, and what the specification's words make of them."""

from __future__ import annotations

import pytest

from contracts.bundle_format import pack
from planner.application.adl import read_application
from planner.application.bundles import open_bundle
from planner.application.model import Application
from planner.drafting import Draft, draft
from planner.numbering.records import Fusion, PlanRecord
from planner.outline import outline
from planner.planning import complete
from planner.refusals import PlanRefused
from planner.requesting import PlanRequest
from tests.unit.planner.adl_writing import Adl
from tests.unit.planner.reading import NAMES, read_pe
from tests.unit.planner.test_texts import export_of, import_of
from tests.unit.planner.tree_writing import Tree, wire

Counts = tuple[int, int, int, int, int]


def drafted(
    application: Application,
    fusion: Fusion | None = None,
    *,
    widths: dict[str, int] | None = None,
    values: dict[str, str] | None = None,
    previous: PlanRecord | None = None,
) -> Draft:
    return draft(
        PlanRequest(
            application=application,
            bundle_digest="digest",
            job_name="job",
            job_id=7,
            fusion=fusion or Fusion.legacy(),
            widths={**(previous.widths if previous else {}), **(widths or {})},
            submission_time_values=values or {},
            previous=previous,
            compat=True,
        )
    )


def read(text: str) -> Application:
    return read_application(open_bundle(pack(text.encode())))


# --------------------------------------------------------------------------- counts


def two_ports(first: str, second: str) -> Tree:
    tree = Tree()
    main = tree.main
    a, b, z = main.operator("a", 0), main.operator("b", 0), main.operator("z", 1, 0)
    f = main.operator("f", 2, width=3)
    f.splitters = [(first, ("k",) if first == "Hash" else ()), (second, ())]
    wire(a, f)
    wire(b, f, port=1)
    wire(f, z)
    return tree


def two_producers() -> Tree:
    tree = Tree()
    f = tree.main.operator("f", 1, 0, width=2)
    for name in ("a", "b"):
        wire(tree.main.operator(name, 0), f)
    return tree


def two_regions_behind_one_port() -> Tree:
    tree = Tree()
    a = tree.main.operator("a", 0)
    wire(a, tree.main.operator("f", 1, 0, width=2))
    wire(a, tree.main.operator("g", 1, 0, width=3))
    return tree


def adjacent() -> Tree:
    tree = Tree()
    one, other = tree.main.composite("C", 0, 1, width=2), tree.main.composite("D", 1, 0, width=3)
    wire(one.operator("f", 0), one)
    wire(other, other.operator("g", 1, 0))
    wire(one, other)
    return tree


def feedback() -> Tree:
    tree = Tree()
    f = tree.main.operator("f", width=2)
    wire(f, f)
    return tree


def three_deep() -> Tree:
    tree = Tree()
    p = tree.main.composite("P", 1, 0, width=2)
    q = p.composite("Q", 1, 0, width=2)
    wire(tree.main.operator("a", 0), p)
    wire(p, q)
    wire(q, q.operator("f", 1, 0, width=2))
    return tree


def broadcast_within_hash() -> Tree:
    """The broadcast vanishes: a channel of the hash feeds all that is behind it."""
    tree = three_deep()
    p, q, f = tree.regions()
    p.splitters, q.splitters, f.splitters = [("Hash", ("k",))], [("Broadcast", ())], f.splitters
    return tree


def shared_port() -> Tree:
    """One port of a composite leads to a region and to an operator beside it."""
    tree = Tree()
    c = tree.main.composite("C", 1, 1, width=2)
    f, g, z = c.operator("f", width=2), c.operator("g"), tree.main.operator("z", 1, 0)
    wire(tree.main.operator("a", 0), c)
    for each in (f, g):
        wire(c, each)
        wire(each, c)
    wire(c, z)
    return tree


def twice_connected() -> Tree:
    tree = Tree()
    a, z = tree.main.operator("a", 0), tree.main.operator("z", 1, 0)
    wire(a, z)
    wire(a, z)
    return tree


def imported_within() -> Tree:
    """An Import in each channel, and an Export of each."""
    tree = Tree()
    c = tree.main.composite("C", 0, 0, width=3)
    f = c.operator("f")
    wire(c.importing("I"), f)
    wire(f, c.exporting("E"))
    return tree


@pytest.mark.parametrize(
    ("tree", "counts"),
    [
        (two_ports("Hash", "RoundRobin"), (6, 9, 7, 9, 9)),
        (two_ports("Hash", "Broadcast"), (6, 9, 7, 7, 9)),
        (two_producers(), (4, 4, 2, 4, 4)),
        (two_regions_behind_one_port(), (6, 5, 5, 5, 5)),
        (adjacent(), (5, 6, 3, 6, 6)),
        (feedback(), (2, 4, 2, 2, 2)),
        (three_deep(), (9, 8, 8, 8, 8)),
        (broadcast_within_hash(), (9, 8, 8, 8, 8)),
        (shared_port(), (8, 12, 7, 12, 12)),
        (twice_connected(), (2, 2, 1, 1, 1)),
        (imported_within(), (3, 0, 3, 3, 0)),
    ],
)
def test_operators_connections_and_pe_ports_are_as_counted_by_hand(
    tree: Tree, counts: Counts
) -> None:
    """Operators, connections, PE input ports, PE output ports and static connections; legacy."""
    said = outline(drafted(tree.application()))
    names = ("ops", "operator_connections", "pe_input_ports", "pe_output_ports")
    assert tuple(said[name] for name in (*names, "static_connections")) == counts


def test_in_compat_every_channel_that_an_import_reaches_imports_all_of_it() -> None:
    """By default one import of a port has a share, which cannot be beside one that is whole."""
    tree = Tree()
    c = tree.main.composite("C", 1, 0)
    d = c.composite("D", 1, 0, width=2)
    g = d.operator("g", 1, 0)
    wire(tree.main.importing("I"), c)
    wire(c, d)
    wire(d, g)
    wire(d.importing("J"), g)
    texts = complete(drafted(tree.application())).aadls
    for text in texts.values():
        (streams,) = read_pe(text).root.iterfind(
            "a:inputPorts/a:inputPort/a:importedStreams", NAMES
        )
        assert sorted(str(each.get("streamName")) for each in streams) == ["I", "J"]
        assert streams.get("filter") is None
    assert len(texts) == 2


# --------------------------------------------------------------------------- constraints


def nested(identity: str) -> Adl:
    """Two operators in each of three channels within each of two."""
    adl = Adl().operator("a", 0, 1)
    for path in ("P.H.f", "P.H.g"):
        adl.operator(path, partitions=f'<coLocation colocId="{identity}"/>')
    adl.connect("a", "P.H.f").connect("P.H.f", "P.H.g")
    return adl.region("P", 2).region("P.H", 3)


@pytest.mark.parametrize(
    ("identity", "pes"),
    [
        ("C", [1, 12]),
        ("byChannel(C)", [1, 6, 6]),
        ("byChannel(C, 0)", [1, 6, 6]),
        ("byChannel(C,1)", [1, *[2] * 6]),
        ("byChannel(C,2)", [1, 12]),
        ("getChannel()", [1, *[2] * 6]),
        ("getLocalChannel()", [1, 4, 4, 4]),
        ("getMaxChannels()_getLocalMaxChannels()", [1, 12]),
        ("getAllChannels()", [1, *[2] * 6]),
    ],
)
def test_an_id_that_names_channels_joins_what_is_in_them(identity: str, pes: list[int]) -> None:
    made = drafted(nested(identity).application())
    assert sorted(map(len, made.placed.values())) == pes


def test_without_a_parallel_region_the_text_of_intrinsics_stays() -> None:
    """Of ids, and of what is imported and exported; with one it is replaced everywhere."""
    adl = Adl().operator("a", 0, 1, partitions='<coLocation colocId="byChannel(C)"/>')
    adl.operator("b", 1, 0, partitions='<coLocation colocId="C"/>')
    adl.pseudo = [
        export_of("E", 90, 0, ' streamName="s_getChannel()"'),
        import_of("I", 91, 1, '<nameBasedImport applicationName="A" streamName="getChannel()"/>'),
    ]
    plain = drafted(adl.application())
    assert len(plain.placed) == 2
    assert [each.stream for found in plain.topology.exports.values() for each in found] == [
        "s_getChannel()"
    ]
    assert plain.topology.imports[1, 0][0].stream == "getChannel()"
    adl.operator("f", 0, 0).region("f", 1)
    wide = drafted(adl.application())
    assert sorted(map(len, wide.placed.values())) == [1, 2]
    assert [each.stream for found in wide.topology.exports.values() for each in found] == ["s_-1"]
    assert wide.topology.imports[1, 0][0].stream == "-1"


def test_a_pool_is_replicated_by_all_channels_of_the_innermost_region() -> None:
    """Its name has the region and the channels, inner first; only tags that are listed change."""
    adl = Adl().pool("P", inside='<tag name="gpu"/><tag name="big"/>').operator("a", 0, 1)
    adl.operator("C.f", 1, 0, resources='<poolLocation poolIndex="1"/>').connect("a", "C.f")
    adl.region("C", 2).region("C.f", 2)
    text = adl.text().replace(
        "</parallelWidth></parallelRegion></parallelRegions>",
        '</parallelWidth><replicateHostTag name="gpu"/></parallelRegion></parallelRegions>',
    )
    pools = drafted(read(text)).topology.pools
    assert {pool.name: (pool.index, pool.tags) for pool in pools.values()} == {
        "$default": (0, ()),
        "P": (1, ("gpu", "big")),
        **{
            f"P_1_{inner}_{outer}": (2 + inner, (f"gpu_{inner}_{outer}", "big"))
            for inner, outer in ((0, 0), (1, 0), (2, 1), (3, 1))
        },
    }


# --------------------------------------------------------------------------- refusals


def wrong_in_every_way() -> Adl:
    """A value is missing, a width is 0, an Import is beside a region, and arguments differ."""
    adl = Adl().value("v").operator("f").operator("z", 1, 0).connect("f", "z").region("f", 0)
    for name, argument in (("x", "-Xmx1g"), ("y", "-Xmx2g")):
        adl.operator(
            name,
            0,
            0,
            partitions='<coLocation colocId="C"/>',
            extra=f"<jvmArguments><jvmArgument>{argument}</jvmArgument></jvmArguments>",
        )
    adl.pseudo = [import_of("I", 90, 0, '<propertyBasedImport subscription="k"/>')]
    return adl


def test_of_several_errors_the_one_of_the_earliest_step_is_reported() -> None:
    """Values, then widths, then expansion, then fusion."""
    adl = wrong_in_every_way()

    def code(values: dict[str, str]) -> str:
        with pytest.raises(PlanRefused) as refused:
            drafted(adl.application(), values=values)
        return refused.value.code

    assert code({}) == "CDISR1146E"
    assert code({"v": "1"}) == "CDISR1164E"
    adl.regions = []
    adl.region("f", 1)
    assert code({"v": "1"}) == "CDISR1358E"
    adl.pseudo = []
    assert code({"v": "1"}) == "CDISR3200E"


# --------------------------------------------------------------------------- resizes


def test_pes_whose_names_make_the_same_row_keep_their_operators() -> None:
    """a, ab and aa, b are both aab: the id goes to one of them, and nobody is lost."""
    adl = Adl()
    for name, group in (("a", "1"), ("ab", "1"), ("aa", "2"), ("b", "2")):
        adl.operator(name, 0, 0, partitions=f'<coLocation colocId="{group}"/>')
    application = adl.operator("f", 0, 0).region("f", 1).application()
    before = drafted(application)
    record = complete(before).record
    after = drafted(application, widths={"f": 2}, previous=record)
    assert sorted(index for each in after.placed.values() for index in each) == [0, 1, 2, 3, 4, 5]
    assert len(after.placed) == len(before.placed) + 1
