"""Exec plugins of a kubeconfig run as kubectl runs them."""

from __future__ import annotations

import json
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from services.chassis.kube.exec_plugins import Credential, Plugin
from services.chassis.kube.http import HttpTransport, PluginToken, load_configuration
from services.chassis.kube.kubeconfig_files import access_of, read_kubeconfig
from services.chassis.process.errors import Misconfigured
from tests.unit.chassis.kube.test_kubeconfigs_of_kubectl import written

V1 = "client.authentication.k8s.io/v1"
ANSWER = {"apiVersion": V1, "kind": "ExecCredential"}


def plugin(folder: Path, script: str, name: str = "plugin.sh", **call: Any) -> Path:
    """A kubeconfig whose user has a plugin beside it: lines of a shell."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    called = {"apiVersion": V1, "command": f"./{name}", "interactiveMode": "Never", **call}
    return written(folder / "config", user={"exec": called})


def says(**status: Any) -> str:
    return f"cat <<'END'\n{json.dumps({**ANSWER, 'status': status})}\nEND"


async def credential_of(config: Path) -> Credential:
    return await Plugin(access_of(read_kubeconfig(config))).run()


async def sentence_of(config: Path) -> str:
    with pytest.raises(Misconfigured) as refused:
        await load_configuration(str(config))
    assert str(config) in str(refused.value)
    assert "\n" not in str(refused.value)
    return str(refused.value)


async def test_a_command_with_a_slash_is_relative_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one without a slash is found in $PATH; both run in the folder of the person."""
    config = plugin(tmp_path / "conf", f"pwd > $OUT\n{says(token='t')}", env=[_env(tmp_path)])
    monkeypatch.chdir(tmp_path)
    assert (await credential_of(config)).token == "t"
    assert (tmp_path / "out").read_text().strip() == str(tmp_path)
    config = plugin(tmp_path / "conf", says(token="p"), "by-name", command="by-name")
    monkeypatch.setenv("PATH", f"{tmp_path / 'conf'}:{os.environ['PATH']}")
    assert (await credential_of(config)).token == "p"
    answer = json.dumps({**ANSWER, "status": {"token": "q"}})
    own = [{"name": "PATH", "value": "/nowhere"}]
    config = plugin(tmp_path / "conf", f"echo '{answer}'", "by-name", command="by-name", env=own)
    assert (await credential_of(config)).token == "q", "it is found in ours"


def _env(tmp_path: Path) -> dict[str, str]:
    return {"name": "OUT", "value": str(tmp_path / "out")}


async def test_arguments_and_variables_are_passed_as_they_are(tmp_path: Path) -> None:
    script = f'printf "%s|" "$@" "$OUT" > "$OUT"\n{says(token="t")}'
    await credential_of(plugin(tmp_path, script, args=["a b", "./c"], env=[_env(tmp_path)]))
    assert (tmp_path / "out").read_text() == f"a b|./c|{tmp_path / 'out'}|"


@pytest.mark.parametrize("provides", [True, False])
async def test_the_cluster_is_passed_on_request(tmp_path: Path, *, provides: bool) -> None:
    script = f'printf "%s" "$KUBERNETES_EXEC_INFO" > "$OUT"\n{says(token="t")}'
    config = plugin(tmp_path, script, env=[_env(tmp_path)], provideClusterInfo=provides)
    (tmp_path / "ca.crt").write_text("ca")
    text = config.read_text().replace(
        "    server: ",
        "    certificate-authority: ca.crt\n"
        "    extensions: [{name: client.authentication.k8s.io/exec, extension: {a: 1}}]\n"
        "    server: ",
    )
    config.write_text(text)
    await credential_of(config)
    info = json.loads((tmp_path / "out").read_text())
    cluster = {
        "server": "https://127.0.0.1:1",
        "certificate-authority-data": "Y2E=",
        "config": {"a": 1},
    }
    assert info == {
        **ANSWER,
        "spec": {"interactive": False, **({"cluster": cluster} if provides else {})},
    }


async def test_a_credential_may_have_a_token_and_a_certificate(tmp_path: Path) -> None:
    """The client's provider dropped the certificate."""
    both = says(token="t", clientCertificateData="crt", clientKeyData="key")
    configuration = await load_configuration(str(plugin(tmp_path, both)))
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer t"
    assert _content(configuration.cert_file) == "crt"
    assert _content(configuration.key_file) == "key"


def _content(file: object) -> str:
    return Path(str(file)).read_text()


async def test_a_user_with_a_token_needs_no_plugin(tmp_path: Path) -> None:
    config = plugin(tmp_path, "exit 1")
    config.write_text(config.read_text().replace("  user:\n", "  user:\n    token: t\n"))
    configuration = await load_configuration(str(config))
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer t"


def _end(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).isoformat()


@pytest.mark.parametrize(
    ("ends_in_s", "is_distrusted", "runs"),
    [(3600, False, 1), (-1, False, 3), (3600, True, 2), (None, True, 2), (None, False, 1)],
)
async def test_a_plugin_runs_again_only_when_its_credential_is_over(
    tmp_path: Path, ends_in_s: float | None, *, is_distrusted: bool, runs: int
) -> None:
    """Once for all connections of a command, again once it has expired, or after a 401."""
    end = {} if ends_in_s is None else {"expirationTimestamp": _end(ends_in_s)}
    script = f'echo run >> "$OUT"\n{says(token="t", **end)}'
    config = plugin(tmp_path, script, env=[_env(tmp_path)])
    await load_configuration(str(config))
    configuration = await load_configuration(str(config))
    hook = configuration.refresh_api_key_hook
    assert isinstance(hook, PluginToken)
    if is_distrusted:
        transport = HttpTransport(configuration)
        transport._note_status(401)
        await transport.close()
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer t"
    assert (tmp_path / "out").read_text().count("run") == runs


@pytest.mark.parametrize(
    ("script", "call", "sentence"),
    [
        ("exit 3", {}, "exec.command of the user of context x: .*plugin.sh ended with exit code 3"),
        ("echo 'log in' >&2; exit 1", {}, "exit code 1: log in"),
        ("echo hello", {}, "printed no JSON"),
        ("echo '{}'", {}, "printed no ExecCredential"),
        (says(), {}, "gave neither a token nor a client certificate with its key"),
        (says(clientCertificateData="c"), {}, "gave neither a token"),
        (says(token="t", expirationTimestamp="soon"), {}, "expirationTimestamp that is not a time"),
        (
            says(token="t"),
            {"apiVersion": "client.authentication.k8s.io/v1beta1"},
            "exec.apiVersion of .* is client.*/v1beta1, and the plugin answered as",
        ),
        (
            "",
            {"apiVersion": "client.authentication.k8s.io/v1alpha1"},
            "exec.apiVersion .* is .*v1a",
        ),
        ("", {"interactiveMode": None}, "exec.interactiveMode .* is None: say one of Never"),
        ("", {"interactiveMode": "Always"}, "exec.interactiveMode .* is Always, and there is no"),
        ("", {"args": ["a", 7]}, "exec.args of .*: must be a list of texts"),
        ("", {"env": [{"value": "x"}]}, "exec.env of .*: must be a list of mappings"),
        (
            "",
            {"command": "./gone", "installHint": "Get it at\nacme.com."},
            "calls the program '.*/gone', which is not here. Get it at acme.com.",
        ),
    ],
)
async def test_a_plugin_that_cannot_be_used_is_named_with_the_field(
    tmp_path: Path, script: str, call: dict[str, Any], sentence: str
) -> None:
    found = await sentence_of(plugin(tmp_path, script, **call))
    assert re.search(sentence, found), found
