"""`millrace plan`: output for programs and for people, and refusals."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.commands import app
from cli.drawing import draw_svg
from contracts.bundle_format import pack
from tests.places import ROOT
from tests.unit.planner.adl_writing import Adl
from tests.unit.planner.reading import read_pe

KEYS = {
    "pes",
    "ops",
    "operator_connections",
    "pe_input_ports",
    "pe_output_ports",
    "static_connections",
    "pe",
    "operator",
    "widths",
}
UPDATE_KEYS = {
    "changed",
    "added",
    "removed",
    "changed_ops",
    "added_ops",
    "removed_ops",
    "after",
    "pe",
    "operator",
}


def ran(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, words)])


def plan_json(*words: str | Path) -> dict[str, Any]:
    result = ran(*words, "--format", "json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def grown() -> Adl:
    return Adl().chain("a", "f", "z").region("f", 2)


@pytest.fixture(name="adl")
def adl_file(tmp_path: Path) -> Path:
    return written(tmp_path, grown())


def written(folder: Path, adl: Adl) -> Path:
    path = folder / "app.adl"
    path.write_text(adl.text())
    return path


def test_the_numbers_of_a_plan(adl: Path) -> None:
    """The complete answer."""
    found = plan_json(adl, "--fusion", "legacy")
    alone = {"fate": "new", "why": ["legacy: no constraint joins it"]}
    assert found == {
        "pes": 4,
        "ops": 4,
        "operator_connections": 4,
        "pe_input_ports": 3,
        "pe_output_ports": 4,
        "static_connections": 4,
        "pe": {
            "0": {"in": 0, "out": 2, "operators": {"a": 0}, **alone},
            "1": {"in": 1, "out": 1, "operators": {"f[0]": 1}, **alone},
            "2": {"in": 1, "out": 0, "operators": {"z": 2}, **alone},
            "3": {"in": 1, "out": 1, "operators": {"f[1]": 3}, **alone},
        },
        "operator": {
            name: {"index": index, "fate": "new", "from": None, "to": index}
            for index, name in enumerate(["a", "f[0]", "z", "f[1]"])
        },
        "widths": {"f": 2},
    }


def test_a_bundle_and_its_adl_are_planned_alike(adl: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "app.sab"
    bundle.write_bytes(pack(adl.read_bytes()))
    assert plan_json(adl, "--fusion", "manual=2") == plan_json(bundle, "--fusion", "manual=2")


def test_a_resize_reports_what_it_changes(adl: Path) -> None:
    """`update` has the changed, added and removed operators, and the plan after it."""
    found = plan_json(adl, "--fusion", "legacy", "--resize", "f=3")
    assert set(found) == {*KEYS, "update"}
    update = found["update"]
    assert set(update) == UPDATE_KEYS
    assert set(update["after"]) == KEYS - {"operator"}
    assert (update["changed"], update["added"], update["removed"]) == (4, 1, 0)
    assert update["changed_ops"] == {"a": 0, "f[0]": 1, "z": 2, "f[1]": 3}
    assert update["added_ops"] == {"f[2]": 4}
    assert update["removed_ops"] == {}
    assert found["widths"] == {"f": 2}
    assert update["after"]["widths"] == {"f": 3}
    assert update["after"]["pe"]["4"] == {"in": 1, "out": 1, "operators": {"f[2]": 4}}
    assert update["pe"]["4"] == {"fate": "new", "why": ["f[2] is new"], "operators": ["f[2]"]}
    assert update["operator"]["f[2]"] == {"index": 4, "fate": "new", "from": None, "to": 4}


def test_resizes_are_generations_one_after_the_other(adl: Path) -> None:
    """A channel that came back is another operator in another PE; with --compat it is the same."""
    words = (adl, "--fusion", "legacy", "--width", "f=3", "--resize", "f=2", "--resize", "f=3")
    assert plan_json(*words)["update"]["removed_ops"] == {"f[2]": 4}
    assert plan_json(*words)["update"]["added_ops"] == {"f[2]": 5}
    assert plan_json(*words)["update"]["after"]["pe"].keys() == {"0", "1", "2", "3", "5"}
    assert plan_json(*words, "--compat")["update"]["after"]["pe"].keys() == {
        "0",
        "1",
        "2",
        "3",
        "4",
    }


def test_compat_differs_at_a_resize(adl: Path) -> None:
    """Manual 1: the PE stays by default; the original made a new one."""
    words = (adl, "--fusion", "manual=1", "--resize", "f=3")
    assert list(plan_json(*words)["update"]["after"]["pe"]) == ["0"]
    assert list(plan_json(*words, "--compat")["update"]["after"]["pe"]) == ["1"]


def test_widths_and_values_of_the_submission_are_used(tmp_path: Path) -> None:
    """A pattern wins over a submission-time value, which wins over its default."""
    adl = Adl().chain("a", "f", "g", "z").value("w", '"2"').region("f", "w").region("g", "w")
    path = written(tmp_path, adl)
    assert plan_json(path)["widths"] == {"f": 2, "g": 2}
    assert plan_json(path, "--param", "w=4", "--width", "g*=3")["widths"] == {"f": 4, "g": 3}


def test_a_region_may_be_named_by_the_last_part_of_its_name(tmp_path: Path) -> None:
    adl = Adl().operator("N.f", 0, 0).operator("N.g", 0, 0).region("N.f", 2).region("N.g", 2)
    path = written(tmp_path, adl)
    assert plan_json(path, "--resize", "f=3")["update"]["after"]["widths"] == {"N.f": 3, "N.g": 2}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--width", "f=0"), "CDISR1164E"),
        (("--resize", "f=0"), "CDISR1164E"),
        (("--resize", "nobody=2"), "CDISR1411E"),
        (("--width", "nobody=2"), "CDISR1411E"),
        (("--resize", "*=2"), "CDISR1405E"),
    ],
)
def test_what_cannot_be_planned_is_an_error_with_its_code(
    tmp_path: Path, words: tuple[str, ...], code: str
) -> None:
    """On stdout as JSON, exit code 1; the message names the problem and the remedy."""
    path = written(tmp_path, Adl().chain("a", "f", "g", "z").region("f", 2).region("g", 2))
    result = ran(path, *words, "--format", "json")
    assert result.exit_code == 1
    error = json.loads(result.stdout)
    assert set(error) == {"error", "message"}
    assert error["error"] == code
    assert error["message"]


def test_a_missing_value_has_the_originals_code(tmp_path: Path) -> None:
    path = written(tmp_path, Adl().chain("a", "f", "z").value("w").region("f", "w"))
    result = ran(path, "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)["error"]) == (1, "CDISR1146E")


def test_a_refusal_is_a_sentence_for_people(adl: Path) -> None:
    result = ran(adl, "--width", "f=0", "--format", "table")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("millrace: it cannot be planned: parallel region f")


@pytest.mark.parametrize(
    "text", [b"", b"PK nothing", b"<a>", b'<applicationSet xmlns="http://x"/>', b"\xff\xfe\x00"]
)
def test_what_is_no_application_is_an_error_with_a_reason(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "app.sab"
    path.write_bytes(text)
    result = ran(path, "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"] in {"AdlInvalid", "BundleInvalid"}


@pytest.mark.parametrize(
    "words", [("--fusion", "all"), ("--width", "f"), ("--resize", "f=wide"), ("--param", "x")]
)
def test_invalid_options_are_misuse(adl: Path, words: tuple[str, ...]) -> None:
    result = ran(adl, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words[0] in result.stderr


def test_a_file_that_is_not_there_is_misuse(tmp_path: Path) -> None:
    result = ran(tmp_path / "nowhere.sab")
    assert result.exit_code == 2
    assert "nowhere.sab" in result.stderr


def test_without_a_terminal_the_answer_is_json(adl: Path) -> None:
    assert json.loads(ran(adl).stdout)["pes"] >= 1


def test_hosts_and_exclusive_pools_are_planned(tmp_path: Path) -> None:
    """The command places no PE."""
    adl = Adl().pool("own", "exclusive").chain("a", "b", "c")
    adl.operators["a"].resources = '<hostLocation hostname="h1"/>'
    adl.operators["b"].resources = '<poolLocation poolIndex="1"/>'
    assert plan_json(written(tmp_path, adl), "--fusion", "manual=1")["pes"] == 3


def test_out_writes_one_aadl_a_pe(adl: Path, tmp_path: Path) -> None:
    """Those of the last generation, whichever generation rendered them; older ones go."""
    out = tmp_path / "new" / "out"
    plan_json(adl, "--fusion", "legacy", "--width", "f=4", "--out", out, "--create")
    (out / "mine.xml").write_text("kept")
    found = plan_json(adl, "--fusion", "legacy", "--resize", "f=1", "--out", out, "--create")[
        "update"
    ]["after"]
    names = sorted(path.name for path in out.iterdir())
    assert names == ["mine.xml", "pe-0.xml", "pe-1.xml", "pe-2.xml"]
    for number, pe in found["pe"].items():
        aadl = read_pe((out / f"pe-{number}.xml").read_text())
        assert (aadl.operators, aadl.inputs, aadl.outputs) == (
            pe["operators"],
            pe["in"],
            pe["out"],
        )


def test_pes_that_automatic_splits_further_are_shown(tmp_path: Path) -> None:
    """A PE too large for a ConfigMap becomes several; JSON, files and graph show them."""
    adl = Adl().chain("a", "f", "g", "z").region("f", 90).region("g", 90)
    out = tmp_path / "out"
    words = (written(tmp_path, adl), "--nodes", "1", "--node-cpus", "1", "--out", out, "--create")
    found = plan_json(*words)
    assert found["pes"] > 1
    assert len(list(out.iterdir())) == found["pes"]
    for number, pe in found["pe"].items():
        text = (out / f"pe-{number}.xml").read_text()
        assert len(text) <= 900 * 1024
        assert read_pe(text).operators == pe["operators"]


@pytest.mark.parametrize("below", ["", "out"])
def test_a_folder_that_is_a_file_is_misuse(adl: Path, tmp_path: Path, below: str) -> None:
    """Other errors of the folder (no rights, no room) are failures: exit code 1."""
    (tmp_path / "file").write_text("kept")
    result = ran(adl, "--out", tmp_path / "file" / below, "--create")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "say a folder" in result.stderr
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_that_does_not_exist_is_created_on_request_only(adl: Path, tmp_path: Path) -> None:
    result = ran(adl, "--out", tmp_path / "typo")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "does not exist. Correct it, or say --create" in result.stderr
    assert not (tmp_path / "typo").exists()


def test_a_folder_that_cannot_be_written_is_a_failure(adl: Path) -> None:
    result = ran(adl, "--out", "/proc/nobody/writes/here", "--create")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "/proc/nobody/writes/here cannot be written" in result.stderr


def test_a_drawing_of_an_earlier_plan_is_removed(adl: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.svg").write_text("of yesterday")
    plan_json(adl, "--out", tmp_path)
    assert not (tmp_path / "plan.svg").exists()


def test_the_table_shows_the_operators_and_reasons_of_each_pe(tmp_path: Path) -> None:
    """Constraints that join or separate operators, and the effect of a resize on each PE."""
    adl = Adl().chain("a", "b", "c", "d").region("d", 1)
    adl.operators["a"].partitions = adl.operators["b"].partitions = '<coLocation colocId="X"/>'
    adl.operators["c"].restartable = False
    result = ran(
        written(tmp_path, adl), "--fusion", "manual=9", "--resize", "d=2", "--format", "table"
    )
    assert result.exit_code == 0
    assert "3 PEs, 4 operators, 3 connections, 2 of them between PEs (manual 9)" in result.stdout
    assert "co-location 'X' joins a, b" in result.stdout
    assert "not with PE 0, 2: restartable differs (CDISR3201E)" in result.stdout
    assert "resized: d 1 → 2; operators: 2 changed, 1 added, 0 removed" in result.stdout
    assert "PEs: 2 restart, 1 new, 0 gone, 1 stay" in result.stdout


def test_the_graph_has_every_operator_in_its_pe(adl: Path) -> None:
    """A cluster for each PE, an arrow for each connection; those between PEs are coloured."""
    graph = ran(adl, "--fusion", "manual=2", "--format", "dot").stdout
    assert graph.startswith("digraph plan {")
    assert graph.count("subgraph cluster_") == 2
    assert [graph.count(f'[label="{name}"]') for name in ("a", "f[0]", "f[1]", "z")] == [1] * 4
    assert graph.count(" -> ") == 4
    assert 0 < graph.count("[color=blue]") < 4


def test_a_name_cannot_break_out_of_the_graph(tmp_path: Path) -> None:
    adl = Adl("x&quot;];evil\\")
    graph = ran(written(tmp_path, adl.operator("a", 0, 0)), "--format", "dot").stdout
    assert 'label="x\\"];evil\\\\\\n1 PE' in graph


def test_the_graph_is_drawn_if_graphviz_is_installed(
    adl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Graphviz is a program here that copies its input; without one only the graph is printed."""
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\ncat > "$3"\n')
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(program))
    graph = ran(adl, "--format", "dot", "--out", tmp_path / "out", "--create").stdout
    assert (tmp_path / "out" / "plan.svg").read_text() == graph
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert not draw_svg(graph, tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


@pytest.mark.parametrize("program", ["#!/bin/sh\nexit 3\n", "not a program"])
def test_a_failure_of_graphviz_is_reported_in_a_sentence(
    adl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    dot = tmp_path / "dot"
    dot.write_text(program)
    dot.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(dot))
    result = ran(adl, "--format", "dot", "--out", tmp_path / "out", "--create")
    assert result.exit_code == 1
    assert result.stdout.startswith("digraph plan {")
    assert "plan.svg cannot be drawn" in result.stderr


def test_the_example_can_be_planned() -> None:
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    assert plan_json(adl, "--fusion", "legacy", "--resize", "Counted=5")["update"]["added"] > 0


def test_automatic_uses_the_nodes_of_the_options(adl: Path) -> None:
    """More CPU allows more PEs; what was chosen, and from what, is in the table."""
    words = (adl, "--width", "f=20", "--fusion", "automatic")
    few = plan_json(*words, "--nodes", "1", "--node-cpus", "2")["pes"]
    many = plan_json(*words, "--nodes", "9", "--node-cpus", "2")["pes"]
    assert 1 <= few <= 2 < many <= 18
    table = ran(*words, "--nodes", "9", "--node-cpus", "2", "--format", "table").stdout
    what = r"\(automatic: \d+ PEs for \d+ to \d+ threads on 9 nodes of 2 CPUs\)"
    assert re.search(what, table)


def test_channels_may_be_kept_apart(adl: Path) -> None:
    """As with `fusion.type` of a Job."""
    words = (adl, "--fusion", "manual=1")
    assert plan_json(*words)["pes"] == 1
    assert plan_json(*words, "--type", "channelExlocation")["pes"] == 2


def test_help_teaches() -> None:
    words = " ".join(ran("--help").stdout.split())
    for option in ("--fusion", "--width", "--param", "--resize", "--compat", "--out", "--format"):
        assert option in words
    assert "Example: millrace plan" in words


def examples() -> list[tuple[str, str]]:
    """The arguments and the output of each plan that a page for people shows."""
    pages = [(ROOT / name).read_text() for name in ("README.md", "docs/fusion.md")]
    shown = [each for page in pages for each in page.split("$ .venv/bin/millrace plan ")[1:]]
    return [(words, text) for words, _, text in (each.partition("\n") for each in shown)]


@pytest.mark.parametrize(("words", "text"), examples())
def test_the_pages_for_people_show_what_the_command_prints(words: str, text: str) -> None:
    """Their examples, word by word."""
    source, *options = words.split()
    result = ran(ROOT / source, *options, "--format", "table")
    assert text.partition("\n```")[0] == result.stdout.rstrip("\n")
