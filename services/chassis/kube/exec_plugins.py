"""Runs the exec plugin of a kubeconfig's user, as kubectl does.

The provider of kubernetes_asyncio gives a plugin neither the cluster nor the terminal, and drops
one half of an answer with a token and a certificate. The protocol is that of "client-go credential
plugins" in the Kubernetes documentation.

1. The plugin runs once in a process, and again when its credential is over: past its
   expirationTimestamp, or not accepted (401). That renews a token; connections keep the client
   certificate of the first run.
2. A user with a token needs no plugin: it does not run.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from services.chassis.kube.kubeconfig_files import Access, Json, is_line
from services.chassis.process.errors import Misconfigured

VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_MODES: Final = ("Never", "IfAvailable", "Always")
_CLUSTER_EXTENSION: Final = "client.authentication.k8s.io/exec"
_CLUSTER_FIELDS: Final = (
    *("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data"),
    *("proxy-url", "disable-compression"),
)
_OUTPUT_CHARS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class Credential:
    """What a plugin gives: a token, a client certificate with its key (PEM), or both.

    `ends_at`: unix seconds; None if it does not say.
    """

    token: str = ""
    certificate: str = ""
    key: str = ""
    ends_at: float | None = None

    def is_over(self, now: float) -> bool:
        """Whether it has expired."""
        return self.ends_at is not None and now >= self.ends_at

    def as_user(self) -> Json:
        """The fields of a kubeconfig's user."""
        user: Json = {"token": self.token} if self.token else {}
        if self.certificate:
            user["client-certificate-data"] = base64.b64encode(self.certificate.encode()).decode()
            user["client-key-data"] = base64.b64encode(self.key.encode()).decode()
        return user


def has_plugin(access: Access) -> bool:
    """Whether the user of a context has credentials from a plugin only."""
    return bool(access.user.get("exec")) and not {"token", "tokenFile"} & access.user.keys()


