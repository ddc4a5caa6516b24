"""Every reason that a status can have has a remedy, or nobody has to do anything."""

from __future__ import annotations

import string
from collections import defaultdict

import pytest

from contracts.reasons import UNPLACEABLE, Reason
from history.why.remedies import ON_THE_WAY, REMEDIES, WELL, remedy_of

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


def test_a_job_without_a_place_has_a_remedy_for_each_reason() -> None:
    assert REMEDIES.keys() >= UNPLACEABLE


def test_a_word_that_is_no_reason_leads_to_the_events() -> None:
    assert "kubectl describe stj" in remedy_of(None, VALUES)
