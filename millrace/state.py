"""State of operators, which is explicit, so that a runtime can save it and load it elsewhere.

State of a keyed operator has one value for each key. Keys belong to groups, whose number is fixed;
a group moves from channel to channel as a whole. State of any other
operator has one value for each operator and channel.
"""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from millrace.errors import GraphError
from millrace.tuple_types import type_name

S = TypeVar("S")
KEY_GROUPS: Final = 1024
"""Into how many groups keys are divided: as many as a region may have channels."""
AtResize = Literal["refuse", "discard"]


@dataclass(frozen=True, slots=True)
class State(Generic[S]):
    """The state of an operator, with what happens to it when the width of its region changes.

    `at_resize` only matters for state without a key inside of a parallel region, which cannot
    follow a changed width: such an application is refused for widths that may change (`refuse`), or
    each channel begins with new state after a resize (`discard`).
    """

    type: type[S]
    at_resize: AtResize = "refuse"


def state_spec(state: type[S] | State[S], operator: str) -> State[S]:
    """What an author gave as state, checked. Raises GraphError."""
    spec = state if isinstance(state, State) else State(state)
    if not isinstance(spec.type, type):
        raise GraphError(
            f"operator {operator}: its state is an object, {spec.type!r}: name its class alone"
        )
    if not (dataclasses.is_dataclass(spec.type) or typing.is_typeddict(spec.type)):
        raise GraphError(
            f"operator {operator}: its state is {type_name(spec.type)}, and has to be a dataclass "
            "or a TypedDict"
        )
    try:
        made: Any = spec.type()
    except TypeError as problem:
        raise GraphError(
            f"operator {operator}: its state {spec.type.__name__} needs a default for every "
            f"attribute ({problem})"
        ) from None
    try:
        msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=spec.type)
    except (TypeError, msgspec.MsgspecError) as problem:
        raise GraphError(
            f"operator {operator}: its state {spec.type.__name__} cannot be saved: {problem}"
        ) from None
    return spec
