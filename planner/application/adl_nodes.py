"""Reading XML nodes of an ADL with refusals that name element, attribute, value and line.

What the elements mean is in adl.py; nothing here knows an operator.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from lxml import etree

from contracts.reasons import Reason
from planner.refusals import PlanRefused, shown

NAMESPACE = "http://www.ibm.com/xmlns/prod/streams/application/v4200"
INDEX_MAX = 2**31 - 1
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_PLAIN_DIGITS_MAX = 9
"""Of numbers that cannot be above INDEX_MAX."""

Element = etree._Element
Value = TypeVar("Value")


class _Tags(dict[str, str]):
    """The tags of names: of the ADL's namespace."""

    def __missing__(self, name: str) -> str:
        tag = self[name] = f"{{{NAMESPACE}}}{name}"
        return tag


TAGS = _Tags()


class Kept(dict[Any, Any]):
    """The values of one document, each once however often it is written: texts and parts."""

    def once(self, value: Value) -> Value:
        """The equal value that came first. No numbers: 1 equals True."""
        first: Value = self.setdefault(value, value)
        return first


class Node:
    """One element of the ADL's namespace, with the children that it had when first looked at."""

    __slots__ = ("_children", "element", "kept")

    def __init__(self, element: Element, kept: Kept | None = None) -> None:
        """The node of this element; `kept` has the values that were read of its document."""
        self.element = element
        self.kept = Kept() if kept is None else kept
        self._children: dict[object, list[Element]] | None = None

    @property
    def name(self) -> str:
        """The tag without its namespace."""
        return etree.QName(self.element).localname

    def _by_tag(self) -> dict[object, list[Element]]:
        found = self._children
        if found is None:
            found = self._children = {}
            for element in self.element:
                tag = element.tag
                if tag in found:
                    found[tag].append(element)
                else:
                    found[tag] = [element]
        return found

    def children(self, name: str) -> list[Node]:
        """The child elements of that name, in order."""
        kept = self.kept
        return [Node(element, kept) for element in self._by_tag().get(TAGS[name], ())]

    def child(self, name: str) -> Node | None:
        """The first child element of that name."""
        found = self._by_tag().get(TAGS[name])
        return None if found is None else Node(found[0], self.kept)

    def required_child(self, name: str) -> Node:
        """The first child element of that name; refused when missing."""
        found = self.child(name)
        if found is None:
            self.refuse(name, "", f"has no child {name}")
        return found

    def within(self, holder: str, name: str) -> list[Node]:
        """The children `name` of the child `holder`, which may be missing."""
        found = self._by_tag().get(TAGS[holder])
        return [] if found is None else Node(found[0], self.kept).children(name)

    @property
    def text(self) -> str:
        """The text content."""
        return self.kept.once(self.element.text or "")

    def get(self, attribute: str) -> str | None:
        """The attribute, or None."""
        value = self.element.get(attribute)
        return None if value is None else self.kept.once(value)

    def required(self, attribute: str) -> str:
        """The attribute; refused when missing."""
        value = self.element.get(attribute)
        if value is None:
            self.refuse(attribute, "", f"has no attribute {attribute}")
        return self.kept.once(value)

    def word(self, attribute: str) -> str:
        """The attribute, which says something."""
        value = self.required(attribute)
        if not value.strip():
            self.refuse(attribute, value, f"has an empty {attribute}")
        return value

    def number(self, attribute: str) -> int:
        """The attribute as an index or a count."""
        value = self.element.get(attribute)
        if value is None:
            value = self.required(attribute)
        if value.isdigit() and value.isascii() and len(value) <= _PLAIN_DIGITS_MAX:
            return int(value)
        return self._number(attribute, value)

    def optional_number(self, attribute: str) -> int | None:
        """The attribute as an index or a count, or None."""
        value = self.element.get(attribute)
        return None if value is None else self._number(attribute, value)

    def number_text(self) -> int:
        """The text content as an index or a count."""
        return self._number("text", self.element.text or "")

    def flag(self, attribute: str, default: bool | None = None) -> bool:
        """The attribute as a boolean; without a default it is required."""
        value = self.element.get(attribute)
        if value is None and default is not None:
            return default
        truth = _TRUTH.get((value or self.required(attribute)).strip())
        if truth is None:
            self.refuse(attribute, value, f"has {attribute}={shown(value)!r}, not a boolean")
        return truth

    def choice(self, attribute: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """The attribute, one of `choices`."""
        value = self.element.get(attribute, default)
        if value is None:
            value = self.required(attribute)
        if value not in choices:
            self.refuse(
                attribute,
                value,
                f"has {attribute}={shown(value)!r}, not one of {', '.join(choices)}",
            )
        return choices[choices.index(value)]

    def _number(self, attribute: str, text: str) -> int:
        digits = text.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 19):
            self.refuse(attribute, text, f"has {attribute}={shown(text)!r}, not a number")
        number = int(digits)
        if number > INDEX_MAX:
            self.refuse(attribute, text, f"has {attribute}={number}, above {INDEX_MAX}")
        return number

    def refuse(self, attribute: str, value: object, what: str) -> NoReturn:
        """The ADL is invalid here."""
        who = self._named()
        raise PlanRefused(
            Reason.ADL_INVALID,
            field=f"ADL {self.name}@{attribute}",
            value=value,
            message=f"{who} in line {self.element.sourceline} of the ADL {what}",
        )

    def _named(self) -> str:
        """The element, and by whose name people find it."""
        if named := self.element.get("name"):
            return f"{self.name} {shown(named)!r}"
        for around in self.element.iterancestors():
            if named := around.get("name"):
                return f"{self.name} of {etree.QName(around).localname} {shown(named)!r}"
        return self.name
