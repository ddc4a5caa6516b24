"""Reading the operators of an ADL while it is parsed: its elements are many times as large as they.

1. each operator of a composite is read when its element ends, and its element is taken out;
2. what remains are the catalogues and the tree of composites, which adl.py reads.

An operator that is wrong ends it: then everything is read again in the order of adl.py, which
gives the same first error. So does a document of another version, which has none of these
elements.
"""

from __future__ import annotations

from contracts.untrusted_xml import StreamedXml
from planner.application import model
from planner.application.adl_nodes import TAGS, Element, Kept, Node
from planner.application.adl_operators import (
    MEMBER_TAGS,
    MembersRead,
    read_member,
)


def read_while_parsing(adl: bytes, kept: Kept) -> tuple[Element, MembersRead]:
    """The root without operators, and the operators. Raises PlanRefused and BundleInvalid."""
    parsing = StreamedXml(adl, part="the ADL", tags=MEMBER_TAGS)
    members: dict[Element, list[model.Member]] = {}
    done: Element | None = None
    for element in parsing:
        composite = element.getparent()
        if composite is None or composite.tag != TAGS["compositeOperInstance"]:
            continue
        members.setdefault(composite, []).append(read_member(Node(element, kept)))
        element.clear(keep_tail=True)  # type: ignore[call-arg]  # the stubs are older
        # Not this one: libxml2 may not have seen the end of the text behind it.
        _take_out(done)
        done = element
    _take_out(done)
    return parsing.root, members


def _take_out(element: Element | None) -> None:
    parent = None if element is None else element.getparent()
    if element is not None and parent is not None:
        parent.remove(element)
