"""Makes the parts of the two Compose files that list services, from the rows of the services.

The files are for people to read and change: only what is between two marks is generated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from services.chassis.process.settings import variable_of
from services.chassis.running.service import Resources, Service
from services.roster import SERVICES

ROOT: Final = Path(__file__).resolve().parents[1]
PART: Final = re.compile(
    r"^(?P<begin> *# Generated from services/\*/service\.py by `make generate`: (?P<name>.*)\.\n)"
    r"(?P<lines>(?:.*\n)*?)(?P<end> *# The end of what is generated\.\n)",
    re.MULTILINE,
)
VOLUMES: Final = {
    "bundle-root": ("${MILLRACE_BUNDLES:-bundles}", "/var/lib/millrace/bundles"),
    "bundle-store": ("store", "/var/lib/millrace/store"),
}
"""The volume and the folder of each mount."""
_USUAL: Final = Resources()


def compose_files() -> Mapping[Path, str]:
    """The content of each file, with its generated parts as they have to be."""
    parts = {
        Path("docker-compose.yml"): {
            "the services": "\n".join(map(_container, SERVICES)),
            "where pods find them": "".join(map(_found, SERVICES)),
        },
        Path("docker-compose.host-network.yml"): {
            "the services": "\n".join(map(_on_host, SERVICES))
        },
    }
    return {file: _written(file, of_file) for file, of_file in parts.items()}


def _written(file: Path, parts: Mapping[str, str]) -> str:
    """The file with these parts. Raises ValueError if it has not the marks of each of them."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if sorted(part["name"] for part in PART.finditer(text)) != sorted(parts):
        raise ValueError(f"{file} needs the marks of its generated parts: {', '.join(parts)}")
    return PART.sub(lambda part: part["begin"] + parts[part["name"]] + part["end"], text)


def _container(row: Service) -> str:
    mounts = {each.setting: (*VOLUMES[each.name], each.read_only) for each in row.mounts}
    settings = {setting: folder for setting, (_, folder, _) in mounts.items()}
    settings |= {setting: f'"{value}"' for setting, value in row.defaults.items()}
    lines = [
        f"  {row.name}:",
        "    <<: *service",
        f"    command: [services.{row.folder}]",
        "    environment:",
        "      <<: *settings",
        f"      MILLRACE_INSTANCE: ${{COMPOSE_PROJECT_NAME:-millrace}}-{row.name}",
        *(f"      {variable_of(setting)}: {value}" for setting, value in settings.items()),
    ]
    if mounts:
        lines += ["    volumes:", "      - cluster:/run/millrace:ro", "      - *given"]
        lines += [
            f"      - {volume}:{folder}" + (":ro" if read_only else "")
            for volume, folder, read_only in mounts.values()
        ]
    memory, cpus = row.resources.compose_memory_max, row.resources.compose_cpus_max
    if (memory, cpus) != (_USUAL.compose_memory_max, _USUAL.compose_cpus_max):
        limits = f'{{memory: {memory}, cpus: "{cpus}"}}'
        lines.append(f"    deploy: {{resources: {{limits: {limits}}}}}")
    return "".join(f"{line}\n" for line in lines)


def _found(row: Service) -> str:
    """The variables that give pods the URL of a service."""
    given = (each for each in row.ports if each.given_as)
    return "".join(
        f"      - --run-env={port.given_as}=http://{row.name}:{port.number}\n" for port in given
    )


def _on_host(row: Service) -> str:
    return f"  {row.name}:\n    network_mode: host\n    environment:\n" + "".join(_host_env(row))


def _host_env(row: Service) -> Iterator[str]:
    yield "      <<: *settings\n"
    yield f'      MILLRACE_METRICS_PORT: "{row.compose_port}"\n'
    for setting in dict.fromkeys(each.host_setting for each in row.ports if each.host_setting):
        yield f"      {variable_of(setting)}: 127.0.0.1\n"
