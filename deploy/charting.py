"""Makes the generated parts of `deploy/chart/` and `docs/chart-values.md`.

Services come from their rows, roles from their permissions, as those of `deploy/rbac/` do; values
come from `chart_values.py`. The chart's definitions are a link to `deploy/crds/`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.chart_kinds import Section, Tree, Value
from deploy.chart_values import VALUES
from deploy.roles import PERMISSIONS, rules
from deploy.settings import SERVICES as SETTINGS
from services.chassis.kube.permissions import Permission
from services.chassis.process.settings import variable_of
from services.chassis.running.service import Service, loaded
from services.roster import SERVICES

ROOT: Final = Path(__file__).resolve().parents[1]
CHART: Final = Path("deploy/chart")
SERVICES_FILE: Final = CHART / "files/services.yaml"
VALUES_FILE: Final = CHART / "values.yaml"
SCHEMA: Final = CHART / "values.schema.json"
PAGE: Final = Path("docs/chart-values.md")
HEADER: Final = "# Generated from {} by `make generate`; edit that instead.\n"
LINE_CHARS_MAX: Final = 100
CLUSTER_SCOPED: Final = frozenset(
    {
        ("", "namespaces"),
        ("", "nodes"),
        ("authentication.k8s.io", "tokenreviews"),
        ("metrics.k8s.io", "nodes"),
    }
)
"""What no Role can grant; everything else can be limited to namespaces."""
FOLDERS: Final = {"bundle-root": "/bundles/root", "bundle-store": "/bundles/store"}
"""Where the chart mounts what a row names."""

Json = dict[str, Any]


def chart_files() -> Mapping[Path, str]:
    """The content of each generated file, by its path below the root of the project."""
    return {
        SERVICES_FILE: HEADER.format("services/*/") + _services(),
        VALUES_FILE: HEADER.format("deploy/chart_values.py") + _values(VALUES),
        SCHEMA: json.dumps(_schema(VALUES), indent=1) + "\n",
        PAGE: _page(VALUES),
    }


# ------------------------------------------------------------------ services and their rights


def is_cluster_scoped(permission: Permission) -> bool:
    """Whether only a ClusterRole can grant it."""
    return (permission.group, permission.plural) in CLUSTER_SCOPED


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as such."""


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, "|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def _services() -> str:
    documents = {row.name: _of_service(row) for row in sorted(SERVICES, key=lambda row: row.name)}
    return str(yaml.dump(documents, Dumper=_Dumper, sort_keys=False, width=LINE_CHARS_MAX))


def _of_service(row: Service) -> Json:
    granted = PERMISSIONS[row.name]
    at_home = [each for each in granted if each.at_home]
    everywhere = loaded(row.everywhere) if row.everywhere else frozenset()
    of_cluster = [each for each in granted if is_cluster_scoped(each) or each in everywhere]
    of_namespaces = granted.difference(at_home, of_cluster)
    policies = ROOT / "services" / row.folder / "policies.yaml"
    return {
        "module": f"services.{row.folder}",
        "enabled": row.enabled,
        "hasLease": "lease_namespace" in SETTINGS[row.name].model_fields,
        "given": [_variable(asdict(each)) for each in row.given],
        "mounts": [_variable(asdict(each)) | {"path": FOLDERS[each.name]} for each in row.mounts],
        "needs": [{"name": each.name, "ports": each.ports} for each in row.needs],
        "ports": [_variable(asdict(each)) for each in row.ports],
        "alias": asdict(row.alias) if row.alias else {},
        "probes": asdict(row.probes),
        "policies": policies.read_text(encoding="utf-8") if policies.is_file() else "",
        "rules": rules(of_namespaces),
        "clusterRules": rules(of_cluster),
        "homeRules": rules(at_home),
    }


def _variable(part: Json) -> Json:
    """A part of a row with the variable of its setting, and without what is empty."""
    named = {"variable": variable_of(part.pop("setting")), **part}
    return {key: value for key, value in named.items() if value}


# ------------------------------------------------------------------ values


def defaults(values: Tree) -> Json:
    """The values as the chart has them."""
    return {
        name: defaults(each.values) if isinstance(each, Section) else each.default
        for name, each in values.items()
    }


def _values(values: Tree, indent: str = "") -> str:
    lines = []
    for name, each in values.items():
        if each.help:
            lines += [f"{indent}# {line}" for line in _wrapped(each.help, len(indent) + 2)]
        if isinstance(each, Section):
            lines += [f"{indent}{name}:", _values(each.values, indent + "  ")]
        else:
            lines.append(f"{indent}{name}: {json.dumps(each.default, ensure_ascii=False)}")
    return "\n".join(lines).rstrip("\n") + ("\n" if not indent else "")


def _wrapped(text: str, before: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + before >= LINE_CHARS_MAX:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _schema(values: Tree) -> Json:
    return (
        {"$schema": "https://json-schema.org/draft-07/schema#"}
        | _object(values)
        | {
            # Helm gives these to every chart.
            "properties": _object(values)["properties"] | {"global": {"type": "object"}}
        }
    )


def _object(values: Tree) -> Json:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: _object(each.values) if isinstance(each, Section) else each.schema
            for name, each in values.items()
        },
    }


# ------------------------------------------------------------------ the page

_INTRODUCTION = """# Values of the chart

<!-- Generated from deploy/chart_values.py by `make generate`; edit that instead. -->

What `helm install -f` and `--set` take; [installing.md](installing.md) says when one needs them.
A value that the chart does not know is refused, with its name. `services.NAME.env` takes the
settings of [settings.md](settings.md), but for those that the chart sets from other values.
"""


def _page(values: Tree) -> str:
    parts = [_INTRODUCTION]
    single = {name: each for name, each in values.items() if isinstance(each, Value)}
    parts.append(_table("The whole chart", "", list(_leaves(single))))
    parts += [
        _table(f"`{name}`", each.help, list(_leaves({name: each})))
        for name, each in values.items()
        if isinstance(each, Section)
    ]
    return "\n".join(parts)


def _leaves(values: Tree, prefix: str = "") -> Iterator[tuple[str, Value]]:
    for name, each in values.items():
        if isinstance(each, Section):
            yield from _leaves(each.values, f"{prefix}{name}.")
        else:
            yield prefix + name, each


def _table(title: str, text: str, rows: list[tuple[str, Value]]) -> str:
    head = f"## {title}\n\n" + (f"{text}\n\n" if text else "")
    lines = ["| value | default | allowed | meaning |", "|---|---|---|---|"]
    for name, each in rows:
        cells = (f"`{name}`", _code(each.default), _allowed(each.schema), each.help)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return head + "\n".join(lines) + "\n"


def _code(default: Any) -> str:
    return f"`{json.dumps(default)}`" if default not in ("", [], {}) else "empty"


def _allowed(schema: Json) -> str:
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    kind = schema.get("type", "")
    words = " or ".join(kind) if isinstance(kind, list) else kind
    return f"{words}, at least {schema['minimum']}" if "minimum" in schema else words
