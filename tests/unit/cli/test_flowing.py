"""Rates of channels from samples of their counters, through a resize."""

from __future__ import annotations

import io

from cli.flowing import (
    AFTER,
    BEFORE,
    CURVE_CHARS,
    DURING,
    Flow,
    Reading,
    count_table,
    curve_of,
    flow_table,
    number,
)
from cli.pod_requests import lost_in, path_in_pod, processed_in
from cli.showing import Renderable, Screen


def text_of(shown: Renderable) -> str:
    file = io.StringIO()
    Screen(file=file, width=120).print(shown)
    return file.getvalue()


def test_a_rate_is_what_a_channel_has_processed_in_the_seconds_of_a_phase() -> None:
    flow = Flow()
    flow.add(10.0, {"C[0]": Reading(2, "a", 1_000)})
    flow.phase = BEFORE
    flow.add(12.0, {"C[0]": Reading(2, "a", 1_600)})
    flow.add(14.0, {"C[0]": Reading(2, "a", 2_000)})
    assert flow.rate("C[0]", BEFORE) == 250
    assert flow.rate("C[0]", AFTER) is None
    assert flow.channels["C[0]"].curve == [0.0, 300.0, 200.0]


def test_a_channel_in_another_pod_counts_from_nothing_and_a_new_one_begins_late() -> None:
    flow = Flow()
    flow.add(0.0, {"C[0]": Reading(2, "a", 1_000)})
    flow.phase = DURING
    flow.add(1.0, {})
    flow.add(2.0, {"C[0]": Reading(2, "b", 30), "C[1]": Reading(6, "c", 50)})
    assert flow.channels["C[0]"].curve == [0.0, 0.0, 30.0]
    assert flow.channels["C[1]"].curve == [0.0, 0.0, 50.0]
    assert flow.rate("C[0]", DURING) == 15


def test_tuples_flow_on_a_channel_once_its_new_pod_has_processed_some() -> None:
    flow = Flow()
    flow.add(0.0, {"C[0]": Reading(2, "a", 1_000)})
    before = flow.pods
    assert flow.flows_on(1)
    assert not flow.flows_on(1, but=before)
    flow.add(1.0, {"C[0]": Reading(2, "b", 0)})
    assert not flow.flows_on(1, but=before)
    flow.add(2.0, {"C[0]": Reading(2, "b", 1)})
    assert flow.flows_on(1, but=before)
    assert not flow.flows_on(2, but=before)


def test_the_time_after_the_last_tuple_counts_for_no_rate() -> None:
    flow = Flow(phase=AFTER)
    for at_s, processed in ((0.0, 0), (1.0, 100), (2.0, 200), (9.0, 200)):
        flow.add(at_s, {"C[0]": Reading(2, "a", processed)})
    assert flow.rate("C[0]", AFTER) == 100


def test_a_curve_has_dots_where_nothing_flowed_and_never_more_than_its_bars() -> None:
    assert curve_of([0, 1, 50, 100, 900], 100) == "·▁▄██"
    flow = Flow()
    for at in range(5 * CURVE_CHARS):
        flow.add(float(at), {"C[0]": Reading(2, "a", 10.0 * at)})
    row = next(line for line in text_of(flow_table(flow)).splitlines() if "C[0]" in line)
    assert sum(row.count(bar) for bar in "·▁▂▃▄▅▆▇█") == CURVE_CHARS


def test_the_table_of_counts_marks_each_word_that_is_not_the_truth() -> None:
    shown = text_of(count_table({"old": 1_200, "new": 3}, {"old": 1_200, "new": 4, "lost": 1}))
    assert "old   " in shown
    assert "1 200  ✓" in shown
    assert "✗ not 4" in shown
    assert "✗ not 1" in shown
    assert number(28_000) == "28 000"


def test_counters_are_read_from_the_text_of_the_metrics() -> None:
    text = (
        "# HELP op_input_n_tuples_processed Tuples.\n"
        'op_input_n_tuples_processed{job="j",logical_name="C",name="C[0]",op="2",pe="2"} 18584.0\n'
        'op_input_n_tuples_dropped{job="j",logical_name="C",name="C[0]",op="2",pe="2"} 7.0\n'
        'millrace_tuples_lost_total{cause="gone",job="j",pe="2"} 3.0\n'
        'millrace_tuples_lost_total{cause="killed",job="j",pe="2"} 4.0\n'
    )
    assert processed_in(text) == {"C[0]": 18_584.0}
    assert lost_in(text) == 7
    assert path_in_pod("ns", "p", "/tap") == "/api/v1/namespaces/ns/pods/p%3A9696/proxy/tap"