@dataclass(frozen=True, slots=True)
class Plugin:
    """The plugin of a user. `is_attended`: a person is at the terminal, whom it may ask."""

    access: Access
    is_attended: bool = False

    async def run(self) -> Credential:
        """A new credential; raises Misconfigured if the plugin cannot be run, or fails."""
        call = self._checked()
        asks = self._may_ask(call)
        process = await self._started(call, asks=asks)
        try:
            out, problem = await process.communicate()
        except asyncio.CancelledError:
            if process.returncode is None:
                process.kill()
            raise
        if process.returncode != 0:
            shown = " ".join((problem or b"").decode(errors="replace").split())[:_OUTPUT_CHARS_MAX]
            what = f"{call['command']} ended with exit code {process.returncode}"
            raise self._refused("command", f"{what}: {shown}" if shown else what)
        return self._credential_of(out, call)

    async def _started(self, call: Json, *, asks: bool) -> asyncio.subprocess.Process:
        shows = asks or (self.is_attended and sys.stderr is not None and sys.stderr.isatty())
        try:
            return await asyncio.create_subprocess_exec(
                call["command"],
                *call.get("args") or (),
                executable=_program(call["command"]),  # its own `env` may have another PATH
                env=self._environment(call, asks=asks),
                stdin=None if asks else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if shows else asyncio.subprocess.PIPE,
            )
        except OSError as problem:
            what = f"{call['command']} cannot be run: {problem.strerror}"
            raise self._refused("command", what) from None

    def _environment(self, call: Json, *, asks: bool) -> dict[str, str]:
        spec: Json = {"interactive": asks}
        if call.get("provideClusterInfo"):
            spec["cluster"] = _cluster_of(self.access.cluster)
        info = {"apiVersion": call["apiVersion"], "kind": "ExecCredential", "spec": spec}
        own = {each["name"]: each.get("value") or "" for each in call.get("env") or ()}
        return {**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _may_ask(self, call: Json) -> bool:
        mode = call.get("interactiveMode") or _MODES[1]
        has_terminal = self.is_attended and sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not has_terminal:
            raise self._refused("interactiveMode", "is Always, and there is no terminal")
        return mode != "Never" and has_terminal

    def _checked(self) -> Json:
        """The fields of `exec`; raises Misconfigured, with the installHint of a missing one."""
        call = self.access.user["exec"]
        if not isinstance(call, dict):
            raise self._refused("", "must be a mapping")
        command, version = call.get("command"), call.get("apiVersion")
        if not isinstance(command, str) or not command:
            raise self._refused("command", "is missing")
        if not _program(command):
            hint = " ".join(str(call.get("installHint") or "").split())
            what = f"calls the program {command!r}, which is not here"
            raise self._refused("command", f"{what}{f'. {hint}' if hint else ''}")
        if version not in VERSIONS:
            raise self._refused("apiVersion", f"is {version!r}; there are {', '.join(VERSIONS)}")
        mode = call.get("interactiveMode")
        if mode not in _MODES and (mode or version == VERSIONS[0]):
            raise self._refused("interactiveMode", f"is {mode!r}: say one of {', '.join(_MODES)}")
        args, env = call.get("args") or [], call.get("env") or []
        if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
            raise self._refused("args", "must be a list of texts")
        if not isinstance(env, list) or not all(map(_is_variable, env)):
            raise self._refused("env", "must be a list of mappings with name and value, as texts")
        return call

    def _credential_of(self, out: bytes, call: Json) -> Credential:
        try:
            answer: Any = json.loads(out)
        except ValueError:
            raise self._refused("command", f"{call['command']} printed no JSON") from None
        if not isinstance(answer, dict) or answer.get("kind") != "ExecCredential":
            raise self._refused("command", f"{call['command']} printed no ExecCredential")
        version = call["apiVersion"]
        if answer.get("apiVersion") != version:
            found = answer.get("apiVersion")
            raise self._refused("apiVersion", f"is {version}, and the plugin answered as {found!r}")
        status = answer.get("status")
        fields = status if isinstance(status, dict) else {}
        given = {name: str(value) for name, value in fields.items() if value}
        token, key = given.get("token", ""), given.get("clientKeyData", "")
        certificate = given.get("clientCertificateData", "")
        if bool(certificate) != bool(key) or not (token or certificate):
            what = "gave neither a token nor a client certificate with its key"
            raise self._refused("command", f"{call['command']} {what}")
        if not is_line(token):
            raise self._refused("command", f"{call['command']} gave a token that is not one line")
        return Credential(token, certificate, key, self._end_of(given, call))

    def _end_of(self, given: dict[str, str], call: Json) -> float | None:
        if "expirationTimestamp" not in given:
            return None
        try:
            return datetime.fromisoformat(given["expirationTimestamp"]).timestamp()
        except ValueError:
            what = f"{call['command']} gave an expirationTimestamp that is not a time"
            raise self._refused("command", what) from None

    def _refused(self, field: str, problem: str) -> Misconfigured:
        file, context = self.access.file, self.access.context
        name = f"exec.{field}" if field else "exec"
        return Misconfigured(
            f"the kubeconfig {file} cannot be used: {name} of the user of context {context}: "
            f"{problem}"
        )


def _program(command: str) -> str | None:
    """Where the program of a plugin is; None if it is not here."""
    return shutil.which(command, path=os.environ.get("PATH", os.defpath))


def _is_variable(each: object) -> bool:
    return (
        isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and isinstance(each.get("value"), str | None)
    )


def _cluster_of(cluster: Json) -> Json:
    """The cluster, as `provideClusterInfo` requests it: with the content of its certificate."""
    found: Json = {name: cluster[name] for name in _CLUSTER_FIELDS if name in cluster}
    if "certificate-authority" in cluster:
        content = Path(cluster["certificate-authority"]).read_bytes()
        found["certificate-authority-data"] = base64.b64encode(content).decode()
    for each in cluster.get("extensions") or ():
        if each["name"] == _CLUSTER_EXTENSION:
            found["config"] = each.get("extension")
    return found
