"""Writes `deploy/install.yaml`: the chart, rendered by Helm for each profile, and merged.

A line that several profiles have is there once. The first line has the digest of the chart that it
was rendered from: only a change of the chart needs Helm, and a test without Helm finds a manifest
that is outdated.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Mapping
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import yaml

from cli.failing import Failure
from cli.installing import RELEASE
from cli.installing.profiles import MARK, NAMESPACE, PROFILES, Profile, values_to_render
from cli.resources import CHART, MANIFEST
from cli.showing import answer
from tools.helm import helm_of
from tools.real.pins import digest_of
from tools.real.progress import Progress

HEADER: Final = "# Rendered from deploy/chart ({}) by `make generate`; edit that instead.\n"
_SOURCES: Final = ("Chart.yaml", "values.yaml", "files/services.yaml", "templates/*")


def digest_of_chart(chart: Path = CHART) -> str:
    """The digest of what the manifests are rendered from, the profiles included."""
    contents = {
        str(path.relative_to(chart)): path.read_bytes()
        for pattern in _SOURCES
        for path in chart.glob(pattern)
    }
    chosen = {name: values_to_render(each) for name, each in PROFILES.items()}
    return digest_of(contents | {"profiles": json.dumps(chosen, sort_keys=True).encode()})


def rendered(helm: Path, profile: Profile, chart: Path = CHART) -> str:
    """What a profile has; raises Failure with Helm's words."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as values:
        json.dump(values_to_render(profile), values)
        values.flush()
        documents = documents_of(
            helm, chart, RELEASE, NAMESPACE, "--values", values.name, "--skip-schema-validation"
        )
    return text_of(documents, sort_keys=False)


def text_of(documents: list[dict[str, Any]], *, sort_keys: bool) -> str:
    """Rendered objects as they are kept: with few lines."""
    return str(
        yaml.safe_dump_all(
            documents, sort_keys=sort_keys, width=160, allow_unicode=True, default_flow_style=None
        )
    )


def merged(texts: Mapping[str, str]) -> str:
    """The texts of all profiles as one; `text_for` takes each out again."""
    lines: list[tuple[str, tuple[str, ...]]] = []
    for name, text in texts.items():
        new, found = text.removesuffix("\n").split("\n"), [line for line, _ in lines]
        assert not any(line.startswith(MARK) for line in new)
        steps = SequenceMatcher(None, found, new, autojunk=False).get_opcodes()
        parts: list[list[tuple[str, tuple[str, ...]]]] = []
        for step, start, end, first, last in steps:
            if step == "equal":
                parts.append([(line, (*names, name)) for line, names in lines[start:end]])
            else:
                parts += lines[start:end], [(line, (name,)) for line in new[first:last]]
        lines = [each for part in parts for each in part]
    return "".join(
        f"{MARK}{' '.join(names)}\n" + "".join(f"{line}\n" for line, _ in marked)
        for names, marked in groupby(lines, key=lambda each: each[1])
    )


def documents_of(
    helm: Path, chart: Path, release: str, namespace: str, *options: str
) -> list[dict[str, Any]]:
    """What `helm template` renders, hooks included."""
    command = [str(helm), "template", release, str(chart), "--namespace", namespace, *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise Failure("`helm template` refused the chart:", *done.stderr.splitlines())
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def is_stale(file: Path = MANIFEST) -> bool:
    """Whether the manifest is missing, or was rendered from another chart."""
    header = HEADER.format(digest_of_chart())
    return not file.is_file() or not file.read_text(encoding="utf-8").startswith(header)


async def _write() -> None:
    if not is_stale():
        return
    with Progress() as progress:
        helm = await helm_of(progress)
    texts = {name: rendered(helm, profile) for name, profile in PROFILES.items()}
    MANIFEST.write_text(HEADER.format(digest_of_chart()) + merged(texts), encoding="utf-8")
    answer(f"wrote {MANIFEST}")


if __name__ == "__main__":
    asyncio.run(_write())
