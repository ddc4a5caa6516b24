"""Options that people try first, on any command."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.commands import COMMANDS, LazyCommand, app
from services.chassis.process.release import DISTRIBUTION


def test_the_version_is_that_of_the_distribution() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"millrace {version(DISTRIBUTION)}\n")


@pytest.mark.parametrize("words", [["-h"], ["get", "-h"], ["real", "up", "-h"], ["service", "-h"]])
def test_the_short_option_for_help_is_taken_everywhere(words: list[str]) -> None:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_a_shell_can_complete_commands() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert "--install-completion" in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_commands_has_the_words_of_their_own_help(name: str) -> None:
    """The table is there so that --help imports nothing; it must not say anything else."""
    own = LazyCommand(name, COMMANDS[name]).imported()
    assert (own.help or "").replace("\n", " ").startswith(COMMANDS[name].help)


def test_help_imports_neither_clients_nor_the_planner() -> None:
    """A command that only shows its words takes a fraction of a second."""
    listed = (
        "import sys; from typer.testing import CliRunner; from cli.commands import app;"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0;"
        "heavy = {'aiohttp', 'pydantic', 'numpy', 'lxml', 'structlog', 'kubernetes_asyncio'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", listed], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "[]\n"


def test_without_a_checkout_the_pair_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed wheel has no workshop; nothing of another distribution is taken for it."""
    monkeypatch.setattr("cli.workshop.CHECKOUT", tmp_path)
    for words in (["real", "up"], ["real", "-h"], ["up", "--real"], ["demo", "--real"]):
        result = CliRunner().invoke(app, words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "needs a checkout of the source" in result.stderr


def test_the_transport_does_without_the_models_of_the_client() -> None:
    """The 800 models of kubernetes_asyncio take a second; who wants them still gets them."""
    listed = (
        "import sys; import services.chassis.kube.http as http;"
        "assert 'kubernetes_asyncio' not in sys.modules;"
        "from kubernetes_asyncio.client import ApiClient, V1Pod; print(V1Pod.__name__)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", listed], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "V1Pod\n"
