"""Adds items to a kubeconfig and takes them out, without a change to the rest of its text.

A file of a person has comments, an order and a style, which a YAML writer would lose. So the parsed
nodes only say where to insert and to cut; all other characters stay. Pure: text to text.

1. Find the value of a section, such as `clusters`, and its style: block, flow (JSON is flow), or
   empty.
2. Insert an item after the last one, cut one with its line ends, or replace a scalar.
3. Parse the result. It must be the parsed text before, changed in this one item: whatever form the
   file has, it is changed correctly or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml
from yaml import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

Json = dict[str, Any]
NEW = "apiVersion: v1\nkind: Config\n"
"""A kubeconfig without items."""


class NotEditable(ValueError):
    """The text has a form that cannot be changed safely, such as aliases between items."""


def with_item(text: str, section: str, item: Json) -> str:
    """The text with one more item at the end of a section. Raises NotEditable."""
    root = _root(text)
    found = _entry(root, section)
    if found is None:
        spliced = _with_key(text, root, section, [item])
    elif isinstance(value := found[1], SequenceNode) and value.value:
        spliced = _appended(text, value, item)
    else:
        spliced = _filled(text, root, found[1], item)
    document = yaml.safe_load(text) or {}
    items = [*(document.get(section) or ()), item]
    return _checked(spliced, document | {section: items})


def without_item(text: str, section: str, at: int) -> str:
    """The text without the item at an index of a section. Raises NotEditable."""
    found = _entry(_root(text), section)
    if found is None or not isinstance(found[1], SequenceNode):
        raise NotEditable(f"its {section} are not a list")
    nodes = found[1]
    cut = _cut_flow(text, nodes, at) if nodes.flow_style else _cut_block(text, found[0], nodes, at)
    document = yaml.safe_load(text)
    items = [each for number, each in enumerate(document[section]) if number != at]
    return _checked(cut, document | {section: items})


def with_scalar(text: str, key: str, value: str) -> str:
    """The text with another value of a key of the root. Raises NotEditable."""
    root = _root(text)
    found = _entry(root, key)
    if found is None:
        spliced = _with_key(text, root, key, value)
    else:
        start, end = found[1].start_mark.index, found[1].end_mark.index
        space = " " if text[start - 1 : start] == ":" else ""
        shown = _flow(value) if root is not None and root.flow_style else _plain(value)
        spliced = f"{text[:start]}{space}{shown}{text[end:]}"
    return _checked(spliced, (yaml.safe_load(text) or {}) | {key: value})


def _checked(spliced: str, expected: Mapping[str, Any]) -> str:
    try:
        document = yaml.safe_load(spliced)
    except yaml.YAMLError:
        document = None
    if document != expected:
        raise NotEditable("it uses a form of YAML that cannot be changed in place")
    return spliced


# --------------------------------------------------------------------------- places


def _root(text: str) -> MappingNode | None:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None or isinstance(root, MappingNode):
        return root
    raise NotEditable("its root is not a mapping")


def _entry(root: MappingNode | None, key: str) -> tuple[Node, Node] | None:
    """The nodes of a key and of its value."""
    for name, value in root.value if root is not None else ():
        if isinstance(name, ScalarNode) and name.value == key:
            return name, value
    return None


def _end(node: Node) -> int:
    """The index after the last character of a node; a block's own mark is after its comments."""
    if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _next_line(text: str, at: int) -> int:
    """The beginning of the line after `at`; `at` itself if it begins a line."""
    if at == 0 or text[at - 1] == "\n":
        return at
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


# --------------------------------------------------------------------------- insertion


def _flow(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(value: str) -> str:
    """A scalar without quotes, if it can be."""
    return yaml.safe_dump(value, allow_unicode=True, width=2**31).partition("\n")[0]


def _block(text: str, value: object, column: int) -> str:
    """A value as lines in the block style, indented, with the line ends of the text."""
    dumped = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=2**31)
    lines = [f"{' ' * column}{line}" for line in dumped.splitlines()]
    line_end = "\r\n" if "\r\n" in text else "\n"
    return line_end.join([*lines, ""])


def _with_lines(text: str, at: int, lines: str) -> str:
    """The text with whole lines inserted at the beginning of a line, or after the last one."""
    at = _next_line(text, at)
    before = text[:at]
    if before and not before.endswith("\n"):
        before += "\n"
    return before + lines + text[at:]


def _with_key(text: str, root: MappingNode | None, key: str, value: object) -> str:
    if root is None:
        return _with_lines(text, len(text), _block(text, {key: value}, 0))
    if root.flow_style:
        at = root.start_mark.index + 1
        comma = ", " if root.value else ""
        return f"{text[:at]}{_flow(key)}: {_flow(value)}{comma}{text[at:]}"
    lines = _block(text, {key: value}, root.start_mark.column)
    return _with_lines(text, _end(root), lines)


def _appended(text: str, items: SequenceNode, item: Json) -> str:
    at = _end(items.value[-1])
    if items.flow_style:
        return f"{text[:at]}, {_flow(item)}{text[at:]}"
    return _with_lines(text, at, _block(text, [item], items.start_mark.column))


def _filled(text: str, root: MappingNode | None, value: Node, item: Json) -> str:
    """In place of an empty list, or of no value."""
    start, end = value.start_mark.index, value.end_mark.index
    if root is not None and root.flow_style:
        return f"{text[:start]}{_flow([item])}{text[end:]}"
    column = root.start_mark.column if root is not None else 0
    before = text[:start].rstrip(" ")
    return _with_lines(before + text[end:], len(before), _block(text, [item], column))


# --------------------------------------------------------------------------- cutting


def _cut_flow(text: str, items: SequenceNode, at: int) -> str:
    nodes = items.value
    start, end = nodes[at].start_mark.index, _end(nodes[at])
    if at > 0:
        start = _end(nodes[at - 1])
    elif len(nodes) > 1:
        end = nodes[1].start_mark.index
    return text[:start] + text[end:]


def _cut_block(text: str, key: Node, items: SequenceNode, at: int) -> str:
    node = items.value[at]
    dash = text.rfind("-", 0, node.start_mark.index)
    start = text.rfind("\n", 0, dash) + 1
    rest = text[:start] + text[_next_line(text, _end(node)) :]
    if len(items.value) > 1:
        return rest
    colon = text.index(":", _end(key)) + 1
    return f"{rest[:colon]} []{rest[colon:]}"
