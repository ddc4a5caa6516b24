"""Options that people try first, on any command."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from cli.__main__ import app


def test_the_version_is_that_of_the_distribution() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"millrace {version('millrace')}\n")


@pytest.mark.parametrize("words", [["-h"], ["get", "-h"], ["real", "up", "-h"], ["service", "-h"]])
def test_the_short_option_for_help_is_taken_everywhere(words: list[str]) -> None:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_a_shell_can_complete_commands() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert "--install-completion" in result.output
