"""Reports that wait become one, and what one changes of a status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.resources import Connectivity
from services.chassis.table.entries import Entry
from services.pe_gateway.adapters.reading import report_data, report_of
from services.pe_gateway.core.deciding import decide
from services.pe_gateway.core.effects import DropReport, Effect, SetReported
from services.pe_gateway.core.reports import (
    HEARS_S,
    counting_values,
    heard_values,
    joined,
    runtime_after,
)
from services.pe_gateway.core.snapshot import Pe, PeKey, PeSnapshot, Report, Values

PE = Pe("ns", "shop-3", "uid", 3, "shop", launch=2)
STARTED = Report("uid", None, 2, "", 100.0, (("handsOver", True), ("name", "millrace")))
FULL = Report("uid", Connectivity.FULL, 2, "", 101.0)
SEALED = replace(STARTED, runtime=(("sealed", 5),))
ENDED = replace(STARTED, runtime=(("ended", True),))
LOST = replace(STARTED, runtime=(("lostTuples", 17),), lost_why="Killed")
OF_LAUNCH_1: Values = (("launch", 1), ("lostTuples", 9), ("name", "old"), ("sealed", 4))
RUNS: Values = (("handsOver", True), ("launch", 2), ("name", "millrace"))

SAVED: Values = (("launch", 2), ("sealed", 5))
OVER: Values = (("ended", True), ("launch", 2))


def decided(pe: Pe, report: Report, now: float = 100.5) -> tuple[str, tuple[Effect, ...]]:
    decision = decide(PeSnapshot(PeKey("ns", "shop-3"), pe, report), now, settle_s=2.0)
    return decision.rules["report"], decision.effects


def test_two_reports_of_a_launch_are_one_that_has_the_older_time() -> None:
    both = joined(STARTED, FULL)
    assert both == replace(FULL, at=100.0, runtime=STARTED.runtime)
    assert joined(FULL, STARTED) == replace(both, before="")
    assert joined(None, FULL) == FULL


def test_a_report_of_another_launch_takes_the_place_of_what_waits() -> None:
    other = replace(FULL, launch=3)
    assert joined(STARTED, other) == other
    assert joined(replace(STARTED, pe_uid="x"), FULL) == FULL


def test_trouble_that_is_over_goes_before_it_was_written() -> None:
    trouble = replace(STARTED, runtime=(("message", "m"), ("reason", "R")))
    over = replace(STARTED, runtime=(("message", None), ("reason", None)))
    assert dict(joined(trouble, over).runtime) == {"message": None, "reason": None}
    known = replace(PE, runtime=(*RUNS, ("reason", "R")))
    assert runtime_after(joined(trouble, over), known) == RUNS


def test_another_launch_begins_with_nothing_of_the_one_before() -> None:
    pe = replace(PE, runtime=OF_LAUNCH_1)
    assert runtime_after(STARTED, pe) == RUNS


def test_what_is_sealed_or_lost_never_falls() -> None:
    pe = replace(PE, runtime=(*RUNS, ("sealed", 6)))
    assert runtime_after(SEALED, pe) == pe.runtime
    fewer = replace(LOST, runtime=(("lostTuples", 3),))
    assert dict(joined(LOST, fewer).runtime) == {"lostTuples": 17}


@pytest.mark.parametrize(
    ("pe", "report", "rule", "effects"),
    [
        (PE, STARTED, "UNSETTLED", ()),
        (PE, SEALED, "REPORTED", (SetReported("shop-3", "uid", None, SAVED),)),
        (PE, ENDED, "REPORTED", (SetReported("shop-3", "uid", None, OVER),)),
        (
            PE,
            joined(STARTED, FULL),
            "REPORTED",
            (SetReported("shop-3", "uid", Connectivity.FULL, RUNS),),
        ),
        (replace(PE, runtime=RUNS), STARTED, "RECORDED", (DropReport("shop-3", "uid"),)),
        (
            replace(PE, runtime=RUNS, connectivity="Partial"),
            joined(STARTED, FULL),
            "OVERTAKEN",
            (DropReport("shop-3", "uid"),),
        ),
        (replace(PE, launch=3), SEALED, "LAUNCHED_AGAIN", (DropReport("shop-3", "uid"),)),
        (replace(PE, launch=1), SEALED, "AHEAD", ()),
    ],
)
def test_the_first_rule_that_holds_decides(
    pe: Pe, report: Report, rule: str, effects: tuple[Effect, ...]
) -> None:
    assert decided(pe, report) == (rule, effects)


def test_a_connectivity_that_was_overtaken_leaves_the_rest_of_a_report_to_count() -> None:
    pe = replace(PE, connectivity="Partial")
    found = decided(pe, joined(SEALED, FULL))
    assert found == ("REPORTED", (SetReported("shop-3", "uid", None, SAVED),))


def test_lost_tuples_have_an_event_once() -> None:
    values = (("launch", 2), ("lostTuples", 17))
    rule, (written,) = decided(PE, LOST, now=102.0)
    assert isinstance(written, SetReported)
    assert (rule, written.runtime, written.lost) == ("REPORTED", values, 17)
    says = "At most 17 tuples are lost so far, as launch 2 reports; the last ones: Killed."
    assert written.loss == says
    of_other = replace(PE, runtime=OF_LAUNCH_1)
    _, (after,) = decided(of_other, replace(LOST, runtime=(("lostTuples", 3),)), now=102.0)
    assert isinstance(after, SetReported)
    assert after.lost == 3
    again = decided(replace(PE, runtime=values), LOST, now=102.0)
    assert again == ("RECORDED", (DropReport("shop-3", "uid"),))


def test_a_report_counts_beside_the_write_of_the_one_that_it_replaced() -> None:
    """Or a PE that connects while the status says None would stay without connections."""
    none = replace(FULL, connectivity=Connectivity.NONE)
    newest = joined(joined(none, replace(FULL, connectivity=Connectivity.PARTIAL)), FULL)
    rule, (written,) = decided(replace(PE, connectivity="None"), newest, now=102.0)
    assert isinstance(written, SetReported)
    assert (rule, written.connectivity) == ("REPORTED", Connectivity.FULL)
    other, _ = decided(replace(PE, connectivity="None"), FULL, now=102.0)
    assert other == "OVERTAKEN"


def test_whom_a_pe_waits_for_is_recorded_once_and_the_write_can_be_counted_as_any_other() -> None:
    """The table has lists as JSON does; effects are kept in sets."""
    resting = replace(STARTED, runtime=(("restsFor", 5), ("waitsFor", (1, 4))))
    data = report_data(resting) | {"runtime": {"restsFor": 5, "waitsFor": [1, 4]}}
    read = report_of(Entry("Report", "ns", "shop-3", "uid", 1, data))
    assert read == resting
    observation, [effect] = decided(replace(PE, runtime=RUNS), read, now=103.0)
    assert observation == "REPORTED"
    assert len({effect, effect}) == 1
    after = replace(PE, runtime=runtime_after(read, replace(PE, runtime=RUNS)))
    assert decided(after, read)[0] == "RECORDED"


AGAIN = replace(STARTED, runtime=(*STARTED.runtime, ("readsAgain", "it may")))


def test_sources_that_may_give_again_have_one_event_for_each_launch() -> None:
    """A report that is sent again, and another one of the launch, have none."""
    rule, (effect,) = decided(PE, AGAIN, now=103.0)
    assert isinstance(effect, SetReported)
    assert (rule, effect.again) == ("REPORTED", "it may")
    known = replace(PE, runtime=effect.runtime)
    assert decided(known, AGAIN)[0] == "RECORDED"
    [other] = decided(known, SEALED)[1]
    assert isinstance(other, SetReported)
    assert other.again == ""
    older = replace(PE, runtime=(("launch", 1), ("readsAgain", "it may")))
    [effect] = decided(older, AGAIN, now=103.0)[1]
    assert isinstance(effect, SetReported)
    assert effect.again == "it may"


@pytest.mark.parametrize(
    ("runtime", "counts"),
    [
        ((), False),
        ((("launch", 1), ("reason", "ImportFailed")), False),
        ((("launch", 1), ("name", "millrace")), True),
        ((("launch", 2), ("name", "millrace")), False),
    ],
)
def test_a_source_gives_nothing_again_where_no_launch_before_reported_its_start(
    runtime: Values, counts: bool
) -> None:
    pe = replace(PE, runtime=runtime)
    found = counting_values(AGAIN.runtime, pe, 2, reads_from_start=True)
    assert found == (AGAIN if counts else STARTED).runtime
    assert counting_values(AGAIN.runtime, pe, 2, reads_from_start=False) == AGAIN.runtime


def test_an_instance_that_is_new_does_not_say_how_long_a_pe_has_waited() -> None:
    """What others reported may have been lost with the instance before: they are not silent yet."""
    values = (("restsFor", 5), ("restsSeconds", 12), ("waitsFor", (1,)))
    assert heard_values(values, HEARS_S) == values
    rests = replace(STARTED, runtime=heard_values(values, HEARS_S - 0.1))
    before = replace(PE, runtime=(("launch", rests.launch), ("restsSeconds", 8)))
    assert "restsSeconds" not in dict(runtime_after(rests, before)), "nor what it was before"
