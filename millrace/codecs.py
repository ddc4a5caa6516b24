"""Tuples and states as bytes, so that they come back as they were.

msgspec writes and reads all values but two kinds of moments: it would give back those with a zone
in UTC, and forget the `fold`. Such a moment is an array of its time, its fold and its zone:

    ["2024-10-27T02:30:00", 1, "Europe/Berlin"]    a ZoneInfo, by its key
    ["2024-10-27T02:30:00", 1, 7200.0, "CEST"]     a timezone: seconds, and a name if it has one
    ["2024-10-27T02:30:00", 1]                     without a zone

1. A type without moments is msgspec's alone.
2. Moments without a zone or in UTC are, too. Where others are among the values, all of these are
   copied, with arrays for the others.
3. A reader tries the plain type first: an array is no moment, so it never reads another value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from operator import attrgetter
from types import GenericAlias
from typing import Any, Final, NotRequired, Required, TypedDict, Union, cast, get_args, get_origin
from zoneinfo import ZoneInfo

import msgspec

from millrace.converting import is_keyed
from millrace.errors import GraphError, worded
from millrace.remaking import remade
from millrace.tuple_types import TupleType, ValueType, is_dataclass_type, tuple_type

Of = Callable[[Any], Any]


_OF_ARRAY: Final = "got `array`"


class Codec:
    """Writes and reads values of one type: one of them, or lists."""

    def __init__(self, type_: ValueType) -> None:
        """Raises TypeError for a type that msgspec does not know."""
        self._write = msgspec.msgpack.Encoder().encode
        self._of_one = msgspec.msgpack.Decoder(type_.hint).decode
        self._of_list = msgspec.msgpack.Decoder(_listed(type_.hint)).decode
        self.encode: Callable[[Sequence[Any]], bytes] = self._write
        self.decode: Callable[[Any], list[Any]] = self._of_list
        self._is_plain = not has_moments(type_)
        if not self._is_plain:
            hint = _packed_hint(type_)
            self._pack, self._unpack = _packing(type_), _unpacking(type_)
            self._of_packed = msgspec.msgpack.Decoder(hint).decode
            self._of_packed_list = msgspec.msgpack.Decoder(_listed(hint)).decode
            self._has_special = _has_special(type_)
            self.encode, self.decode = self._encode, self._decode

    def encode_one(self, value: Any) -> bytes:
        """The bytes of one value."""
        return self._write(value if self._is_plain else self._packed((value,))[0])

    def decode_one(self, data: Any) -> Any:
        """The value in these bytes. Raises msgspec.MsgspecError."""
        try:
            return self._of_one(data)
        except msgspec.ValidationError as problem:
            if self._is_plain or _OF_ARRAY not in str(problem):
                raise
        return self._unpack(self._of_packed(data))

    def _encode(self, values: Sequence[Any]) -> bytes:
        return self._write(self._packed(values))

    def _packed(self, values: Sequence[Any]) -> Sequence[Any]:
        try:
            return [*map(self._pack, values)] if self._has_special(values) else values
        except Exception:  # noqa: BLE001 - msgspec says what does not fit
            return values

    def _decode(self, data: Any) -> list[Any]:
        try:
            found: list[Any] = self._of_list(data)
        except msgspec.ValidationError as problem:
            if _OF_ARRAY not in str(problem):
                raise
            found = [*map(self._unpack, self._of_packed_list(data))]
        return found


def carried_type(annotation: Any, who: str) -> TupleType:
    """As `tuple_type`. Raises GraphError for what no connection carries, too."""
    type_ = tuple_type(annotation, who)
    try:
        Codec(type_.value)
    except Exception as problem:  # noqa: BLE001 - NotImplementedError and TypeError of msgspec
        raise GraphError(
            f"{who} is {type_.name}, which no connection carries: {worded(problem)}"
        ) from None
    return type_


def has_moments(type_: ValueType) -> bool:
    """Whether a value may have one in it."""
    if type_.name == "timestamp":
        return True
    if type_.name in ("map", "union"):
        _refuse_moments_in_parts(type_)
    return any(map(has_moments, (*type_.parts, *(each.type for each in type_.attributes))))


def _refuse_moments_in_parts(type_: ValueType) -> None:
    """Raises TypeError for moments within keys of dicts and within members of a union."""
    for part in type_.parts[: 1 if type_.name == "map" else None]:
        if has_moments(part) and not _is_moment(part):
            where = "a key of a dict" if type_.name == "map" else "a union"
            raise TypeError(f"a datetime within {where} is not supported")


def _is_moment(type_: ValueType) -> bool:
    """Whether it is a moment, or one or None."""
    return (type_.parts[0] if type_.name == "optional" else type_).name == "timestamp"


def _listed(hint: Any) -> Any:
    return list[hint]


# ---------------------------------------------------------------------- which values need it


def _has_special(type_: ValueType) -> Callable[[Iterable[Any]], bool]:
    """Whether any of several values has a moment that msgspec would change."""
    own = [each for each in type_.attributes if has_moments(each.type)]
    direct = [each for each in own if _is_moment(each.type)]
    if not is_dataclass_type(type_.python) or len(own) != 1 or not direct:
        of_each = _special(type_)
        return lambda values: any(map(of_each, values))
    read, utc = attrgetter(own[0].name), UTC

    def has_special(values: Iterable[Any]) -> bool:
        for moment in map(read, values):
            if moment is not None:
                zone = moment.tzinfo
                if (zone is not None and zone is not utc) or moment.fold:
                    return True
        return False

    return has_special


def _special(type_: ValueType) -> Callable[[Any], bool]:
    """Whether a value has a moment that msgspec would change."""
    if type_.name == "timestamp":
        return _is_special
    if type_.name == "tuple":
        return _special_tuple(type_)
    if type_.name == "optional":
        inner = _special(type_.parts[0])
        return lambda value: value is not None and inner(value)
    if type_.name == "union":
        return lambda value: isinstance(value, datetime) and _is_special(value)
    if type_.name == "fixed":
        tests = [_special(each) if has_moments(each) else _never for each in type_.parts]
        return lambda value: any(test(each) for test, each in zip(tests, value, strict=True))
    own = [_special(each) if has_moments(each) else None for each in type_.parts]
    if type_.name != "map":
        (of_each,) = own
        assert of_each is not None
        return lambda value: any(map(of_each, value))
    of_key, of_value = own
    return lambda value: (
        (of_key is not None and any(map(of_key, value)))
        or (of_value is not None and any(map(of_value, value.values())))
    )


def _special_tuple(type_: ValueType) -> Callable[[Any], bool]:
    tests = [(e.name, _special(e.type)) for e in type_.attributes if has_moments(e.type)]
    if is_dataclass_type(type_.python):
        return lambda value: any(test(getattr(value, name)) for name, test in tests)
    return lambda value: any(name in value and test(value[name]) for name, test in tests)


def _never(_: Any) -> bool:
    return False


def _is_special(value: Any) -> bool:
    zone = value.tzinfo
    return (zone is not None and zone is not UTC) or value.fold != 0


# ---------------------------------------------------------------------- to arrays


def _packing(type_: ValueType) -> Of:
    """What makes a value without moments of a value, each part at its place."""
    if type_.name == "timestamp":
        return _packed
    if not has_moments(type_):
        return _itself
    if type_.name == "tuple":
        return _packing_tuple(type_)
    parts = [_packing(each) for each in type_.parts]
    return _over(type_, parts, list)


def _packing_tuple(type_: ValueType) -> Of:
    parts = [(each.name, _packing(each.type)) for each in type_.attributes]
    if is_dataclass_type(type_.python):
        return lambda value: {name: pack(getattr(value, name)) for name, pack in parts}
    packs = dict(parts)  # a dict keeps the order in which its items were set
    return lambda value: {n: packs[n](each) for n, each in value.items() if n in packs}


def _packed(value: Any) -> Any:
    if not isinstance(value, datetime) or not _is_special(value):
        return value
    zone, there = value.tzinfo, value.replace(tzinfo=None, fold=0).isoformat()
    if is_keyed(zone):
        return there, value.fold, str(zone)
    offset = value.utcoffset()
    if type(zone) is not timezone or offset is None:
        return value if zone is not None else (there, value.fold)
    name = cast(Any, zone).__getinitargs__()[1:]  # that of its own
    return there, value.fold, offset.total_seconds(), *name


def _itself(value: Any) -> Any:
    return value


# ---------------------------------------------------------------------- from arrays


def _unpacking(type_: ValueType) -> Of:
    """What makes a value again of what was read with its packed type."""
    if type_.name == "timestamp":
        return _unpacked
    if not has_moments(type_):
        return _itself
    if type_.name == "tuple":
        return _unpacking_tuple(type_)
    return _over(type_, [_unpacking(each) for each in type_.parts], type_.python)


def _unpacking_tuple(type_: ValueType) -> Of:
    class_ = type_.python
    parts = [(each.name, _unpacking(each.type)) for each in type_.attributes]
    if not is_dataclass_type(class_):
        unpacks = dict(parts)
        return lambda found: {n: unpacks[n](each) for n, each in found.items()}
    defaults = {each.name: each for each in dataclasses.fields(class_)}

    def unpacked(found: Any) -> Any:
        values = {
            name: unpack(found[name]) if name in found else _default(defaults[name])
            for name, unpack in parts
        }
        try:
            return remade(class_, values)
        except (TypeError, ValueError) as refused:  # as msgspec says what __post_init__ refuses
            raise msgspec.ValidationError(str(refused)) from refused

    return unpacked


def _default(field: Any) -> Any:
    return field.default if field.default is not dataclasses.MISSING else field.default_factory()


def _unpacked(found: Any) -> Any:
    if not isinstance(found, tuple):
        return found
    there = datetime.fromisoformat(found[0])
    return there.replace(tzinfo=_zone(*found[2:]), fold=found[1])


def _zone(key: str | float = "", *name: str) -> tzinfo | None:
    """The zone of a key, of an offset in seconds and perhaps a name, or none."""
    if isinstance(key, str):
        return ZoneInfo(key) if key else None
    return timezone(timedelta(seconds=key), *name)


# ---------------------------------------------------------------------- both ways


def _over(type_: ValueType, parts: list[Of], kind: Any) -> Of:
    """What goes through the elements of a container, or of what may be something else."""
    match type_.name:
        case "optional":
            (inner,) = parts
            return lambda value: None if value is None else inner(value)
        case "union":
            return lambda value: _packed(value) if isinstance(value, datetime) else _unpacked(value)
        case "fixed":
            return lambda value: tuple(of(each) for of, each in zip(parts, value, strict=True))
        case "map":
            of_key, of_value = parts
            return lambda value: {of_key(key): of_value(each) for key, each in value.items()}
    (of_each,) = parts
    return lambda value: kind(map(of_each, value))


def _packed_hint(type_: ValueType) -> Any:
    """The annotation with arrays for moments; dataclasses are read as dicts."""
    if type_.name == "timestamp":
        return Union[datetime, tuple[Any, ...]]  # noqa: UP007 - made of values
    if not has_moments(type_):
        return _of_value(type_.hint)
    if type_.name == "tuple":
        return _packed_tuple(type_)
    parts = tuple(_packed_hint(each) for each in type_.parts)
    match type_.name:
        case "optional":
            return parts[0] | None
        case "union":
            return Union[parts]  # noqa: UP007 - made of values
        case "fixed":
            return GenericAlias(tuple, parts)
        case "map":
            return GenericAlias(dict, parts)
    return GenericAlias(list, parts)


def _of_value(hint: Any) -> Any:
    """An annotation without what it says of the attribute alone; `_packed_tuple` says it."""
    while get_origin(hint) in (Required, NotRequired, Final):
        (hint,) = get_args(hint)
    return hint


def _packed_tuple(type_: ValueType) -> Any:
    class_ = type_.python
    needed = {each.name for each in type_.attributes if each.is_required}
    if is_dataclass_type(class_):
        missing = dataclasses.MISSING
        needed = {
            each.name
            for each in dataclasses.fields(class_)
            if each.default is missing and each.default_factory is missing
        }
    hints = {
        each.name: Required[hint] if each.name in needed else hint
        for each in type_.attributes
        for hint in (_packed_hint(each.type),)
    }
    return TypedDict(class_.__name__, hints, total=False)  # type: ignore[operator]
