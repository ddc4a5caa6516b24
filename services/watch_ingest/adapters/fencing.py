"""Finds out whether somebody else wrote facts that readers take for later than ours.

Readers drop records of a lower epoch than the highest that they saw, so one record of a
stranger, with a number of an incarnation that nobody has, makes them deaf to everything that is
true. The leader then begins a new incarnation above it (`Fenced`): if another instance leads
indeed, the Lease says so at once.

What others wrote is not searched for: as long as the log grew by what we appended, nobody else
wrote. Only where it grew by more is it read. The first look reads everything since the newest
complete resync: an instance that was killed may not have looked, and the tails that a new
incarnation reads (`log_state`) may be full of younger records.
"""

from __future__ import annotations

from collections.abc import Mapping

from contracts.facts import Epoch
from services.chassis.log.bus import Bus, Partition
from services.chassis.process.errors import ChassisError
from services.watch_ingest.adapters import log_state
from services.watch_ingest.adapters.publisher import Publisher


class Fenced(ChassisError):
    """The log holds an epoch above ours: what we say is not heard any more.

    `incarnation` is the highest that was found. The next incarnation is above it even if hundreds
    of records follow that one.
    """

    def __init__(self, highest: Epoch, own: Epoch) -> None:
        super().__init__(f"the log holds {highest}, and we publish in {own}")
        self.incarnation = highest.incarnation


class FenceCheck:
    """Looks at what was written since it last looked, at first since the offsets `starts`."""

    def __init__(self, bus: Bus, publisher: Publisher, starts: Mapping[Partition, int]) -> None:
        self._bus = bus
        self._publisher = publisher
        self._ends = dict(starts)
        self._appended: dict[Partition, int] = {}

    async def look(self, own: Epoch) -> None:
        """Raises Fenced; does nothing while something is being appended."""
        appended = dict(self._publisher.appended)
        if not self._publisher.is_idle:
            return
        ends = await self._bus.end_offsets(list(self._ends))
        if not self._publisher.is_idle or appended != self._publisher.appended:
            return
        starts = {each: start for each, start in self._ends.items() if self._is_others(each, ends)}
        self._ends, self._appended = ends, appended
        epochs = await log_state.epochs_in(self._bus, starts, ends)
        if fencing := [epoch for epoch in epochs if _fences(epoch, own)]:
            raise Fenced(max(fencing, key=lambda epoch: epoch.incarnation), own)

    def _is_others(self, partition: Partition, ends: Mapping[Partition, int]) -> bool:
        ours = self._publisher.appended[partition] - self._appended.get(partition, 0)
        return ends[partition] > self._ends[partition] + ours


def _fences(epoch: Epoch, own: Epoch) -> bool:
    """A higher number, or the same incarnation of another cluster, which empties every table."""
    if epoch.incarnation != own.incarnation:
        return epoch.incarnation > own.incarnation
    return epoch.list_number > own.list_number or epoch.cluster_uid != own.cluster_uid
