"""The page of measurements is written by the benchmarks."""

from __future__ import annotations

from loadtest.recording import recorded


def test_the_newest_figures_take_the_place_of_the_last() -> None:
    page = "# Measurements\n\nProse.\n"
    first = recorded(page, "make bench", "10 PEs  0.14 s", about="2026-11-23, 2 cores")
    other = recorded(first, "make bench-planner", "1,000 operators", about="2026-11-23, 2 cores")
    second = recorded(other, "make bench", "10 PEs  0.12 s", about="2026-11-24, 2 cores")
    assert first.startswith(page.rstrip())
    assert "`make bench`, 2026-11-23, 2 cores:" in first
    assert "0.14 s" not in second
    assert "0.12 s" in second
    assert "1,000 operators" in second
    assert second.count("make bench: begin") == 1


def test_a_report_with_backslashes_is_written_as_it_is() -> None:
    page = recorded("", "make bench", "a", about="x")
    assert r"\1 \g<0>" in recorded(page, "make bench", r"\1 \g<0>", about="x")
