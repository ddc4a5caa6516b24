"""The fields of a PodSpec as text, from the models of the installed Kubernetes client.

It is written to `contracts/resources/pod_schema.py`, since contracts import no client. One line is
one group of fields: its name, and each field with its type.
"""

from __future__ import annotations

import re
import textwrap
from typing import Final

from kubernetes_asyncio.client import models

ROOT: Final = "V1PodSpec"
LINE_CHARS_MAX: Final = 98
_GROUP: Final = re.compile(r"[A-Z]\w+")
_LIST: Final = re.compile(r"list\[(\w+)\]")
_SIMPLE: Final = {"object": "any", "datetime": "str", "dict(str, str)": "{str}"}
_HEADER: Final = '''\
"""Generated from the models of the Kubernetes client by `make generate`: the fields of a PodSpec.

A group of fields begins at a line's first column with its name; `[x]` is a list, `{str}` a map of
text. What they are used for is in `pod_shapes.py`.
"""

from __future__ import annotations

from typing import Final

SCHEMA: Final = """
'''


def module() -> str:
    """The text of the module."""
    groups: dict[str, dict[str, str]] = {}
    _gather(ROOT, groups)
    lines = [line for name in sorted(groups) for line in _lines(name, groups[name])]
    return _HEADER + "".join(f"{line}\n" for line in lines) + '"""\n'


def _gather(name: str, groups: dict[str, dict[str, str]]) -> None:
    if name in groups:
        return
    model = getattr(models, name)
    fields: dict[str, str] = {
        model.attribute_map[attribute]: type_ for attribute, type_ in model.openapi_types.items()
    }
    groups[name] = fields
    for type_ in fields.values():
        for group in _GROUP.findall(type_):
            _gather(group, groups)


def _lines(name: str, fields: dict[str, str]) -> list[str]:
    items = " ".join(f"{field}={_type(fields[field])}" for field in sorted(fields))
    return textwrap.wrap(
        f"{_short(name)} {items}", LINE_CHARS_MAX, subsequent_indent="  ", break_long_words=False
    )


def _type(type_: str) -> str:
    of_list = _LIST.fullmatch(type_)
    if of_list:
        return f"[{_short(of_list[1])}]"
    return _SIMPLE.get(type_, _short(type_))


def _short(name: str) -> str:
    return name.removeprefix("Core").removeprefix("V1")
