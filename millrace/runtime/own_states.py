"""The states that one launch writes, under names of its own. What is in them is in `saving.py`."""

from __future__ import annotations

from millrace.runtime.launch import Launch, Surroundings
from millrace.runtime.saving import Identity
from millrace.runtime.state_names import Kind, StateName
from millrace.runtime.state_stores import NoStore
from millrace.runtime.states import SavedPe, encoded


class OwnStates:
    """Writes them. `write_s` and `bytes_written`: of the newest that is kept."""

    def __init__(self, launch: Launch, around: Surroundings) -> None:
        """None is written yet."""
        self._launch, self._store, self._clock = launch, around.store, around.clock
        self.are_kept = not isinstance(around.store, NoStore)
        self.write_s: float | None = None
        self.bytes_written: int | None = None

    def name(self, kind: Kind, number: int = 0) -> StateName:
        """The name of a state of this launch."""
        return StateName(self._launch.pe, self._launch.number, kind, number)

    def identity(self, job: int, generation: int = 0) -> Identity:
        """What says in a state that this launch saved it."""
        launch = self._launch
        return Identity(job, launch.pe, launch.number, generation, launch.generation)

    async def write(self, name: StateName, state: SavedPe) -> None:
        """Raises StateDiffers or StoreFailed."""
        began, data = self._clock.now(), encoded(state)
        await self._store.write(name, data)
        self.write_s, self.bytes_written = self._clock.now() - began, len(data)
