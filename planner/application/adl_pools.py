"""Reading the host pools of an ADL, and naming the parts of one that nothing reads.

A part that is not read may be a requirement of a newer compiler. The plan is made without it, and
says so in a warning: a job that runs on other hosts than its author expects is worse to find.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, cast

from lxml import etree

from planner.application import model
from planner.application.adl_nodes import TAGS, Element, Node
from planner.refusals import shown

PARTS_SHOWN_MAX: Final = 5
_ATTRIBUTES: Final[Mapping[str, frozenset[str]]] = {
    "hostpool": frozenset({"index", "name", "size", "membershipMode"}),
    "host": frozenset({"hostname"}),
    "tag": frozenset({"name"}),
}
_INSIDE: Final = frozenset({TAGS["host"], TAGS["tag"]})


def read_pools(application: Node) -> tuple[model.HostPool, ...]:
    """The host pools of a splApplication, in order. Raises PlanRefused."""
    return tuple(map(_pool, application.within("hostpools", "hostpool")))


def warnings_of_pools(application: Node) -> tuple[str, ...]:
    """One sentence for each host pool with parts that are not read."""
    pools = application.within("hostpools", "hostpool")
    return tuple(sentence for pool in pools if (sentence := _warning(pool)))


def _pool(node: Node) -> model.HostPool:
    size = node.optional_number("size")
    if size == 0:
        node.refuse("size", size, "has size=0; a host pool has at least one host")
    return model.HostPool(
        index=node.number("index"),
        name=node.word("name"),
        size=size,
        mode=cast(
            Literal["shared", "exclusive"], node.choice("membershipMode", ("shared", "exclusive"))
        ),
        hosts=tuple(host.word("hostname") for host in node.children("host")),
        tags=tuple(tag.word("name") for tag in node.children("tag")),
    )


def _warning(pool: Node) -> str:
    parts = list(dict.fromkeys(_unread(pool)))
    if not parts:
        return ""
    more = len(parts) - PARTS_SHOWN_MAX
    named = ", ".join(parts[:PARTS_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
    name, line = shown(pool.get("name")), pool.element.sourceline
    return (
        f"host pool {name!r} in line {line} of the ADL has parts that are ignored: {named}; "
        "PEs are placed without them"
    )


def _unread(pool: Node) -> Iterator[str]:
    yield from _unread_here(pool.element, "hostpool")
    for child in _elements(pool.element):
        if child.tag not in _INSIDE:
            yield f"element {_named(child.tag)}"
            continue
        where = etree.QName(child).localname
        yield from (f"{part} of {where}" for part in _unread_here(child, where))
        inside = (_named(each.tag) for each in _elements(child))
        yield from (f"element {name} of {where}" for name in inside)


def _unread_here(element: Element, name: str) -> Iterator[str]:
    """Unknown attributes of an element, and text in it."""
    known = _ATTRIBUTES[name]
    yield from (f"attribute {_named(each)}" for each in element.attrib if str(each) not in known)
    texts = (element.text, *(child.tail for child in element))
    if words := " ".join("".join(text or "" for text in texts).split()):
        yield f"text {shown(words)!r}"


def _elements(parent: Element) -> Iterable[Element]:
    return (child for child in parent if isinstance(child.tag, str))


def _named(tag: object) -> str:
    return shown(etree.QName(str(tag)).localname)
