"""The planner against a naive expansion of the same applications (reference.py): what it must give.

Names, numbers, channels, connections, splitters, PE ports and what a resize changes are compared
for trees of composites whose ports are shared, with regions at any depth, sources and sinks inside
of them, feedback, imports and exports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count
from random import Random

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from contracts.reasons import Reason
from planner.drafting import Draft, draft
from planner.graph.topology import Edge, Fan, FanSource, Topology
from planner.graph.topology import Splitter as Splitting
from planner.numbering.records import Fusion, PlanRecord
from planner.outline import outline, outline_of_resize
from planner.planning import complete
from planner.refusals import PlanRefused
from planner.requesting import PlanLimits, PlanRequest
from tests.unit.planner.reference import (
    Circle,
    Record,
    Reference,
    changed,
    identity_of,
    levels_of,
    logical_name,
    name_of,
    reference,
    stream_name,
    transferred,
)
from tests.unit.planner.reference_tree import refused
from tests.unit.planner.tree_writing import End, Item, Tree, join, wire

DEPTH_MAX = 3
COPIES_MAX = 150
EDGES_MAX = 3000
KINDS = ("RoundRobin", "Hash", "Broadcast")
SLOW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
SCHEMES = st.sampled_from([Fusion.legacy(), *map(Fusion.manual, (1, 2, 3, 5))])


# --------------------------------------------------------------------------- applications


def _filled(chance: Random, scope: Item, depth: int, names: Iterator[str]) -> None:
    """Fills a composite, and connects what is in it."""
    for _ in range(chance.choice((1, 2, 2))):
        ports = chance.choice(((0, 1), (1, 1), (1, 1), (1, 1), (1, 2), (2, 1), (1, 0)))
        item = scope.operator(next(names), *ports)
        streams = [item.path, f"{item.path}.T", scope.path or "S", f"{scope.path}0.T"]
        item.streams = [chance.choice(streams) for _ in item.streams]
    for _ in range(chance.choice((0, 1, 1, 1) if depth else (1, 2)) if depth < DEPTH_MAX else 0):
        ports = chance.choice(((0, 1), (1, 1), (1, 1), (1, 1), (1, 1), (2, 2), (1, 0)))
        _filled(chance, scope.composite(next(names), *ports), depth + 1, names)
    if chance.random() < 0.06:
        scope.importing(next(names))
    if chance.random() < 0.06:
        scope.exporting(next(names))
    _connect(chance, scope)


def _connect(chance: Random, scope: Item) -> None:
    """Up to three ways into each input port inside, and out of the composite.

    What enters a composite seldom leaves it without an operator between, and what leaves an item
    seldom comes back to it.
    """
    leaves: list[End] = [(item, "output", n) for item in scope.inside for n in range(item.outputs)]
    enters: list[End] = [(item, "input", n) for item in scope.inside for n in range(item.inputs)]
    around: list[End] = [(scope, "input", n) for n in range(scope.inputs)]
    beyond: list[End] = [(scope, "output", n) for n in range(scope.outputs)]
    chance.shuffle(order := list(range(len(scope.inside))))
    place = dict(zip(scope.inside, order, strict=True))
    is_free = chance.random() < 0.15
    for entry in (*enters, *beyond):
        inner = leaves if entry in beyond else [*around, *leaves]
        if entry in enters and not is_free:
            inner = [*around, *(each for each in leaves if place[each[0]] < place[entry[0]])]
        sources = [*leaves, *around] if is_free else inner
        for _ in range(chance.choice((0, 1, 1, 1, 1, 2, 2, 3)) if sources else 0):
            join(chance.choice(sources), entry)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Any application of a few operators, with regions at any depth."""
    chance, tree = draw(st.randoms(use_true_random=False)), Tree()
    _filled(chance, tree.main, 0, map("n{}".format, count()))
    items = [item for item in tree.main.all() if item is not tree.main]
    candidates = [item for item in items if item.kind in ("primitive", "composite")]
    roots = dict.fromkeys(chance.sample(candidates, min(chance.randint(0, 5), len(candidates))))
    for inner in list(roots):
        around = [each for each in candidates if inner.path.startswith(f"{each.path}.")]
        roots |= dict.fromkeys(each for each in around if chance.random() < 0.6)
    for root in roots:
        root.width = chance.choice((1, 2, 2, 3))
        root.splitters = [
            (kind, ("k", "l")[: chance.randint(0, 2)] if kind == "Hash" else ())
            for kind in chance.choices(KINDS, k=root.inputs)
        ]
    for way in (way for item in items for way in (item.into, item.out_of)):
        for ends in way.values():
            chance.shuffle(ends)
    tree.order = list(range(sum(item.kind == "primitive" for item in items)))
    chance.shuffle(tree.order)
    assume(_copies(tree.main) <= COPIES_MAX)
    return tree


