"""Where the state of one operator instance is, and how it is saved and loaded.

What is saved is read back by its type at once: a state that would not come back is never kept.

Keyed state is saved by group: `save` gives bytes for each group, and another channel or process
loads the groups that it has now. Other state is one value for each operator and channel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from millrace.runtime.endings import StateUnfit
from millrace.runtime.fitting import unfit, unfit_keys
from millrace.runtime.splitting import Key, group_of

S = TypeVar("S")
Saved = Mapping[int, bytes] | bytes | StateUnfit
"""The state of an operator instance: by key group, or as a whole; or why it cannot be kept."""


class Keyed(Generic[S]):
    """One value for each key."""

    def __init__(self, type_: Any, make: Callable[[], S]) -> None:
        """A store without keys. `type_`: what a value is decoded to."""
        self.values: dict[Key, S] = {}
        self.make = make
        self._type = type_
        self._decoder = msgspec.msgpack.Decoder(list[tuple[Any, type_]])

    def get(self, key: Key) -> S:
        """The value of a key, which is made if the key is new."""
        found = self.values.get(key)
        if found is None:
            found = self.values[key] = self.make()
        return found

    def save(self, groups: int) -> dict[int, bytes]:
        """The keys and values of each group that has any, in bytes. Raises StateUnfit."""
        found: dict[int, list[tuple[Key, S]]] = defaultdict(list)
        for key, value in self.values.items():
            found[group_of(key, groups)].append((key, value))
        return {group: self._encoded(pairs) for group, pairs in sorted(found.items())}

    def _encoded(self, pairs: list[tuple[Key, S]]) -> bytes:
        try:
            data = msgspec.msgpack.encode(pairs)
            self._decoder.decode(data)
        except BaseException as problem:
            raise unfit_keys(pairs, self._type, problem) from problem
        return data

    def load(self, data: bytes) -> None:
        """Add the keys of a group that was saved. Raises msgspec.MsgspecError."""
        for key, value in self._decoder.decode(data):
            self.values[tuple(key) if isinstance(key, list) else key] = value

    def remembered(self, key: Key) -> Callable[[], None]:
        """What puts the value of a key back to what it is now."""
        known = key in self.values
        data = msgspec.msgpack.encode([(key, self.values[key])] if known else [])

        def put_back() -> None:
            self.values.pop(key, None)
            self.load(data)

        return put_back

    def drop(self, groups: Iterable[int], of: int) -> None:
        """Forget the keys of these groups, of so many in all."""
        gone = set(groups)
        self.values = {
            key: value for key, value in self.values.items() if group_of(key, of) not in gone
        }


class Single(Generic[S]):
    """One value for the operator and channel."""

    def __init__(self, type_: Any, make: Callable[[], S]) -> None:
        """A store with a new value."""
        self.value = make()
        self._type = type_
        self._decoder = msgspec.msgpack.Decoder(type_)

    def save(self) -> bytes:
        """The value in bytes. Raises StateUnfit."""
        try:
            data = msgspec.msgpack.encode(self.value)
            self._decoder.decode(data)
        except BaseException as problem:
            raise unfit(self.value, self._type, problem) from problem
        return data

    def load(self, data: bytes) -> None:
        """Replace the value by one that was saved. Raises msgspec.MsgspecError."""
        self.value = self._decoder.decode(data)


def saved_by(store: Keyed[Any] | Single[Any] | None, groups: int = 0) -> Saved | None:
    """What a store has now, or why that cannot be kept; None without a store.

    Nothing is raised: marks pass through a node whose state does not fit, as through all others.
    """
    try:
        if isinstance(store, Keyed):
            return store.save(groups)
        return None if store is None else store.save()
    except StateUnfit as problem:
        return problem


def with_keyed(
    function: Callable[..., Any], store: Keyed[Any], read: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """The function of one tuple, with the state of its key, which `read` finds."""

    def call(item: Any) -> Any:
        key = read(item)
        state = store.values.get(key)
        return function(item, store.get(key) if state is None else state)

    return call
