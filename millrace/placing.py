"""Methods that place an operator: streams and sinks share them."""

from __future__ import annotations

from typing import Self

from millrace.building import NAME, Drafting
from millrace.errors import GraphError
from millrace.graph import Operator
from millrace.parameters import check_text
from millrace.placement import HostPool, Level


class Placed:
    """What is made by one operator: these methods place that operator and return the same again."""

    _draft: Drafting

    @property
    def _placed(self) -> Operator:
        raise NotImplementedError

    def host(self, where: str | HostPool) -> Self:
        """Run the operator on the host of that name, or on a host of a pool."""
        placement = self._placed.placement
        if isinstance(where, HostPool):
            if not any(each is where for each in self._draft.pools):
                raise GraphError(
                    f"operator {self._placed.name}: host pool {where.name} belongs to another "
                    "application: make it with app.host_pool of this one"
                )
            placement.pool, placement.host = where, None
        else:
            who = f"operator {self._placed.name}: its host"
            placement.host, placement.pool = check_text(where, who), None
        return self

    def colocate(self, group: str, *, level: Level = "pe", each_channel: bool = True) -> Self:
        """Run the operator with all others of this group: in one PE, or on one host.

        In a parallel region each channel has a group of its own, unless `each_channel` is false.
        """
        placement = self._placed.placement
        name = (self._group(group, each_channel),)
        if level == "pe":
            placement.pe_colocations += name
        else:
            placement.host_colocations += name
        return self

    def separate(self, group: str, *, level: Level = "pe", each_channel: bool = False) -> Self:
        """Run the operator apart from all others of this group: in other PEs, or on other hosts.

        In a parallel region the channels are apart, too, unless `each_channel` is true.
        """
        placement = self._placed.placement
        name = (self._group(group, each_channel),)
        if level == "pe":
            placement.pe_exlocations += name
        else:
            placement.host_exlocations += name
        return self

    def isolate(self, *, level: Level = "pe") -> Self:
        """Run the operator in a PE of its own, or its PE on a host of its own."""
        placement = self._placed.placement
        if level == "pe":
            placement.pe_isolated = True
        else:
            placement.host_isolated = True
        return self

    def _group(self, group: str, each_channel: bool) -> str:
        if not NAME.fullmatch(group):
            raise GraphError(f"{group!r} is no name of a group: use letters, digits and _")
        depth = len(self._placed.regions)
        return f"byChannel({group},{depth - 1})" if depth and each_channel else group
