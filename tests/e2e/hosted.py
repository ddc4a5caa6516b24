"""Applications whose operators say where they run: hosts, pools, together, apart, alone.

    Hosted().pool("fast", tags=["ssd"]).operator("a", pool="fast").operator("b", host="node-1")

Operators stand in a row, the first is the source and the last the sink.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from xml.sax.saxutils import quoteattr

from contracts.bundle_format import pack
from tests.unit.planner.adl_writing import Adl

DEFAULT = "$default"


class Hosted:
    """An application under construction; `bundle` packs it."""

    def __init__(self) -> None:
        self._adl = Adl("hosts::Hosted")
        self._pools = [DEFAULT]

    def pool(
        self,
        name: str,
        *,
        size: int | None = None,
        tags: Sequence[str] = (),
        hosts: Sequence[str] = (),
        exclusive: bool = False,
    ) -> Hosted:
        """A host pool; its index is its place among those that were named, after $default."""
        mode = "exclusive" if exclusive else "shared"
        sized = "" if size is None else f' size="{size}"'
        inside = "".join(f"<tag name={quoteattr(tag)}/>" for tag in tags)
        inside += "".join(f"<host hostname={quoteattr(host)}/>" for host in hosts)
        self._adl.pools.append(
            f'<hostpool index="{len(self._pools)}" name={quoteattr(name)}'
            f' membershipMode="{mode}"{sized}>{inside}</hostpool>'
        )
        self._pools.append(name)
        return self

    def operator(
        self,
        name: str,
        *,
        host: str = "",
        pool: str = DEFAULT,
        place: int | None = None,
        together: Sequence[str] = (),
        apart: Sequence[str] = (),
        alone: bool = False,
        fused: str = "",
    ) -> Hosted:
        """An operator; `place` is the i of pool[i], `fused` a token of partitionColocation."""
        resources = f"<hostLocation hostname={quoteattr(host)}/>" if host else self._in(pool, place)
        resources += "".join(f"<coLocation colocId={quoteattr(token)}/>" for token in together)
        resources += "".join(f"<exLocation exlocId={quoteattr(token)}/>" for token in apart)
        partitions = f"<coLocation colocId={quoteattr(fused)}/>" if fused else ""
        self._adl.operator(name, resources=resources, partitions=partitions)
        self._adl.operators[name].host_isolated = alone
        return self

    def _in(self, pool: str, place: int | None) -> str:
        which = "" if place is None else f' inpoolIndex="{place}"'
        return f'<poolLocation poolIndex="{self._pools.index(pool)}"{which}/>'

    def region(self, path: str, width: int) -> Hosted:
        """An operator that there is several times, in parallel."""
        self._adl.region(path, width)
        return self

    def bundle(self) -> bytes:
        """The bundle."""
        operators = list(self._adl.operators.values())
        operators[0].inputs = operators[-1].outputs = 0
        for source, target in pairwise(operators):
            self._adl.connect(source.path, target.path)
        return pack(self._adl.text().encode())
