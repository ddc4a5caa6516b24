"""Each command ends with the code of docs/cli.md for what went wrong."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from cli.commands import COMMANDS, app
from cli.failing import CannotReach, Failure, Misused, NotBegun, TimedOut
from cli.ports import free_ports
from contracts.bundle_format import pack
from tests.unit.planner.adl_writing import Adl

DOCUMENTED = Path(__file__).parents[3] / "docs" / "cli.md"
OF_A_CLUSTER = (
    ("get",),
    ("get", "j"),
    ("describe", "j"),
    ("why", "j"),
    ("logs", "j"),
    ("tap", "j", "S"),
    ("scale", "j", "R=2"),
    ("restart", "j"),
    ("acknowledge", "j"),
    ("delete", "j"),
    ("submit", "{bundle}", "--bundles", "{folder}"),
    ("events", "j"),
    ("plan", "--job", "j"),
)


@pytest.fixture
def names(tmp_path: Path) -> dict[str, str]:
    """What the words of a command stand for; nothing listens at the server of the kubeconfig."""
    bundle = tmp_path / "a.sab"
    bundle.write_bytes(pack(Adl().chain("a", "b").text().encode()))
    port = free_ports(1, random.Random())[0]
    kubeconfig = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    return {"bundle": str(bundle), "folder": str(tmp_path)}


def code_of(*words: str) -> int:
    return CliRunner().invoke(app, list(words)).exit_code


@pytest.mark.parametrize("words", OF_A_CLUSTER, ids=" ".join)
def test_a_command_of_a_cluster_ends_with_3_where_nobody_answers_and_2_without_a_kubeconfig(
    words: tuple[str, ...], names: dict[str, str]
) -> None:
    command = [each.format(**names) for each in words]
    assert code_of(*command, "--kubeconfig", f"{names['folder']}/kubeconfig") == 3
    assert code_of(*command, "--kubeconfig", f"{names['folder']}/nowhere") == 2


OF_A_FILE = (
    ("plan", "{gone}"),
    ("replay", "{gone}"),
    ("why", "j", "--recording", "{gone}"),
    ("events", "j", "--recording", "{gone}"),
    ("bundle", "pack", "{gone}.py"),
    ("bundle", "pack", "{gone}.adl"),
    ("bundle", "pack", "{bundle}.py", "--wheel", "{gone}.whl"),
    ("bundle", "pack", "{bundle}.py", "--include", "{gone}"),
    ("bundle", "show", "{gone}"),
    ("bundle", "verify", "{gone}"),
)


@pytest.mark.parametrize("words", OF_A_FILE, ids=" ".join)
def test_a_file_that_is_not_there_ends_with_2_and_is_named(
    words: tuple[str, ...], names: dict[str, str]
) -> None:
    Path(names["bundle"] + ".py").write_text("raise AssertionError('nobody imports it')")
    gone = f"{names['folder']}/gone"
    result = CliRunner().invoke(
        app, [each.format(**names, gone=gone) for each in words], env={"COLUMNS": "200"}
    )
    assert (result.exit_code, gone in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_ends_with_2_for_an_option_that_it_does_not_have(command: str) -> None:
    assert code_of(command, "--no-such-option") == 2
    assert code_of(command, "--help") == 0


def test_the_codes_are_those_of_the_document() -> None:
    """Also in the epilog of the help."""
    rows = dict(re.findall(r"^\| (\d+) \| ([^|]+) \|$", DOCUMENTED.read_text(), re.MULTILINE))
    assert {"0", "130", "143"} < set(rows)
    for kind in (Failure, Misused, CannotReach, TimedOut, NotBegun):
        assert str(kind.exit_code) in rows
    shown = " ".join(CliRunner().invoke(app, ["--help"]).stdout.replace("│", " ").split())
    assert set(re.findall(r"\b\d+\b", shown.partition("Exit codes:")[2])) == set(rows)
