"""Files that cannot be used as a kubeconfig: each is refused in a sentence that names the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.chassis.kube.http import load_configuration
from services.chassis.process.errors import Misconfigured

USABLE = """
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


async def sentence_of(path: Path) -> str:
    with pytest.raises(Misconfigured) as refused:
        await load_configuration(str(path))
    return str(refused.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "it has no clusters, users and contexts"),
        ("[]", "it has no clusters, users and contexts"),
        ("{[", "is not a kubeconfig: line 1, column 3: expected"),
        ("[" * 10_000, "is not a kubeconfig"),
        ("apiVersion: v1", "has no current-context: choose one of its contexts (none)"),
        (USABLE.replace("t: x", "t: y"), "current-context 'y' is not among its contexts (x)"),
        (
            USABLE.replace("{token: secret}", "7"),
            "users[0].user: it must be a mapping",
        ),
        (
            USABLE.replace("token: secret", "client-certificate: /no/such.crt"),
            "users[u].user.client-certificate names /no/such.crt, and there is no such file",
        ),
        (
            USABLE.replace("token: secret", "exec: {command: no-such-program}"),
            "calls the program 'no-such-program', which is not here",
        ),
    ],
)
async def test_a_file_that_is_no_kubeconfig_of_use_is_refused_in_a_sentence(
    tmp_path: Path, content: str, sentence: str
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content)
    found = await sentence_of(file)
    assert sentence in found
    assert str(file) in found
    assert "\n" not in found


async def test_a_program_that_fails_is_reported_with_its_output(tmp_path: Path) -> None:
    """Such as the one of a cloud, once a login has ended."""
    program = tmp_path / "login"
    program.write_text("#!/bin/sh\necho 'your login has ended' >&2\nexit 3\n")
    program.chmod(0o755)
    api = "apiVersion: client.authentication.k8s.io/v1"
    called = f"exec: {{{api}, command: {program}, interactiveMode: Never}}"
    file = tmp_path / "kubeconfig"
    file.write_text(USABLE.replace("token: secret", called))
    assert "your login has ended" in await sentence_of(file)


async def test_a_folder_in_place_of_a_kubeconfig_is_named(tmp_path: Path) -> None:
    """A container engine makes one where the file that it should mount does not exist."""
    assert await sentence_of(tmp_path) == f"{tmp_path} is a folder, and has to be a kubeconfig"


async def test_a_process_without_kubeconfig_and_account_learns_which_setting_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(Misconfigured, match="MILLRACE_KUBECONFIG is not set"):
        await load_configuration("")
