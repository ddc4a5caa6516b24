"""A store of states for tests."""

from __future__ import annotations

from millrace.protocol import HandOver
from millrace.runtime.choosing import removable
from millrace.runtime.state_names import StateName


class MemoryStore:
    """Keeps states in this process."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self.kept: dict[StateName, bytes] = {}

    async def write(self, name: StateName, data: bytes) -> None:
        """Never overwrites."""
        assert self.kept.setdefault(name, data) == data, name

    async def read(self, name: StateName) -> bytes:
        """Raises KeyError."""
        return self.kept[name]

    async def names(self, pe: int) -> tuple[StateName, ...]:
        """The states of a PE, from the oldest."""
        return tuple(sorted((n for n in self.kept if n.pe == pe), key=lambda name: name.age))

    async def remove_older(self, pe: int, hand_over: HandOver | None) -> int:
        """Remove what nobody needs."""
        gone = removable(hand_over, pe, await self.names(pe))
        for name in gone:
            del self.kept[name]
        return len(gone)

    async def pes(self) -> tuple[int, ...]:
        """Those that have states."""
        return tuple(sorted({name.pe for name in self.kept}))

    async def remove_all(self, pe: int) -> None:
        """Remove all states of a PE."""
        self.kept = {name: data for name, data in self.kept.items() if name.pe != pe}

    async def close(self) -> None:
        """Nothing to do."""
