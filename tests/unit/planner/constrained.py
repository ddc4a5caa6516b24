"""Applications with constraints of every kind, chosen by whoever draws: by chance or hypothesis."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

from tests.unit.planner.adl_writing import Adl

Choice = TypeVar("Choice")

POOLS = ("", "", "shared", "shared", "exclusive")
PARTITIONS = (
    '<coLocation colocId="C"/>',
    '<coLocation colocId="byChannel(B)"/>',
    '<exLocation exlocId="X"/>',
    '<exLocation exlocId="byChannel(Y)"/>',
)
PLACES = (
    '<poolLocation poolIndex="1"/>',
    '<poolLocation poolIndex="2" inpoolIndex="0"/>',
    '<poolLocation poolIndex="2" inpoolIndex="1"/>',
    '<poolLocation poolIndex="3"/>',
    '<hostLocation hostname="h1"/>',
    '<hostLocation hostname="host_getChannel()"/>',
    '<hostLocation hostname="10.0.0.1"/>',
    '<poolLocation poolIndex="4"/>',
)
BESIDE = (
    '<coLocation colocId="H"/>',
    '<coLocation colocId="byChannel(I)"/>',
    '<exLocation exlocId="Z"/>',
)
JVM = ("", "<jvmArgument>-Xmx1g</jvmArgument>", "<jvmArgument>-Xmx2g</jvmArgument>")
ENTRIES = ("", "isStartOfRegion", "isStartOfRegion", "isEndOfRegion")
KINDS = (
    *("co-location", "co-location", "ex-location", "isolation", "host isolation", "place"),
    *("host location", "restartable", "relocatable", "JVM arguments", "consistent region"),
)
REGION = (
    '<splAnnotation tag="consistentRegionEntry"><value key="index" type="int32">0</value>{}'
    "</splAnnotation>"
)


class Choose(Protocol):
    """Chooses one of several."""

    def __call__(self, options: Sequence[Choice], /) -> Choice: ...


def by_chance(seed: int) -> Adl:
    """The application of that number."""
    return application(random.Random(seed).choice)


@st.composite
def constrained(draw: st.DrawFn) -> Adl:
    """For hypothesis."""

    def choose(options: Sequence[Choice]) -> Choice:
        return draw(st.sampled_from(options))

    return application(choose)


HOSTED = (
    *("", "", '<poolLocation poolIndex="1"/>', '<poolLocation poolIndex="2" inpoolIndex="0"/>'),
    *('<hostLocation hostname="h1"/>', '<hostLocation hostname="10.0.0.1"/>'),
    '<hostLocation hostname="host_getChannel()"/>',
)
TOKENS = (
    *('<coLocation colocId="H"/>', '<coLocation colocId="I"/>', '<coLocation colocId="J"/>'),
    *('<exLocation exlocId="X"/>', '<exLocation exlocId="Y"/>', '<exLocation exlocId="Z"/>'),
    *('<coLocation colocId="byChannel(I)"/>', '<exLocation exlocId="byChannel(Z)"/>'),
)


@st.composite
def bound_to_hosts(draw: st.DrawFn) -> Adl:
    """Operators whose hosts follow from each other's: tokens, few places, few that share PEs."""

    def choose(options: Sequence[Choice]) -> Choice:
        return draw(st.sampled_from(options))

    adl = Adl().pool("one", inside='<tag name="t"/>').pool("two")
    count = choose(range(3, 9))
    inside = choose((0, 0, 1, 2))
    names = [f"W.o{n}" if 0 < n <= inside else f"o{n}" for n in range(count)]
    adl.chain(*names)
    for name in names:
        operator = adl.operators[name]
        place = choose(HOSTED) if choose((True, *[False] * 5)) else ""
        tokens = {choose(TOKENS) for _ in range(choose((0, 1, 1, 2)))}
        operator.resources = place + "".join(sorted(tokens))
        operator.host_isolated = choose((True, *[False] * 15))
        if choose((True, *[False] * 5)):
            operator.partitions = PARTITIONS[0]
    if inside:
        adl.region("W", choose(range(1, 4)))
    return adl


def application(choose: Choose) -> Adl:
    """Some operators in a row, some of them in regions, with constraints of up to three kinds."""
    adl = Adl().pool("one", inside='<tag name="t"/>').pool("two").pool("own", "exclusive")
    adl.pool("named", inside='<host hostname="h1"/><host hostname="h2"/>')
    count = choose(range(2, 8))
    inside = choose(range(count + 1))
    deeper = choose((0, 0, inside // 2))
    names = [f"o{n}" for n in range(count)]
    paths = [f"W.V.{name}" for name in names[:deeper]]
    paths += [f"W.{name}" for name in names[deeper:inside]] + names[inside:]
    kinds = [choose(KINDS) for _ in range(choose(range(4)))]
    for place, path in enumerate(paths):
        is_source = place == 0 or choose((True, *[False] * 5))
        adl.operator(path, int(not is_source), int(place < count - 1))
        for kind in kinds:
            if choose((True, True, False)):
                _constrain(adl, path, kind, choose)
    _connect(adl, paths, choose)
    if inside:
        adl.region("W", choose(range(1, 5)), choose(("RoundRobin", "Broadcast")))
    if deeper:
        adl.region("W.V", choose(range(1, 3)))
    return adl


def _connect(adl: Adl, paths: list[str], choose: Choose) -> None:
    for place, path in enumerate(paths[1:], start=1):
        if adl.operators[path].inputs:
            for source in {paths[place - 1], choose(paths[:place])}:
                adl.connect(source, path)


def _constrain(adl: Adl, path: str, kind: str, choose: Choose) -> None:
    operator = adl.operators[path]
    match kind:
        case "co-location":
            operator.partitions = choose(PARTITIONS[:2]) + operator.partitions
        case "ex-location":
            operator.partitions += choose(PARTITIONS[2:])
        case "isolation":
            operator.isolated = choose((True, False, False))
        case "host isolation":
            operator.host_isolated = choose((True, False, False))
        case "place":
            operator.resources = choose(PLACES)
        case "host location":
            operator.resources += choose(BESIDE)
        case "restartable":
            operator.restartable = choose((True, False))
        case "relocatable":
            operator.relocatable = choose((True, False))
        case "JVM arguments":
            operator.extra += f"<jvmArguments>{choose(JVM)}</jvmArguments>"
        case "consistent region":
            flag = choose(ENTRIES)
            value = flag and f'<value key="{flag}" type="boolean">true</value>'
            operator.extra += REGION.format(value)
