"""Every reason that a status can have has a remedy, or nobody has to do anything."""

from __future__ import annotations

import string
from collections import defaultdict

import pytest

from contracts.reasons import UNPLACEABLE, Reason
from history.why.of_endings import LASTING, OUT_OF_MEMORY
from history.why.remedies import ON_THE_WAY, REMEDIES, WELL, remedy_of
from millrace.runtime.endings import Ending

VALUES = defaultdict(
    lambda: "x",
    ns="default",
    job="shop",
    pe="shop-0",
    pod="shop-0-1",
    node="n",
    kind="stj",
    log="Read its log",
)
KNOWN = {
    "ns",
    "job",
    "pe",
    "pod",
    "node",
    "kind",
    "name",
    "launch",
    "region",
    "width",
    "url",
    "log",
    "logs",
}


def test_each_reason_is_in_exactly_one_table() -> None:
    assert REMEDIES.keys() | ON_THE_WAY | WELL == set(Reason)
    assert len(REMEDIES) + len(ON_THE_WAY) + len(WELL) == len(Reason)


@pytest.mark.parametrize("reason", [*REMEDIES, *ON_THE_WAY])
def test_a_remedy_is_a_sentence_whose_placeholders_are_known(reason: Reason) -> None:
    text = remedy_of(reason, VALUES)
    assert text[0].isupper()
    assert not text.endswith(".")
    fields = {name for _, name, _, _ in string.Formatter().parse(REMEDIES.get(reason, ""))}
    assert fields - {None} <= KNOWN


MAY_PASS = {
    Ending.CRASHED,
    Ending.OPERATOR_FAILED,
    Ending.PORT_IN_USE,
    Ending.TRANSPORT_REFUSED,
    Ending.STORE_FAILED,
    Ending.STOPPED_LATE,
    Ending.SUPERSEDED,
    Ending.EXITED,
}
"""A tuple at which an operator fails has rules of its own."""


def test_of_each_ending_of_our_runtime_it_is_decided_whether_it_passes_by_itself() -> None:
    failures = set(Ending) - {Ending.COMPLETED, Ending.STOPPED}
    assert {each.reason for each in failures - MAY_PASS} == set(LASTING)


@pytest.mark.parametrize("text", [*LASTING.values(), OUT_OF_MEMORY])
def test_a_remedy_for_what_does_not_pass_does_not_say_that_it_does(text: str) -> None:
    assert "by itself" not in text
    assert text.format_map(VALUES)[0].isupper()
    fields = {name for _, name, _, _ in string.Formatter().parse(text)}
    assert fields - {None} <= KNOWN


def test_a_job_without_a_place_has_a_remedy_for_each_reason() -> None:
    assert REMEDIES.keys() >= UNPLACEABLE


def test_a_word_that_is_no_reason_leads_to_the_events() -> None:
    assert "kubectl describe stj" in remedy_of(None, VALUES)
