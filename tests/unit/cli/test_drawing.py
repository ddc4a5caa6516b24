"""Plans for people: a table that is readable at any width, and a graph with the reasons."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from cli import drawing
from cli.drawing import draw_svg
from cli.failing import Failure
from tests.unit.cli.test_planning import ran, written
from tests.unit.planner.adl_writing import Adl


def table(*words: str | Path) -> str:
    result = ran(*words, "--format", "table")
    assert result.exit_code == 0, result.output
    return result.stdout


def graph(*words: str | Path) -> str:
    result = ran(*words, "--format", "dot")
    assert result.exit_code == 0, result.output
    return result.stdout


def fan(width: int) -> Adl:
    return Adl().chain("a", "f", "z").region("f", width)


def test_channels_that_are_alike_are_one_row(tmp_path: Path) -> None:
    """A thousand of them share a row with ranges of numbers; a few have a row each."""
    path = written(tmp_path, fan(1000))
    drawn = table(path, "--fusion", "legacy")
    assert "1, 3-1001 (1000 alike)" in drawn
    assert "f[0] (1) … f[999] (1001)" in drawn
    assert drawn.count("\n") < 12
    few = table(path, "--fusion", "legacy", "--width", "f=8")
    assert all(f"f[{channel}]" in few for channel in range(8))
    assert "alike" not in few


def test_a_resize_of_a_wide_region_is_readable(tmp_path: Path) -> None:
    path = written(tmp_path, fan(50))
    drawn = table(path, "--fusion", "legacy", "--resize", "f=20")
    assert re.search(r"22-51 +│ +│ +│ +│ +│ gone", drawn)
    drawn = table(path, "--fusion", "legacy", "--resize", "f=70")
    assert re.search(r"52-71 \(20 alike\).*│ new ", drawn)


def test_many_regions_do_not_bury_the_plan(tmp_path: Path) -> None:
    adl = Adl().chain(*(f"o{n}" for n in range(30)))
    for n in range(1, 29):
        adl.region(f"o{n}", 1)
    assert "and 20 more" in table(written(tmp_path, adl)).splitlines()[0]


def test_one_is_singular(tmp_path: Path) -> None:
    path = written(tmp_path, Adl().chain("a", "z"))
    first = table(path, "--fusion", "manual=1").splitlines()[0]
    assert first == "demo::Main: 1 PE, 2 operators, 1 connection, 0 of them between PEs (manual 1)"
    assert "(automatic: 1 PE for 1 to 2 threads on 1 node of 4 CPUs)" in table(path)


def test_fusion_that_packs_nothing_is_reported(tmp_path: Path) -> None:
    drawn = table(written(tmp_path, Adl().chain("a", "z")), "--fusion", "manual=9")
    assert drawn.count("no constraint joins it, and it may have a PE of its own") == 2
    assert "9 PEs were asked for and 2 were made" in drawn


def test_operators_and_groups_are_distinguished(tmp_path: Path) -> None:
    adl = Adl().chain("a", "b", "c")
    adl.operators["a"].partitions = adl.operators["b"].partitions = '<coLocation colocId="X"/>'
    drawn = table(written(tmp_path, adl), "--fusion", "manual=1")
    assert "co-location 'X' joins a, b; 1 group and 1 operator packed together" in drawn


def test_an_ex_location_is_named(tmp_path: Path) -> None:
    """In the table, and at the arrow that must leave the PE."""
    adl = Adl().chain("a", "b")
    adl.operators["a"].partitions = adl.operators["b"].partitions = '<exLocation exlocId="far"/>'
    path = written(tmp_path, adl)
    why = "partitions are ex-located (CDISR3204E): both have 'far'"
    assert f"not with PE 1: {why}" in table(path, "--fusion", "manual=1")
    drawn = graph(path, "--fusion", "manual=1")
    assert f'o0 -> o1 [color=red, label="{why}"];' in drawn


def test_the_channel_that_isolation_keeps_whole_is_named(tmp_path: Path) -> None:
    adl = Adl().chain("a", "N.f", "N.g", "z").region("N", 2)
    words = (written(tmp_path, adl), "--fusion", "manual=9", "--type", "channelIsolation")
    drawn = table(*words)
    assert "(manual 9, channelIsolation)" in drawn
    assert "channelIsolation joins channel 0 of N" in drawn
    assert "channelIsolation joins channel 1 of N" in drawn


def test_the_graph_has_the_reasons(tmp_path: Path) -> None:
    """In the label of each PE, wrapped; also the effect of a resize on it."""
    adl = Adl().chain("a", "b", "c").region("c", 1)
    adl.operators["a"].partitions = adl.operators["b"].partitions = '<coLocation colocId="X"/>'
    drawn = graph(written(tmp_path, adl), "--fusion", "legacy", "--resize", "c=2")
    assert "label=\"PE 0: restarts\\nco-location 'X' joins a, b\";" in drawn
    assert 'label="PE 2: new\\nlegacy: no constraint joins it";' in drawn
    assert "yellow: restarts; green: new" in drawn


def test_a_graph_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "CONNECTIONS_MAX", 10)
    result = ran(written(tmp_path, fan(6)), "--format", "dot")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "a graph of 12 connections is too large to look at (more than 10)" in result.stderr


def test_a_drawing_that_would_take_hours_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph is still printed."""
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/false")
    drawn = graph(written(tmp_path, fan(1000)), "--fusion", "legacy")
    with pytest.raises(Failure, match=r"3002 operators and arrows .* \(more than 2000\)"):
        draw_svg(drawn, tmp_path / "plan.svg")


def test_without_graphviz_a_message_reports_that_nothing_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    result = ran(
        written(tmp_path, fan(2)), "--format", "dot", "--out", tmp_path / "out", "--create"
    )
    assert result.exit_code == 0
    assert "plan.svg is not drawn: Graphviz" in result.stderr
