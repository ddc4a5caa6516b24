"""Writes the generated files: definitions, roles, parts of the chart and of Compose, and pages.

`make generate` runs it as `python -m deploy.generating`; with `--check` it writes nothing and fails
if a file is outdated. The contents come from `contracts/resources/crds.py` (definitions),
`roles.py` (roles), `charting.py` (the chart), `composing.py` (Compose), `life_cycles.py`,
`fields.py` and `settings.py` (pages), and `pod_schema.py` (fields of a PodSpec).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from contracts.resources.crds import custom_resource_definitions
from deploy import charting, composing, fields, life_cycles, pod_schema, roles, settings

ROOT = Path(__file__).resolve().parents[1]
CRD_FOLDER = Path("deploy/crds")
RBAC_FOLDER = Path("deploy/rbac")
LIFE_CYCLES = Path("docs/life-cycles.md")
FIELDS = Path("docs/fields.md")
SETTINGS = Path("docs/settings.md")
POD_SCHEMA = Path("contracts/resources/pod_schema.py")
BARE_SCHEMA = frozenset({"type", "format", "maxLength", "x-kubernetes-int-or-string"})
"""The keys in the schema of a pod's field; a template has a thousand such fields."""
CRD_HEADER = "# Generated from contracts/resources by `make generate`; edit the models instead.\n"
RBAC_HEADER = (
    "# Generated from services/*/adapters/permissions.py by `make generate`; edit those instead.\n"
)


@cache
def generated_files() -> Mapping[Path, str]:
    """The content of each generated file, by its path below the root of the project."""
    definitions = {
        CRD_FOLDER / f"{crd['metadata']['name']}.yaml": CRD_HEADER + rendered(crd)
        for crd in custom_resource_definitions()
    }
    accounts = {
        RBAC_FOLDER / f"{service}.yaml": RBAC_HEADER
        + "---\n".join(map(rendered, roles.documents(service)))
        for service in roles.PERMISSIONS
    }
    pages = {
        LIFE_CYCLES: life_cycles.page(),
        FIELDS: fields.page(),
        SETTINGS: settings.page(),
        POD_SCHEMA: pod_schema.module(),
    }
    composed = composing.compose_files()
    return {**definitions, **accounts, **pages, **composed, **charting.chart_files()}


class _Dumper(yaml.SafeDumper):
    """Writes the schema of a field in one line if it has no description."""


def _represented(dumper: _Dumper, value: dict[str, Any]) -> yaml.Node:
    is_schema = value.keys() <= BARE_SCHEMA and len(value) > 1
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=is_schema or None)


_Dumper.add_representer(dict, _represented)


def rendered(document: Mapping[str, Any]) -> str:
    """An object as YAML; keys keep their order."""
    text: str = yaml.dump(
        dict(document),
        Dumper=_Dumper,
        sort_keys=False,
        width=100,
        allow_unicode=True,
        default_flow_style=False,
    )
    return text


def stale_files(root: Path = ROOT) -> list[Path]:
    """Files that are missing, outdated or no longer generated."""
    expected = generated_files()
    written = {
        path.relative_to(root)
        for folder in (CRD_FOLDER, RBAC_FOLDER)
        for path in (root / folder).glob("*.yaml")
    }
    return sorted(
        path
        for path in expected.keys() | written
        if not (root / path).is_file()
        or (root / path).read_text(encoding="utf-8") != expected.get(path)
    )


def main() -> int:
    """Write the files, or only compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    stale = stale_files()
    if parser.parse_args().check:
        sys.stdout.writelines(f"stale: {path}\n" for path in stale)
        return 1 if stale else 0
    expected = generated_files()
    for path in stale:
        text = expected.get(path)
        if text is None:
            (ROOT / path).unlink()
        else:
            (ROOT / path).parent.mkdir(exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{'removed' if text is None else 'wrote'} {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
