"""What of a class changes its objects when they are made again, in another PE or after a restart.

A connection and a store keep the values of fields alone. An object is made of them without
`__init__`, and with `__post_init__`. So a class is refused

* that has `InitVar`: nobody has its value any more;
* whose `__post_init__` assigns a field that the constructor takes, too: what was assigned is what
  it begins with the second time. A field with `init=False` is computed of the others again.

What `__post_init__` does by other ways shows in its values alone: they are refused where they
are given or saved (`runtime/checking.py`, `runtime/stores.py`).
"""

from __future__ import annotations

import dataclasses
import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any, Final

from millrace.errors import GraphError

_SETTERS: Final = ("__setattr__", "setattr")


def refuse_what_changes(class_: Any, who: str) -> None:
    """Raises GraphError if a dataclass would not come back as it was."""
    if names := [each.name for each in _fields(class_) if _is_init_var(each)]:
        raise GraphError(
            f"{who} is {class_.__name__}, whose {', '.join(names)} is an InitVar: nobody has its "
            "value in another PE or after a restart: make it a field, or give it to a classmethod "
            "that makes the object"
        )
    given = {each.name for each in dataclasses.fields(class_) if each.init}
    if names := sorted(given.intersection(_assigned(class_))):
        raise GraphError(
            f"{who} is {class_.__name__}, whose __post_init__ changes {', '.join(names)}: it runs "
            "again in another PE and after a restart, on what it made before: use field(init=False)"
            " for what it computes, or a classmethod that makes the object"
        )


def _fields(class_: Any) -> Iterator[Any]:
    yield from class_.__dataclass_fields__.values()


def _is_init_var(field: Any) -> bool:
    return getattr(field._field_type, "name", "") == "_FIELD_INITVAR"


def _assigned(class_: Any) -> set[str]:
    """The attributes that `__post_init__` assigns, as far as its code shows."""
    found: set[str] = set()
    for each in class_.__mro__:
        code = getattr(each.__dict__.get("__post_init__"), "__code__", None)
        if isinstance(code, CodeType):
            found |= {e.argval for e in dis.get_instructions(code) if e.opname == "STORE_ATTR"}
            if not set(_SETTERS).isdisjoint(code.co_names):
                found |= {name for name in code.co_consts if isinstance(name, str)}
    return found
