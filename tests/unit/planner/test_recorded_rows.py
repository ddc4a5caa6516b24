"""Rows that the specification prints of runs of the original, whose ADLs are not recorded with it.

The applications are made as the row describes them; what may be said of PEs, ports and errors is
compared through what `millrace plan` prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from planner.drafting import draft
from planner.numbering.records import Fusion
from planner.outline import outline
from planner.requesting import PlanRequest
from tests.unit.planner.adl_writing import Adl

Pes = list[set[int]]

TOGETHER = '<coLocation colocId="C"/>'
POOL = '<poolLocation poolIndex="0"/>'
WITH_H = f'{POOL}<coLocation colocId="H"/>'
APART = '<exLocation exlocId="X"/>'
ENTRY = (
    '<splAnnotation tag="consistentRegionEntry"><value key="index" type="int32">0</value>{}'
    "</splAnnotation>"
)
START = ENTRY.format('<value key="isStartOfRegion" type="boolean">true</value>')


def chain(length: int) -> Adl:
    return Adl().chain(*(f"o{number}" for number in range(length)))


def differing_restartable() -> Adl:
    """e1_rst."""
    adl = chain(3)
    adl.operators["o0"].partitions = adl.operators["o1"].partitions = TOGETHER
    adl.operators["o1"].restartable = False
    return adl


def jvm_arguments() -> Adl:
    """e1_jvm2: o1 has an empty list."""
    adl = chain(3)
    heap = "<jvmArgument>-Xmx1g</jvmArgument>"
    for operator, arguments in (("o0", heap), ("o1", ""), ("o2", heap)):
        adl.operators[operator].extra = f"<jvmArguments>{arguments}</jvmArguments>"
    return adl


def isolated_host() -> Adl:
    """e2_hisoco: host isolation, and host co-location of o0 and o3."""
    adl = chain(4)
    adl.operators["o0"].resources = adl.operators["o3"].resources = WITH_H
    adl.operators["o0"].host_isolated = True
    return adl


def exclusive_pool() -> Adl:
    """e2_xpool: o0 and o1 in an exclusive pool."""
    adl = chain(4).pool("own", "exclusive")
    adl.operators["o0"].resources = adl.operators["o1"].resources = '<poolLocation poolIndex="1"/>'
    return adl


def closed_over_hosts() -> Adl:
    """e2_hcoex: o0 and o3 on one host, o3 and o1 on two."""
    adl = chain(4)
    adl.operators["o0"].resources = WITH_H
    adl.operators["o3"].resources = WITH_H + APART
    adl.operators["o1"].resources = POOL + APART
    return adl


def replicas_with_the_source() -> Adl:
    """u_co2."""
    adl = chain(3).region("o1", 4)
    adl.operators["o0"].partitions = adl.operators["o1"].partitions = TOGETHER
    return adl


def regions_of_channels(*, with_sink: bool) -> Adl:
    """crpar, and crmerge, whose sink is in the region of each channel."""
    adl = Adl().operator("k", 1, 0).operator("N.src", 0, 1).operator("N.f")
    adl.operators["N.src"].extra, adl.operators["N.f"].extra = START, ENTRY.format("")
    adl.operators["k"].extra = ENTRY.format("") if with_sink else ""
    return adl.connect("N.src", "N.f").connect("N.f", "k").region("N", 3)


def two_hosts() -> Adl:
    """The bundle HostPlacement_nodename."""
    adl = chain(2)
    for operator in ("o0", "o1"):
        adl.operators[operator].resources = f'<hostLocation hostname="{operator}"/>'
    return adl


def stages() -> Adl:
    """A source, four channels of f-g-h, a sink."""
    return Adl().chain("a", "R.f", "R.g", "R.h", "s").region("R", 4)


def alone(count: int) -> Pes:
    return [{index} for index in range(count)]


def always(pes: Pes, *columns: int) -> dict[int, Pes]:
    return dict.fromkeys(columns, pes)


ROWS: dict[str, tuple[Callable[[], Adl], dict[int, Pes]]] = {
    "e1_rst": (differing_restartable, always([{0, 1}, {2}], 0, 1, 2, 3)),
    "e1_jvm2": (jvm_arguments, {0: alone(3), 1: [{0, 2}, {1}], 2: alone(3), 3: alone(3)}),
    "e2_hisoco": (
        isolated_host,
        {
            0: [{0, 3}, {1}, {2}],
            1: [{0, 1, 2, 3}],
            2: [{0, 3}, {1, 2}],
            3: [{0, 3}, {1}, {2}],
        },
    ),
    "e2_xpool": (
        exclusive_pool,
        {0: alone(4), 1: [{0, 1}, {2, 3}], 2: [{0, 1}, {2, 3}], 3: [{0, 1}, {2}, {3}]},
    ),
    "e2_hcoex": (closed_over_hosts, {0: alone(4), 2: [{0}, {1}, {2, 3}]}),
    "u_co2": (
        replicas_with_the_source,
        {0: [{0, 1, 3, 4, 5}, {2}], 1: [{0, 1, 2, 3, 4, 5}], 2: [{0, 1, 3, 4, 5}, {2}]},
    ),
    "crpar": (
        lambda: regions_of_channels(with_sink=False),
        {0: alone(7), **always([{0}, {1, 2}, {3, 4}, {5, 6}], 1, 2, 3)},
    ),
    "crmerge": (
        lambda: regions_of_channels(with_sink=True),
        {0: alone(7), **always([{0, 1, 2}, {3, 4}, {5, 6}], 1, 2, 3)},
    ),
    "ConsistentRegion": (
        lambda: chain(3),
        {0: alone(3), 1: [{0, 1, 2}], 2: [{0}, {1, 2}], 3: alone(3), 5: alone(3)},
    ),
    "HostPlacement_nodename": (two_hosts, always(alone(2), 0, 1, 2, 5)),
    "stages": (stages, {3: [{0, 1, 5, 8, 11}, {2, 6, 9, 12}, {3, 4, 7, 10, 13}]}),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_table_is_what_is_planned(row: str) -> None:
    """Column 0 is legacy, the others manual N; what the sink of crmerge joins is our reading."""
    made, columns = ROWS[row]
    request = PlanRequest(
        application=made().application(),
        bundle_digest="digest",
        job_name="job",
        job_id=0,
        fusion=Fusion.legacy(),
        compat=True,
    )
    for column, expected in columns.items():
        fusion = Fusion.manual(column) if column else Fusion.legacy()
        pes = outline(draft(replace(request, fusion=fusion)))["pe"]
        assert [set(pe["operators"].values()) for pe in pes.values()] == expected, column
