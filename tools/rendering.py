"""Writes `deploy/manifests/`: the chart, rendered by Helm for each profile.

The first line of a manifest has the digest of the chart that it was rendered from: only a change of
the chart needs Helm, and a test without Helm finds a manifest that is outdated.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

from cli.failing import Failure
from cli.installing import RELEASE
from cli.installing.profiles import NAMESPACE, PROFILES, Profile, values_to_render
from cli.resources import CHART, MANIFESTS
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
    """The manifest of a profile; raises Failure with Helm's words."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as values:
        json.dump(values_to_render(profile), values)
        values.flush()
        documents = documents_of(
            helm, chart, RELEASE, NAMESPACE, "--values", values.name, "--skip-schema-validation"
        )
    text = yaml.safe_dump_all(documents, sort_keys=False, width=100, allow_unicode=True)
    return HEADER.format(digest_of_chart(chart)) + str(text)


def documents_of(
    helm: Path, chart: Path, release: str, namespace: str, *options: str
) -> list[dict[str, Any]]:
    """What `helm template` renders, hooks included."""
    command = [str(helm), "template", release, str(chart), "--namespace", namespace, *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise Failure("`helm template` refused the chart:", *done.stderr.splitlines())
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def stale_manifests(folder: Path = MANIFESTS) -> list[str]:
    """The profiles whose manifest is missing, or was rendered from another chart."""
    header = HEADER.format(digest_of_chart())
    files = {name: folder / f"{name}.yaml" for name in PROFILES}
    return [
        name
        for name, file in files.items()
        if not file.is_file() or not file.read_text(encoding="utf-8").startswith(header)
    ]


async def _write() -> None:
    stale = stale_manifests()
    if not stale:
        return
    with Progress() as progress:
        helm = await helm_of(progress)
    MANIFESTS.mkdir(exist_ok=True)
    for name in stale:
        file = MANIFESTS / f"{name}.yaml"
        file.write_text(rendered(helm, PROFILES[name]), encoding="utf-8")
        answer(f"wrote {file}")


if __name__ == "__main__":
    asyncio.run(_write())
