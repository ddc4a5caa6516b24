"""What the shell offers after TAB: names from the cluster, or nothing, by typer's protocol."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.commands import app
from cli.completing import WAIT_S
from sandbox.http.kubeconfig import write_kubeconfig
from tests.patience import patient
from tests.unit.cli.served_cluster import served_cluster

LOADING_S = patient(3.0)
"""For modules that the first completion imports."""


def offered(kubeconfig: Path, words: str) -> list[str]:
    """What bash is given for the last of the words; a word that is not begun is ''."""
    count = str(len(words.split(" ")) - 1)
    line = {"_MILLRACE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
    environment = {**line, "KUBECONFIG": str(kubeconfig)}
    result = CliRunner().invoke(app, [], prog_name="millrace", env=environment)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.split()


async def test_names_of_the_cluster_are_completed(tmp_path: Path) -> None:
    async with served_cluster(tmp_path) as kubeconfig:
        expected = {
            "get ": ["shop", "shopping"],
            "get shopp": ["shopping"],
            "describe shop-": ["shop-0", "shop-1"],
            "logs sh": ["shop", "shopping"],
            "restart shop-1": ["shop-1"],
            "events none": [],
            "delete shopp": ["shopping"],
            "scale shop ": ["Region0=3"],
            "get --namespace other ": [],
        }
        for words, names in expected.items():
            found = await asyncio.to_thread(offered, kubeconfig, f"millrace {words}")
            assert found == names, words


def test_without_a_kubeconfig_or_a_server_nothing_is_offered(tmp_path: Path) -> None:
    assert offered(tmp_path / "none", "millrace get ") == []
    (tmp_path / "broken").write_text("{")
    assert offered(tmp_path / "broken", "millrace get ") == []


def test_a_server_that_never_answers_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        write_kubeconfig(tmp_path / "kubeconfig", port=silent.getsockname()[1])
        before = time.monotonic()
        assert offered(tmp_path / "kubeconfig", "millrace get ") == []
        assert time.monotonic() - before < WAIT_S + LOADING_S


@pytest.mark.parametrize("command", ["get", "describe", "events", "logs", "restart", "delete"])
def test_a_command_itself_is_completed_without_a_cluster(tmp_path: Path, command: str) -> None:
    assert command in offered(tmp_path / "none", f"millrace {command[:3]}")
