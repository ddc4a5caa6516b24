"""Reading XML nodes of an ADL with refusals that name element, attribute, value and line.

What the elements mean is in adl.py; nothing here knows an operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from lxml import etree

from contracts.reasons import Reason
from services.fusion_backend.core.refusals import PlanRefused, shown

NAMESPACE = "http://www.ibm.com/xmlns/prod/streams/application/v4200"
INDEX_MAX = 2**31 - 1
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class Node:
    """One element of the ADL's namespace."""

    __slots__ = ("element", "name")

    def __init__(self, element: etree._Element) -> None:
        """The node of this element."""
        self.element = element
        self.name = etree.QName(element).localname

    def children(self, name: str) -> Iterator[Node]:
        """The child elements of that name, in order."""
        for element in self.element.iterchildren(f"{{{NAMESPACE}}}{name}"):
            yield Node(element)

    def child(self, name: str) -> Node | None:
        """The first child element of that name."""
        return next(self.children(name), None)

    def required_child(self, name: str) -> Node:
        """The first child element of that name; refused when missing."""
        found = self.child(name)
        if found is None:
            self.refuse(name, "", f"has no child {name}")
        return found

    def within(self, holder: str, name: str) -> Iterator[Node]:
        """The children `name` of the child `holder`, which may be missing."""
        found = self.child(holder)
        return iter(()) if found is None else found.children(name)

    @property
    def text(self) -> str:
        """The text content."""
        return self.element.text or ""

    def get(self, attribute: str) -> str | None:
        """The attribute, or None."""
        return self.element.get(attribute)

    def required(self, attribute: str) -> str:
        """The attribute; refused when missing."""
        value = self.element.get(attribute)
        if value is None:
            self.refuse(attribute, "", f"has no attribute {attribute}")
        return value

    def number(self, attribute: str) -> int:
        """The attribute as an index or a count."""
        return self._number(attribute, self.required(attribute))

    def optional_number(self, attribute: str) -> int | None:
        """The attribute as an index or a count, or None."""
        value = self.element.get(attribute)
        return None if value is None else self._number(attribute, value)

    def number_text(self) -> int:
        """The text content as an index or a count."""
        return self._number("text", self.text)

    def flag(self, attribute: str, default: bool | None = None) -> bool:
        """The attribute as a boolean; without a default it is required."""
        value = self.element.get(attribute)
        if value is None and default is not None:
            return default
        truth = _TRUTH.get(self.required(attribute).strip())
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
        return value

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
        named = self.element.get("name")
        who = f"{self.name} {shown(named)!r}" if named else self.name
        raise PlanRefused(
            Reason.ADL_INVALID,
            field=f"ADL {self.name}@{attribute}",
            value=value,
            message=f"{who} in line {self.element.sourceline} of the ADL {what}",
        )
