"""kubectl prints the same in front of the sandbox and of kube-apiserver."""

from __future__ import annotations

import asyncio
import itertools
import re
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from cli.real.building import cache_folder
from cli.real.pins import read_pins
from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.server import serving
from tests.real.differential.conftest import Bout
from tests.real.differential.furnishing import new_sandbox
from tests.real.differential.objects import config_map, pod, service, widget

Answer = tuple[int, str, str]
_NUMBERS = itertools.count(1)
_MASKS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [0-9:]{8} [+-]\d{4}"), "<time>"),
    (re.compile(r"(resourceVersion: |Resource Version: +)\"?\d+\"?"), "<version>"),
    (re.compile(r"^ +Resource Version: .*$", re.MULTILINE), "<version>"),
    (re.compile(r"\b\d+s\b *"), "<age> "),
    (re.compile(r"https?://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"^kube-root-ca\.crt.*\n", re.MULTILINE), ""),
)


@dataclass(frozen=True)
class Script:
    """Commands in their order; `given` is what `-f -` reads."""

    name: str
    commands: tuple[str, ...]
    given: tuple[dict[str, object], ...] = field(default=())


_BOTH = (widget("w", {"size": 2}), config_map("c", {"k": "v"}))
SCRIPTS = (
    Script(
        "create and get", ("create -f -", "get widgets", "get widget w -o wide", "get cm c"), _BOTH
    ),
    Script("apply twice", ("apply -f -", "apply -f -", "get widgets --show-labels"), _BOTH),
    Script(
        "names",
        (
            "create -f - -o name",
            "get widgets,cm -o name --field-selector metadata.name!=kube-root-ca.crt",
        ),
        _BOTH,
    ),
    Script(
        "paths",
        (
            "create -f -",
            "get widget w -o jsonpath={.spec.size}",
            "get widgets -o custom-columns=N:.metadata.name,S:.spec.size",
        ),
        _BOTH,
    ),
    Script(
        "label",
        (
            "create -f -",
            "label widget w a=b",
            "label widget w a=c",
            "label widget w a=c --overwrite",
            "label cm c a-",
            "get widgets -l a=c",
            "get widgets -L a",
        ),
        _BOTH,
    ),
    Script(
        "annotate",
        ("create -f -", "annotate cm c x=y", "annotate cm c x=z", "annotate cm c x-"),
        _BOTH,
    ),
    Script(
        "patch",
        (
            "create -f -",
            'patch widget w --type merge -p {"spec":{"size":3}}',
            'patch widget w --type merge -p {"spec":{"size":3}}',
            'patch widget w --type merge -p {"spec":{"size":0}}',
            'patch cm c -p {"data":{"k":null}}',
        ),
        _BOTH,
    ),
    Script(
        "scale",
        (
            "create -f -",
            "scale widget w --replicas=5",
            "scale widget w --replicas=0",
            "get widgets",
            "scale widget w --current-replicas=9 --replicas=2",
        ),
        _BOTH,
    ),
    Script(
        "delete",
        (
            "create -f -",
            "delete widget w",
            "delete cm c --wait=false",
            "delete widget w",
            "delete widget w --ignore-not-found",
            "get widgets",
        ),
        _BOTH,
    ),
    Script(
        "delete by label", ("create -f -", "delete widgets -l a=b", "delete widgets --all"), _BOTH
    ),
    Script(
        "what is refused",
        ("create -f -", "get widgets nothing", "get nothings"),
        (widget("w", {"size": 0}),),
    ),
    Script(
        "unknown fields",
        ("create -f -", "create --validate=ignore -f -"),
        (widget("w", {"size": 1, "x": 1}),),
    ),
    Script("twice", ("create -f -", "create -f -"), _BOTH),
    Script(
        "replace",
        ("create -f -", "replace -f -", "replace --force -f -"),
        (config_map("c", {"k": "v"}),),
    ),
    Script(
        "dry run",
        ("apply --dry-run=server -f -", "get cm c", "create --dry-run=client -f -"),
        (config_map("c", {"k": "v"}),),
    ),
    Script(
        "wait",
        (
            "create -f -",
            "wait --for=jsonpath={.spec.size}=2 widget/w --timeout=5s",
            "wait --for=delete widget/other --timeout=5s",
        ),
        _BOTH,
    ),
    Script(
        "a service", ("create -f -", "get svc", "get svc -o wide", "delete svc one"), (service(),)
    ),
    Script(
        "a pod", ("create -f -", "get pods", "get pods -o wide", "delete pod one --now"), (pod(),)
    ),
    Script(
        "our kinds",
        (
            "get stj",
            "get stj,stp,stpr,sthp",
            "get streams",
            "get stpr -o wide",
            "get job.streams.ibm.com",
            "explain stpr.spec.width",
        ),
    ),
    Script(
        "pages",
        ("create -f -", "get widgets --chunk-size=1", "get widgets --chunk-size=1 -A -l none=such"),
        (*_BOTH, widget("x"), widget("y")),
    ),
    Script("diff", ("create -f -", "diff -f -"), (config_map("c", {"k": "v"}),)),
    Script(
        "auth and versions",
        (
            "api-resources --api-group=streams.ibm.com",
            "api-resources --api-group=diff.example.com --no-headers",
            "get --raw /readyz",
        ),
    ),
)


def kubectl() -> str:
    """The kubectl that was built beside the API server, or the one of the machine."""
    built = cache_folder() / read_pins().digest / "bin" / "kubectl"
    found = str(built) if built.exists() else shutil.which("kubectl")
    if not found:
        pytest.skip("there is no kubectl: `make real-up` builds one")
    return found


@pytest.mark.real
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_kubectl_prints_the_same(
    bout: Bout, kubeconfig: Path, tmp_path: Path, script: Script
) -> None:
    """Exit code, output and complaints of each command agree."""
    namespace = f"kubectl-{uuid.uuid4().hex[:6]}-{next(_NUMBERS)}"
    sandbox, real = bout.run(_both_sides(script, namespace, kubeconfig, tmp_path))
    for command, mine, theirs in zip(script.commands, sandbox, real, strict=True):
        assert mine == theirs, command


async def _both_sides(
    script: Script, namespace: str, kubeconfig: Path, folder: Path
) -> tuple[list[Answer], list[Answer]]:
    mine = folder / "sandbox.kubeconfig"
    async with serving(new_sandbox().api) as port:
        write_kubeconfig(mine, port=port)
        sandbox, real = await asyncio.gather(
            _typed(script, namespace, mine), _typed(script, namespace, kubeconfig)
        )
    return sandbox, real


async def _typed(script: Script, namespace: str, kubeconfig: Path) -> list[Answer]:
    run = (
        kubectl(),
        "--kubeconfig",
        str(kubeconfig),
        f"--cache-dir={kubeconfig}.cache.{namespace}",
    )
    given = b"\n".join(orjson.dumps(each) for each in script.given)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    code, _, complaint = await _output([*run, "create", "-f", "-"], orjson.dumps(space))
    assert code == 0, complaint
    for _ in range(20):  # admission of pods wants the account; the sandbox has none
        if (await _output([*run, "get", "sa", "default", "-n", namespace], b""))[0] == 0:
            break
        if "sandbox" in kubeconfig.name:
            break
    answers = []
    for command in script.commands:
        code, out, complaint = await _output([*run, "-n", namespace, *command.split()], given)
        answers.append((code, _masked(out), _masked(complaint)))
    await _output([*run, "delete", "namespace", namespace, "--wait=false"], b"")
    return answers


async def _output(command: Iterable[str], given: bytes) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, complaint = await process.communicate(given)
    return process.returncode or 0, out.decode(), complaint.decode()


def _masked(text: str) -> str:
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return re.sub(r" +", " ", text)
