"""A hostile ADL is refused by name, and costs no more than a valid one of its size.

What is compared: nodes that were read, bytes that came to libxml2, and the peak of Python's memory
(libxml2's own is not seen; its limits are those of `contracts/untrusted_xml.py`).
"""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, replace
from functools import cache

import pytest
from lxml import etree

from planner.application.adl import read_application
from planner.application.adl_nodes import Kept, Node
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused
from tests.unit.planner.adl_writing import Adl, plan_of
from tests.unit.planner.hostile_documents import DOCUMENTS, PLAIN, Hostile

COMPARED_BYTES_MAX = 64_000
NODE_BYTES = 40
"""A valid document may have a node in so few bytes."""
SLACK_BYTES = 64 * 1024
"""What a refusal itself may cost: a message, a traceback."""


@dataclass
class Work:
    """What planning took."""

    nodes: int = 0
    peak_bytes: int = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Counts the nodes that are read."""
    found = Work()
    made = Node.__init__

    def counted(node: Node, element: etree._Element, *kept: Kept) -> None:
        found.nodes += 1
        made(node, element, *kept)

    monkeypatch.setattr(Node, "__init__", counted)
    return found


def planned(work: Work, text: bytes) -> PlanRefused | None:
    """Read and plan an ADL, and say what it took."""
    bundle = replace(Adl().chain("a", "b").bundle(), adl=text)
    work.nodes = 0
    tracemalloc.start()
    try:
        plan_of(read_application(bundle), Fusion.legacy())
    except PlanRefused as refusal:
        return refusal
    finally:
        work.peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return None


@cache
def valid_of(size: int) -> bytes:
    """A valid ADL of at most `size` bytes, or the smallest."""
    each = len(Adl().chain(*"abcd").text()) - len(Adl().chain(*"abc").text())
    count = max(2, (size - len(PLAIN)) * 9 // 10 // each)
    return Adl().chain(*(f"o{number}" for number in range(count))).text().encode()


@pytest.mark.parametrize("hostile", DOCUMENTS, ids=lambda hostile: hostile.name)
def test_a_hostile_document_is_refused_by_name_and_costs_no_more_than_a_valid_one(
    hostile: Hostile, work: Work
) -> None:
    text = hostile.make()
    size = COMPARED_BYTES_MAX if len(text) > COMPARED_BYTES_MAX else len(PLAIN)
    assert planned(work, valid_of(size)) is None
    allowed = replace(work)
    refusal = planned(work, text)
    assert refusal is not None, "it was planned"
    assert refusal.reason is hostile.reason
    assert hostile.says in refusal.message
    assert len(refusal.message) < 1_000
    assert work.nodes <= max(allowed.nodes, len(text) // NODE_BYTES)
    assert work.peak_bytes <= allowed.peak_bytes + SLACK_BYTES


def test_there_are_as_many_documents_as_were_promised() -> None:
    assert len({each.name for each in DOCUMENTS}) == len(DOCUMENTS) >= 15
