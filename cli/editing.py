"""Adds items to a kubeconfig and takes them out. ruamel.yaml keeps the rest of the text.

It keeps comments, order, quotes and anchors, but writes spaces and empty values its own way. A line
of comment that belongs to an item that goes is kept at the end of the file. Pure: text to text. The
result is read again: it has to be what was there, changed in this one item, or it is refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from io import StringIO
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from ruamel.yaml.util import load_yaml_guess_indent

Json = dict[str, Any]
NEW = "apiVersion: v1\nkind: Config\n"
"""A kubeconfig without items."""
_WIDTH = 2**31
"""No line is broken."""
_FORM = "it uses a form of YAML that cannot be changed in place"


class NotEditable(ValueError):
    """The text has a form that cannot be changed safely, such as a key that is there twice."""


def with_item(text: str, section: str, item: Json) -> str:
    """The text with one more item at the end of a section. Raises NotEditable."""

    def change(root: Json) -> None:
        if root.get(section) is None:
            root[section] = []
        root[section].append(_shown(item))

    return _changed(text, change)


def without_item(text: str, section: str, at: int) -> str:
    """The text without the item at an index of a section. Raises NotEditable."""

    def change(root: Json) -> None:
        root[section].pop(at)
        if not root[section]:  # an empty list that had items is written wrongly where a comment is
            root[section] = []

    return _changed(text, change)


def with_scalar(text: str, key: str, value: str) -> str:
    """The text with another value of a key of the root. Raises NotEditable."""
    return _changed(text, lambda root: root.update({key: _shown(value)}))


def _changed(text: str, change: Callable[[Any], object]) -> str:
    expected = yaml.safe_load(text) or {}
    change(expected)
    changed = _json_or_yaml(text, change)
    lost = _comments(text) - _comments(changed)
    changed = "\n".join([changed.removesuffix("\n"), *lost.elements(), ""])
    try:
        is_so = yaml.safe_load(changed) == expected
    except yaml.YAMLError:
        is_so = False
    if not is_so:
        raise NotEditable(_FORM)
    return changed


def _json_or_yaml(text: str, change: Callable[[Any], object]) -> str:
    """JSON stays JSON."""
    try:
        root = json.loads(text)
    except ValueError:
        return _as_yaml(text, change)
    change(root)
    return json.dumps(root, indent=2 if "\n" in text.strip() else None, ensure_ascii=False) + "\n"


def _as_yaml(text: str, change: Callable[[Any], object]) -> str:
    plain = text.replace("\r\n", "\n")
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = _WIDTH
    editor.explicit_start = bool(re.search(r"^---", plain, re.MULTILINE))
    written = StringIO()
    try:
        _, indent, offset = load_yaml_guess_indent(plain)
        editor.indent(sequence=indent, offset=offset)
        root = editor.load(plain)
        if root is None:  # comments alone
            root = editor.load(f"{plain}\n{{}}\n")
            root.fa.set_block_style()
        for key, value in root.items():
            if value == [] and key not in root.ca.items:  # no comment would get into it
                value.fa.set_block_style()
        change(root)
        editor.dump(root, written)
    except YAMLError as problem:
        raise NotEditable(_FORM) from problem
    found = written.getvalue()
    return found.replace("\n", "\r\n") if "\r\n" in text else found


def _shown(value: Any) -> Any:
    """A value in which texts that YAML 1.1 takes for something else have quotes."""
    if isinstance(value, dict):
        return CommentedMap((key, _shown(each)) for key, each in value.items())
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if isinstance(value, str) and yaml.safe_dump(value).startswith(("'", '"')):
        return DoubleQuotedScalarString(value)
    return value


def _comments(text: str) -> Counter[str]:
    """The lines that are comments, each with how often it is there."""
    return Counter(re.findall(r"^[ \t]*(#.*?)\r?$", text, re.MULTILINE))
