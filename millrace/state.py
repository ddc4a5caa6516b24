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

from millrace.codecs import Codec
from millrace.converting import OF_NEW_STATES, convert_attributes
from millrace.errors import GraphError, shown, worded
from millrace.sameness import is_same
from millrace.state_types import state_type
from millrace.tuple_types import ValueType, type_name

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
    type_ = state_type(spec.type, f"operator {operator}: its state")
    try:
        made: Any = spec.type()
    except TypeError as problem:
        raise GraphError(
            f"operator {operator}: its state {spec.type.__name__} needs a default for every "
            f"attribute ({problem})"
        ) from None
    try:
        codec = Codec(type_)
        back = codec.decode_one(codec.encode_one(made))
    except Exception as problem:  # noqa: BLE001 - encoders and decoders run code of the author
        raise GraphError(
            f"operator {operator}: its state {spec.type.__name__} cannot be saved: "
            f"{worded(problem)}"
        ) from None
    _refuse_other_defaults(made, back, type_, operator)
    return spec


def _refuse_other_defaults(made: Any, back: Any, type_: ValueType, operator: str) -> None:
    """Raises GraphError for a new state that would be another one after a restart.

    An `int` for a `float` would be, too: operators begin with the float.
    """
    convert_attributes(made, type_, OF_NEW_STATES)
    if is_same(made, back):
        return
    name = type_.python.__name__
    for each in type_.attributes:
        parts = [_part(value, each.name) for value in (made, back)]
        if not is_same(*parts):
            own, other = (f"{shown(part, 80)} ({type(part).__name__})" for part in parts)
            raise GraphError(
                f"operator {operator}: {each.name} of its state {name} is {each.shown}, and begins "
                f"as {own}: after a restart it would be {other}: begin with that"
            )
    raise GraphError(f"operator {operator}: a new {name}, its state, would come back as {back!r}")


def _part(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, dict) else getattr(state, name, None)
