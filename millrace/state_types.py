"""Types of states: what a tuple may have, and more that a store gives back as it was."""

from __future__ import annotations

import datetime
import enum
import types
import typing
import uuid
from typing import Any, Final

from millrace.errors import GraphError
from millrace.tuple_types import Around, ValueType, attributes_of, type_name, value_type

_SCALARS: Final[tuple[Any, ...]] = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    uuid.UUID,
    bytearray,
    type(None),
)


def state_type(annotation: Any, who: str) -> ValueType:
    """The type of a dataclass or TypedDict. Raises GraphError for what would come back changed."""
    inside = attributes_of(annotation, who, (annotation,), _more)
    return ValueType("tuple", (), inside, annotation, annotation)


def _more(bare: Any, hint: Any, who: str, around: Around) -> ValueType | None:
    """What an attribute of a state may be that one of a tuple may not. Raises GraphError."""
    if bare in around:
        return ValueType("again", python=bare, hint=hint)
    if isinstance(bare, type) and issubclass(bare, enum.Enum):
        return ValueType("exactly", python=bare, hint=hint)
    if bare in _SCALARS:
        return ValueType("exactly", python=bare, hint=hint)
    origin, arguments = typing.get_origin(bare), typing.get_args(bare)
    if origin is typing.Literal:
        kinds = tuple(ValueType("exactly", python=type(each)) for each in arguments)
        return ValueType("union", kinds, hint=hint)
    if origin in (typing.Union, types.UnionType):
        parts = tuple(value_type(each, who, around, _more) for each in arguments)
        return ValueType("union", parts, hint=hint)
    if origin is tuple and arguments:
        parts = tuple(value_type(each, who, around, _more) for each in arguments)
        return ValueType("fixed", parts, python=tuple, hint=hint)
    raise GraphError(
        f"{who} is {type_name(bare)}, and nobody knows as what that comes back after a restart: "
        "name its types, as in list[int], dict[str, float] or T | None; a state has what a tuple "
        "may have, enums, date, time, timedelta, UUID, Literal, tuple[T, U] and unions"
    )
