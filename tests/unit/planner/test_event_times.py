"""Event times follow their streams: a context names the physical operators that feed it."""

from __future__ import annotations

import pytest

from tests.unit.planner.adl_writing import Adl
from tests.unit.planner.test_adl_rules import FLAGS, aadl_of, edited


def annotation(entry: str) -> tuple[str, str]:
    return '<tracing level="error"/></primitiveOperInstance>', (
        f'<annotation tag="eventTimeContext"><tuple>{entry}</tuple></annotation>'
        '<tracing level="error"/></primitiveOperInstance>'
    )


def fed_by_channels(reference: str, *, is_text: bool = False) -> str:
    """What the sink behind a region of two channels gets for a reference."""
    adl = Adl().operator("z", 1, 0).operator("a", 0, 1).operator("f")
    adl.connect("a", "f").connect("f", "z").region("f", 2)
    text = '<splAnnotation tag="eventTimeContext"><value key="inputConnections" type="l">{}'
    if is_text:
        old, new = FLAGS, FLAGS + text.format(reference) + "</value></splAnnotation>"
    else:
        old, new = annotation(f'<attr key="inputConnections"><list>{reference}</list></attr>')
    found = aadl_of(edited(adl, (old, new)))
    return found.partition('tag="eventTimeContext"')[2].partition("</p:annotation>")[0]


LIST = "<listEntry><list>{}</list></listEntry>"


def listed(*values: str) -> str:
    return LIST.format("".join(f'<listEntry value="{value}"/>' for value in values))


@pytest.mark.parametrize(
    ("reference", "physical"),
    [
        (listed("0", "f", "0"), listed("0", "f[0]", "0") + listed("0", "f[1]", "0")),
        (listed("0", "2", "0"), listed("0", "2", "0") + listed("0", "3", "0")),
        (listed("0", "f", "0") * 2, listed("0", "f[0]", "0") + listed("0", "f[1]", "0")),
        (listed("0", "a", "0"), listed("0", "a", "0")),
        (listed("0", "f", "1"), listed("0", "f", "1")),
        (listed("x", "f"), listed("x", "f")),
        ('<listEntry value="odd"/>', '<listEntry value="odd"/>'),
    ],
)
def test_an_event_time_context_names_the_physical_operators_that_feed_a_port(
    reference: str, physical: str
) -> None:
    """[port, logical operator, output port], by name or index; what means nobody is kept."""
    assert f'<attr key="inputConnections"><list>{physical}</list></attr>' in fed_by_channels(
        reference
    )


def test_an_event_time_context_may_be_written_with_tuples_or_as_text() -> None:
    keys = ("port", "operator", "output")

    def tuples(*values: str) -> str:
        inside = "".join(
            f'<attr key="{key}" value="{value}"/>' for key, value in zip(keys, values, strict=True)
        )
        return f"<listEntry><tuple>{inside}</tuple></listEntry>"

    physical = tuples("0", "f[0]", "0") + tuples("0", "f[1]", "0")
    assert physical in fed_by_channels(tuples("0", "f", "0"))
    as_lists = listed("0", "f[0]", "0") + listed("0", "f[1]", "0")
    assert as_lists in fed_by_channels('[[0,"f",0]]', is_text=True)
    assert as_lists in fed_by_channels('[{port=0, operator="f", output=0}]', is_text=True)
