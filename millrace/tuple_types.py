"""Types of tuples: how dataclasses and TypedDicts become tuple types of SPL, and whether two agree.

| Python | SPL |
|---|---|
| `str`, `int`, `float`, `bool`, `bytes` | `rstring`, `int64`, `float64`, `boolean`, `blob` |
| `datetime`, `Decimal` | `timestamp`, `decimal128` |
| `list[T]`, `set[T]`, `dict[K, V]` | `list<T>`, `set<T>`, `map<K,V>` |
| `T | None` | `optional<T>` |
| a dataclass or TypedDict | `tuple<…>` |
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import types
import typing
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from millrace.errors import GraphError

SCALARS: Final[dict[Any, str]] = {
    str: "rstring",
    int: "int64",
    float: "float64",
    bool: "boolean",
    bytes: "blob",
    datetime.datetime: "timestamp",
    decimal.Decimal: "decimal128",
}
KEY_TYPES: Final = ("rstring", "int64", "boolean", "blob")
"""Types of attributes by which a stream can be keyed: equal values have equal bytes."""
_CONTAINERS: Final[dict[Any, str]] = {list: "list", set: "set", frozenset: "set", dict: "map"}


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of an attribute. `parts` are element types.

    `attributes` are those of a nested tuple, and `python` the class that the author wrote for it.
    """

    name: str
    parts: tuple[ValueType, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    python: Any = field(compare=False, default=None)

    @property
    def spl(self) -> str:
        """The type as SPL writes it."""
        if self.name == "tuple":
            inside = ", ".join(f"{each.type.spl} {each.name}" for each in self.attributes)
            return f"tuple<{inside}>"
        if self.parts:
            return f"{self.name}<{', '.join(each.spl for each in self.parts)}>"
        return self.name


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a tuple; `shown` is its type as Python writes it."""

    name: str
    type: ValueType
    shown: str = field(compare=False, default="")


@dataclass(frozen=True, slots=True)
class TupleType:
    """The type of the tuples of a stream. `python` is the class that the author wrote."""

    name: str
    attributes: tuple[Attribute, ...]
    access: Literal["attribute", "item"]
    python: Any = field(compare=False)

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name."""
        return next((each for each in self.attributes if each.name == name), None)

    @property
    def names(self) -> str:
        """The names of the attributes, for a message."""
        return ", ".join(each.name for each in self.attributes)


def tuple_type(annotation: Any, who: str) -> TupleType:
    """The tuple type of a dataclass or TypedDict. Raises GraphError that begins with `who`."""
    if not _is_tuple(annotation):
        raise GraphError(
            f"{who} is {type_name(annotation)}, which is no tuple: use a dataclass or a TypedDict "
            "with annotated attributes"
        )
    return TupleType(
        name=annotation.__name__,
        attributes=_attributes(annotation, who, (annotation,)),
        access="attribute" if dataclasses.is_dataclass(annotation) else "item",
        python=annotation,
    )


def _is_tuple(annotation: Any) -> bool:
    return isinstance(annotation, type) and (
        dataclasses.is_dataclass(annotation) or typing.is_typeddict(annotation)
    )


def is_dataclass_type(python: Any) -> bool:
    """Whether the values of a tuple type are attributes of its objects, not items of a dict."""
    return isinstance(python, type) and dataclasses.is_dataclass(python)


def _attributes(annotation: Any, who: str, around: tuple[Any, ...]) -> tuple[Attribute, ...]:
    hints = class_hints(annotation, who)
    if dataclasses.is_dataclass(annotation):
        hints = {each.name: hints[each.name] for each in dataclasses.fields(annotation)}
    if not hints:
        raise GraphError(f"{who} is {annotation.__name__}, which has no attributes")
    return tuple(
        Attribute(
            name,
            _value_type(hint, f"{who}: attribute {name} of {annotation.__name__}", around),
            type_name(hint),
        )
        for name, hint in hints.items()
    )


def class_hints(annotation: Any, who: str) -> dict[str, Any]:
    """The annotations of a class, resolved. Raises GraphError where one is not known."""
    try:
        return typing.get_type_hints(annotation)
    except NameError as problem:
        raise GraphError(
            f"{who} is {annotation.__name__}, whose annotations cannot be resolved ({problem}): "
            "define the types at the top of the module"
        ) from None


def _value_type(hint: Any, who: str, around: tuple[Any, ...]) -> ValueType:
    if (scalar := SCALARS.get(hint)) is not None:
        return ValueType(scalar)
    if _is_tuple(hint):
        if hint in around:
            raise GraphError(f"{who} contains {hint.__name__} again: a tuple has no recursive type")
        inside = _attributes(hint, who, (*around, hint))
        return ValueType("tuple", attributes=inside, python=hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        others = [each for each in arguments if each is not type(None)]
        if len(others) == 1 and len(arguments) == 2:
            return ValueType("optional", (_value_type(others[0], who, around),))
    if origin in _CONTAINERS and arguments:
        parts = tuple(_value_type(each, who, around) for each in arguments)
        return ValueType(_CONTAINERS[origin], parts)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return ValueType("list", (_value_type(arguments[0], who, around),))
    known = ", ".join(each.__name__ for each in SCALARS)
    raise GraphError(
        f"{who} is {type_name(hint)}, which is no type of a tuple's attribute: use {known}, "
        "list[T], set[T], dict[K, V], T | None, a dataclass or a TypedDict"
    )


def type_name(annotation: Any) -> str:
    """A type as its author writes it."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "")


def difference(given: TupleType, wanted: TupleType) -> str | None:
    """Why a function that takes `wanted` cannot take `given`: a clause, or None if it can.

    `given` may have more attributes: a function that needs fewer can read it.
    """
    if isinstance(given.python, type) and issubclass(given.python, _class_of(wanted)):
        return None
    if given.access != wanted.access:
        kinds = {"attribute": "a dataclass", "item": "a TypedDict"}
        return (
            f"it takes {wanted.name}, {kinds[wanted.access]}, and the stream carries {given.name}, "
            f"{kinds[given.access]}"
        )
    for attribute in wanted.attributes:
        found = given.attribute(attribute.name)
        if found is None:
            return (
                f"it takes {wanted.name} with the attribute {attribute.name}: {attribute.shown}, "
                f"and {given.name} of the stream has no such attribute (it has {given.names})"
            )
        if found.type != attribute.type:
            return (
                f"attribute {attribute.name} is {attribute.shown} in {wanted.name}, which it "
                f"takes, and {found.shown} in {given.name}, which the stream carries"
            )
    return None


def _class_of(wanted: TupleType) -> type:
    """A class that isinstance can use; TypedDicts have none, so nothing is a subclass."""
    return wanted.python if wanted.access == "attribute" else _Nothing


class _Nothing:
    pass