def _copies(item: Item) -> int:
    inside = sum(map(_copies, item.inside)) if item.inside else 1
    return max(1, item.width) * inside


# --------------------------------------------------------------------------- both answers


def drafted(
    tree: Tree,
    fusion: Fusion,
    *,
    compat: bool = True,
    widths: Mapping[str, int] | None = None,
    previous: PlanRecord | None = None,
) -> Draft:
    return draft(
        PlanRequest(
            application=tree.application(),
            bundle_digest="digest",
            job_name="job",
            job_id=7,
            fusion=fusion,
            widths={**(previous.widths if previous else {}), **(widths or {})},
            previous=previous,
            limits=PlanLimits(aadl_bytes_max=1 << 30),
            compat=compat,
        )
    )


def answers(tree: Tree, fusion: Fusion) -> tuple[Draft, Reference]:
    """The planner's and the naive one; an application that has none is left out."""
    text = tree.text()
    assume(not refused(text))
    try:
        naive = reference(text)
    except Circle:
        assume(False)
        raise
    assume(is_comparable(naive))
    return drafted(tree, fusion), naive


def is_comparable(naive: Reference) -> bool:
    """Of a size that is soon planned, at the widths that it was expanded for, and not refused.

    Two exports of one channel are refused, which the specification says nothing of; a region of
    one channel may come to have two of them by a resize of one around or inside of it.
    """
    return len(naive.edges) <= EDGES_MAX and all(
        times == 1 for key, times in naive.exports.items() if key[2] >= 0
    )


def recorded(made: Draft) -> PlanRecord:
    """The record of a plan; imports of one port of which only one is split are left out."""
    try:
        return complete(made).record
    except PlanRefused as refusal:
        assume(refusal.reason is not Reason.NOT_SUPPORTED_YET)
        raise


def plain(edges: list[Edge]) -> Counter[tuple[int, ...]]:
    return Counter(tuple(edge) for edge in edges)


def ours(fan: Fan, source: FanSource, splitters: list[Splitting]) -> list[Record]:
    """The planner's splitters as the naive one writes them down."""
    return [
        Record(
            source.ids[each.position],
            each.spec.kind,
            each.spec.port,
            each.region,
            each.drop_window_punctuation,
            each.spec.attributes,
            [ours(fan, source, leg.splitters) for leg in each.channels],
        )
        for each in splitters
    ]


def splitters_of(topology: Topology) -> dict[tuple[int, int], list[Record]]:
    return {
        port: [
            record
            for fan, source in outlet.fans
            for record in ours(fan, source, fan.root.splitters)
        ]
        for port, outlet in topology.outlets.items()
    }


def ports_of(naive: Reference, pe_of: Mapping[int, int]) -> tuple[set[tuple[int, ...]], ...]:
    """Input ports, output ports and static connections of PEs, each with its PE first."""
    crossing = [edge for edge in naive.edges if pe_of[edge[0]] != pe_of[edge[2]]]
    entering: set[tuple[int, ...]] = {(pe_of[edge[2]], edge[2], edge[3]) for edge in crossing}
    entering |= {(pe_of[operator], operator, port) for operator, port in naive.imported}
    leaving: set[tuple[int, ...]] = {
        (pe_of[edge[0]], edge[0], edge[1], *edge[4:], 0) for edge in crossing
    }
    for (operator, port, *place), times in naive.exports.items():
        leaving |= {(pe_of[operator], operator, port, *place, number) for number in range(times)}
    return entering, leaving, {*crossing}


def check_ports(made: Draft, naive: Reference) -> None:
    entering, leaving, static = ports_of(naive, made.pe_of)
    said = outline(made)
    assert said["pe_input_ports"] == len(entering)
    assert said["pe_output_ports"] == len(leaving)
    assert said["static_connections"] == len(static)
    for pe, item in said["pe"].items():
        assert item["in"] == sum(each[0] == int(pe) for each in entering)
        assert item["out"] == sum(each[0] == int(pe) for each in leaving)


# --------------------------------------------------------------------------- fresh plans


@SLOW
@given(tree=trees())
def test_operators_have_the_names_numbers_and_channels_of_the_specification(tree: Tree) -> None:
    made, naive = answers(tree, Fusion.legacy())
    found = made.topology.operators
    assert list(found) == list(naive.nodes)
    for number, node in naive.nodes.items():
        operator = found[number]
        assert (operator.name, operator.logical_name) == (name_of(node), logical_name(node))
        assert operator.key == identity_of(node)
        assert [
            (each.region, each.local, each.width, each.channel, each.channels)
            for each in operator.levels
        ] == levels_of(node)
        assert list(operator.stream_names) == [stream_name(node, each) for each in node.streams]


