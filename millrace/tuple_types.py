"""Types of tuples: how dataclasses and TypedDicts become tuple types of SPL, and whether two agree.

| Python | SPL |
|---|---|
| `str`, `int`, `float`, `bool`, `bytes` | `rstring`, `int64`, `float64`, `boolean`, `blob` |
| `datetime`, `Decimal` | `timestamp`, `decimal128` |
| `list[T]`, `set[T]`, `dict[K, V]` | `list<T>`, `set<T>`, `map<K,V>` |
| `T | None` | `optional<T>` |
| a dataclass or TypedDict | `tuple<…>` |

A type that a connection or a store would give back changed is refused here (`remaking.py`).
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import types
import typing
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from millrace.errors import GraphError
from millrace.remaking import refuse_what_changes

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
Around = tuple[Any, ...]
More = Callable[[Any, Any, str, Around], "ValueType | None"]
_CONTAINERS: Final[dict[Any, str]] = {list: "list", set: "set", frozenset: "set", dict: "map"}


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of an attribute. `parts` are element types.

    `attributes` are those of a nested tuple. `python`: the class of its values. `hint`: the
    annotation, as the author wrote it.
    """

    name: str
    parts: tuple[ValueType, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    python: Any = field(compare=False, default=None)
    hint: Any = field(compare=False, default=None)

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
    """An attribute of a tuple; `shown` is its type as Python writes it.

    `is_required`: it is not one that a TypedDict may lack.
    """

    name: str
    type: ValueType
    shown: str = field(compare=False, default="")
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class TupleType:
    """The type of the tuples of a stream. `python` is the class that the author wrote."""

    name: str
    attributes: tuple[Attribute, ...]
    access: Literal["attribute", "item"]
    python: Any = field(compare=False)

    @property
    def value(self) -> ValueType:
        """The type as that of a value."""
        return ValueType("tuple", (), self.attributes, self.python, self.python)

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
        attributes=attributes_of(annotation, who, (annotation,), no_more),
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


def attributes_of(annotation: Any, who: str, around: Around, more: More) -> tuple[Attribute, ...]:
    """The attributes of a dataclass or TypedDict inside of others. Raises GraphError."""
    hints = class_hints(annotation, who)
    optional: frozenset[str] = getattr(annotation, "__optional_keys__", frozenset())
    if dataclasses.is_dataclass(annotation):
        refuse_what_changes(annotation, who)
        hints = {each.name: hints[each.name] for each in dataclasses.fields(annotation)}
    if not hints:
        raise GraphError(f"{who} is {annotation.__name__}, which has no attributes")
    of = f"attribute {{}} of {annotation.__name__}"
    return tuple(
        Attribute(
            name,
            value_type(hint, f"{who}: {of.format(name)}", around, more),
            type_name(bare_hint(hint)),
            not _may_be_missing(hint, name in optional),
        )
        for name, hint in hints.items()
    )


def _may_be_missing(hint: Any, otherwise: bool) -> bool:
    """Whether a dict may lack an item; Python does not know it of annotations that are texts."""
    origin = typing.get_origin(hint)
    return origin is typing.NotRequired or (otherwise and origin is not typing.Required)


def class_hints(annotation: Any, who: str) -> dict[str, Any]:
    """The annotations of a class, resolved. Raises GraphError where one is not known."""
    try:
        return typing.get_type_hints(annotation, include_extras=True)
    except NameError as problem:
        raise GraphError(
            f"{who} is {annotation.__name__}, whose annotations cannot be resolved ({problem}): "
            "define the types at the top of the module"
        ) from None


def value_type(hint: Any, who: str, around: Around, more: More) -> ValueType:
    """The type of a value. Raises GraphError that begins with `who`.

    `around`: the tuples that it is in. `more`: what it may be beside what a tuple may have.
    """
    bare = bare_hint(hint)
    found = _known(bare, hint, who, around, more) or more(bare, hint, who, around)
    if not found:
        known = ", ".join(each.__name__ for each in SCALARS)
        raise GraphError(
            f"{who} is {type_name(bare)}, which is no type of a tuple's attribute: use {known}, "
            "list[T], set[T], dict[K, V], T | None, a dataclass or a TypedDict"
        )
    return found


def _known(bare: Any, hint: Any, who: str, around: Around, more: More) -> ValueType | None:
    if isinstance(bare, Hashable) and (scalar := SCALARS.get(bare)) is not None:
        return ValueType(scalar, python=bare, hint=hint)
    if _is_tuple(bare) and bare not in around:
        inside = attributes_of(bare, who, (*around, bare), more)
        return ValueType("tuple", attributes=inside, python=bare, hint=hint)
    origin, arguments = typing.get_origin(bare), typing.get_args(bare)
    if origin in (typing.Union, types.UnionType):
        others = [each for each in arguments if each is not type(None)]
        if len(others) == 1 and len(arguments) == 2:
            inner = value_type(others[0], who, around, more)
            return ValueType("optional", (inner,), hint=hint)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        arguments = arguments[:1]
    elif origin not in _CONTAINERS:
        return None
    parts = tuple(value_type(each, who, around, more) for each in arguments)
    return ValueType(_CONTAINERS.get(origin, "list"), parts, python=origin, hint=hint)


def no_more(bare: Any, hint: Any, who: str, around: Around) -> ValueType | None:
    """What else an attribute of a tuple may be: nothing. Raises GraphError."""
    if bare in around:
        raise GraphError(f"{who} contains {bare.__name__} again: a tuple has no recursive type")
    return None


def bare_hint(hint: Any) -> Any:
    """A type without what annotations say beside it: rules, a name, whether it may be missing."""
    while True:
        if isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif hasattr(hint, "__metadata__"):
            hint = hint.__origin__  # Annotated
        elif typing.get_origin(hint) in (typing.Required, typing.NotRequired, typing.Final):
            hint = typing.get_args(hint)[0]
        else:
            return hint


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
        if attribute.is_required and not found.is_required:
            return (
                f"it takes {wanted.name} with the attribute {attribute.name}, and a {given.name}"
                " of the stream may lack it"
            )
        if found.type != attribute.type:
            return (
                f"attribute {attribute.name} is {attribute.shown} in {wanted.name}, which it "
                f"takes, and {found.shown} in {given.name}, which the stream carries"
            )
    return None


def is_class_of(given: TupleType, wanted: TupleType) -> bool:
    """Whether the tuples of one type are those of the other: of its class, or dicts alike."""
    are_dicts = given.access == wanted.access == "item"
    return given.python is wanted.python or (
        are_dicts and class_hints(given.python, "") == class_hints(wanted.python, "")
    )


def _class_of(wanted: TupleType) -> type:
    """A class that isinstance can use; TypedDicts have none, so nothing is a subclass."""
    return wanted.python if wanted.access == "attribute" else _Nothing


class _Nothing:
    pass
