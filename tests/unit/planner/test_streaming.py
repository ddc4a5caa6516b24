"""An ADL whose operators are read while it is parsed is the one that is read as a whole.

A comment at its end makes a document one that is read as a whole.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from contracts.untrusted_xml import is_plain
from planner.application import model
from planner.application.adl import read_application
from planner.application.adl_nodes import TAGS, Kept
from planner.application.adl_streaming import read_while_parsing
from planner.refusals import PlanRefused
from tests.places import corpus
from tests.unit.planner.adl_writing import Adl
from tests.unit.planner.hostile_documents import DOCUMENTS, Hostile
from tests.unit.planner.test_invariants import applications

WHOLE = b"<!-- whole -->"
MEGA = 1024 * 1024


def read(text: bytes) -> model.Application | str:
    """The application, or why there is none."""
    bundle = replace(Adl().chain("a", "b").bundle(), adl=text, build_id="build")
    try:
        return read_application(bundle)
    except PlanRefused as refusal:
        return f"{refusal.field}: {refusal.message}"


@settings(max_examples=40, deadline=None)  # other tests share the cores
@given(adl=applications())
def test_operators_read_while_parsing_are_those_of_the_whole_document(adl: Adl) -> None:
    text = adl.text().encode()
    assert is_plain(text)
    assert not is_plain(text + WHOLE)
    assert read(text) == read(text + WHOLE)


def test_a_real_document_reads_the_same_in_both_ways() -> None:
    text = corpus("apps.parallel.Parallel.adl").read_bytes()
    assert is_plain(text)
    assert isinstance(read(text), model.Application)
    assert read(text) == read(text + WHOLE)


@pytest.mark.parametrize(
    "hostile",
    [each for each in DOCUMENTS if "not well-formed" not in each.says],
    ids=lambda hostile: hostile.name,
)
def test_what_is_wrong_is_reported_as_of_the_whole_document(hostile: Hostile) -> None:
    text = hostile.make()
    assert read(text) == read(text + WHOLE)


def test_of_several_mistakes_the_first_of_the_steps_is_reported() -> None:
    """Definitions are read before operators, also where the operators were read already."""
    text = Adl().chain("a", "b").text().replace('restartable="true"', 'restartable="maybe"')
    wrong = text.replace('runtimeType="', 'runtimeType="no').encode()
    assert "runtimeType" in str(read(wrong))
    assert "restartable" in str(read(text.encode()))


def test_what_was_read_is_not_kept_as_elements() -> None:
    names = [f"o{number}" for number in range(300)]
    root, members = read_while_parsing(Adl().chain(*names).text().encode(), Kept())
    (read_of_main,) = members.values()
    assert [member.own_name for member in read_of_main] == names
    assert not list(root.iter(TAGS["primitiveOperInstance"], TAGS["connection"]))


def test_equal_parts_of_operators_are_kept_once() -> None:
    names = [f"o{number}" for number in range(20)]
    application = read(Adl().chain(*names).text().encode())
    assert isinstance(application, model.Application)
    assert len({id(member.constraints) for member in primitives(application)}) == 1
    assert all(member.name is member.own_name for member in primitives(application))


def primitives(application: model.Application) -> list[model.Primitive]:
    return [each for each in application.main.members if isinstance(each, model.Primitive)]


@pytest.mark.parametrize("size", [MEGA, MEGA + 1, 3 * MEGA // 2, 12 * MEGA])
@pytest.mark.parametrize("shift", [0, 1, MEGA // 2])
def test_a_document_with_a_mebibyte_without_a_tag_is_not_plain(size: int, shift: int) -> None:
    text = b"<a>" + b"<b/>" * (shift // 4) + b"x" * size + b"<b/>" * MEGA + b"</a>"
    assert not is_plain(text)


@pytest.mark.parametrize(
    "text", [b"<a><!-- --></a>", b"<a><![CDATA[x]]></a>", b"<a><?x?></a>", b"<a/><?x?>"]
)
def test_what_libxml2_judges_otherwise_in_pieces_is_not_plain(text: bytes) -> None:
    assert not is_plain(text)
    assert is_plain(b'<?xml version="1.0"?><a/>')
    assert is_plain(b'\xef\xbb\xbf<?xml version="1.0"?><a/>')