@SLOW
@given(tree=trees())
def test_connections_and_splitters_are_those_of_the_specification(tree: Tree) -> None:
    made, naive = answers(tree, Fusion.legacy())
    topology = made.topology
    assert plain(list(topology.edges)) == Counter(naive.edges)
    assert splitters_of(topology) == naive.splitters
    assert {key: len(each) for key, each in topology.exports.items()} == naive.exports
    assert set(topology.imports) == naive.imported


@SLOW
@given(tree=trees(), fusion=SCHEMES)
def test_pe_ports_and_static_connections_are_counted_as_the_specification_says(
    tree: Tree, fusion: Fusion
) -> None:
    """Over any fusion of them; a fresh plan is the same in both modes."""
    made, naive = answers(tree, fusion)
    check_ports(made, naive)
    assert outline(drafted(tree, fusion, compat=False)) == outline(made)


@SLOW
@given(tree=trees())
def test_what_the_original_cannot_plan_is_refused_with_its_code(tree: Tree) -> None:
    """An Import or Export beside the root of a region, or connections in a circle."""
    text = tree.text()
    if refused(text):
        expected = "CDISR1358E"
    else:
        try:
            assume(is_comparable(reference(text)))
            expected = ""
        except Circle:
            expected = "AdlInvalid"
    event(expected or "planned")
    try:
        drafted(tree, Fusion.legacy())
        code = ""
    except PlanRefused as refusal:
        code = refusal.code
    assert code == expected


# --------------------------------------------------------------------------- resizes


def test_who_feeds_a_splitter_that_leads_to_nobody_is_changed_by_a_resize_all_the_same() -> None:
    """The composite's input port is not used inside, but the splitter has as many channels."""
    tree = Tree()
    source, wide = tree.main.operator("a", 0), tree.main.composite("C", 1, 0, width=2)
    wide.operator("b", 0, 0)
    wire(source, wide)
    before = drafted(tree, Fusion.legacy())
    record = complete(before).record
    after = drafted(tree, Fusion.legacy(), widths={"C": 3}, previous=record)
    told = outline_of_resize(before, after)
    assert told["changed_ops"] == {"a": 0, "C[0].b": 1, "C[1].b": 2}
    assert told["added_ops"] == {"C[2].b": 3}


@SLOW
@given(tree=trees(), fusion=SCHEMES, data=st.data())
def test_a_resize_in_compat_is_that_of_the_specification(
    tree: Tree, fusion: Fusion, data: st.DataObject
) -> None:
    """Numbers, what is changed, added and removed, and ids of PEs by the names in them."""
    regions = tree.regions()
    assume(regions)
    root = data.draw(st.sampled_from(regions))
    region, width = regions.index(root), data.draw(st.integers(1, 4))
    made, prior = answers(tree, fusion)
    widths = {root.path: width}
    current = reference(tree.text(), widths)
    assume(is_comparable(current))
    after = drafted(tree, fusion, widths=widths, previous=recorded(made))
    told = outline_of_resize(made, after)
    numbers = transferred(prior, current)
    names = {name_of(current.nodes[number]): now for number, now in numbers.items()}
    assert {each.name: index for index, each in after.topology.operators.items()} == names
    before = {identity_of(node) for node in prior.nodes.values()}
    now = {identity_of(node): node for node in current.nodes.values()}
    assert set(told["added_ops"]) == {name_of(now[each]) for each in now.keys() - before}
    assert set(told["removed_ops"]) == {
        name_of(node) for node in prior.nodes.values() if identity_of(node) not in now
    }
    same = made.widths.by_region[region] == width
    assert set(told["changed_ops"]) == (set() if same else changed(prior, current, region))
    check_pes(made, after)
    check_ports(after, renumbered(current, numbers))


def check_pes(before: Draft, after: Draft) -> None:
    """An id stays where the names of the operators are the same; others go above, in order."""
    known = {names_in(before, pe): pe for pe in before.placed}
    highest = max(before.placed)
    for pe in sorted(after.placed, key=lambda pe: after.placed[pe][0]):
        if names_in(after, pe) in known:
            assert pe == known[names_in(after, pe)]
        else:
            highest += 1
            assert pe == highest


def names_in(made: Draft, pe: int) -> str:
    return "".join(sorted(made.topology.operators[index].name for index in made.placed[pe]))


def renumbered(naive: Reference, numbers: Mapping[int, int]) -> Reference:
    """The naive answer with the numbers after a resize; those of splitters stay."""
    return Reference(
        nodes={numbers[number]: node for number, node in naive.nodes.items()},
        edges=[
            (numbers[source], output, numbers[target], port, splitter, channel)
            for source, output, target, port, splitter, channel in naive.edges
        ],
        exports={(numbers[key[0]], *key[1:]): times for key, times in naive.exports.items()},
        imported={(numbers[operator], port) for operator, port in naive.imported},
    )
