"""Where the state of one operator instance is, and how it is saved and loaded.

What is saved is read back by its type at once: a state that would not come back, or would come back
as another one, is never kept. A number or text of a subclass is saved as its type says it.

Keyed state is saved by group: `save` gives bytes for each group, and another channel or process
loads the groups that it has now. Other state is one value for each operator and channel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from millrace.codecs import Codec
from millrace.converting import OF_NEW_STATES, OF_STATES, convert_attributes, converted
from millrace.runtime.endings import StateUnfit
from millrace.runtime.exact_types import exact_check_of_states, has_rules
from millrace.runtime.fitting import changed, state_of_key, unfit, unfit_keys
from millrace.runtime.splitting import Key, group_of
from millrace.sameness import is_same
from millrace.state_types import state_type
from millrace.tuple_types import ValueType

S = TypeVar("S")
Saved = Mapping[int, bytes] | bytes | StateUnfit
"""The state of an operator instance: by key group, or as a whole; or why it cannot be kept."""


class _Form(Generic[S]):
    """How values of one state begin, and whether they can be kept."""

    def __init__(self, type_: Any, make: Callable[[], S]) -> None:
        self.type = state_type(type_, "a state")
        self.has_rules = has_rules(self.type)
        self._exact = exact_check_of_states(self.type)
        self._make = make
        is_other = convert_attributes(make(), self.type, OF_NEW_STATES)
        self.make = self._converted if is_other else make

    def _converted(self) -> S:
        """A new value, as it would come back: with a float where it has an int for one."""
        made = self._make()
        convert_attributes(made, self.type, OF_NEW_STATES)
        return made

    def are_exact(self, values: Sequence[S]) -> bool:
        """Whether values come back in the types that they have."""
        try:
            return self._exact(values)
        except (AttributeError, KeyError):
            return False

    def fitting(self, value: S) -> Any:
        """A value to be saved: itself, or a copy with scalars as the type says them."""
        return converted(value, self.type, OF_STATES)

    def check(self, value: S, back: S, named: str) -> None:
        """Raises StateUnfit where what was read back is not what was saved."""
        if not is_same(self.fitting(value), back):
            raise StateUnfit(f"{named}: {changed(value, back, self.type)}")


class Keyed(Generic[S]):
    """One value for each key."""

    def __init__(
        self, type_: Any, make: Callable[[], S], name: Callable[[Key], str] = state_of_key
    ) -> None:
        """A store without keys. `type_`: what a value is decoded to. `name`: of a key's state."""
        self.values: dict[Key, S] = {}
        self._name = name
        self._form = _Form(type_, make)
        self.make = self._form.make
        self._type = type_
        parts = (ValueType("any", hint=Any), self._form.type)
        self._codec = Codec(ValueType("fixed", parts, python=tuple, hint=tuple[Any, type_]))

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
        form, codec = self._form, self._codec
        try:
            is_exact = form.are_exact([value for _, value in pairs])
            fitting = pairs if is_exact else [(key, form.fitting(value)) for key, value in pairs]
            data = codec.encode(fitting)
            back = codec.decode(data)
            if not is_exact or (form.has_rules and codec.encode(back) != data):
                for (key, value), (_, other) in zip(pairs, back, strict=True):
                    form.check(value, other, self._name(key))
        except StateUnfit:
            raise
        except BaseException as problem:
            raise unfit_keys(pairs, self._type, problem, self._name) from problem
        return data

    def load(self, data: bytes) -> None:
        """Add the keys of a group that was saved. Raises msgspec.MsgspecError."""
        for key, value in self._codec.decode(data):
            self.values[tuple(key) if isinstance(key, list) else key] = value

    def remembered(self, key: Key) -> Callable[[], None]:
        """What puts the value of a key back to what it is now."""
        known = key in self.values
        data = self._encoded([(key, self.values[key])]) if known else self._codec.encode([])

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
        self._form = _Form(type_, make)
        self.value = self._form.make()
        self._type = type_
        self._codec = Codec(self._form.type)

    def save(self) -> bytes:
        """The value in bytes. Raises StateUnfit."""
        form, codec, value = self._form, self._codec, self.value
        try:
            is_exact = form.are_exact((value,))
            data = codec.encode_one(value if is_exact else form.fitting(value))
            back = codec.decode_one(data)
            if not is_exact or (form.has_rules and codec.encode_one(back) != data):
                form.check(value, back, "its state")
        except StateUnfit:
            raise
        except BaseException as problem:
            raise unfit(value, self._type, problem) from problem
        return data

    def load(self, data: bytes) -> None:
        """Replace the value by one that was saved. Raises msgspec.MsgspecError."""
        self.value = self._codec.decode_one(data)


def saved_by(store: Keyed[Any] | Single[Any] | None, groups: int = 0) -> Saved | None:
    """What a store has now, or why that cannot be kept; None without a store.

    Nothing is raised: barriers pass through a node whose state does not fit, as through all others.
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
