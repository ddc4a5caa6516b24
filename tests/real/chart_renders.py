"""Three sets of values and what the chart renders of them: `python -m tests.real.chart_renders`.

It writes `tests/real/renders/` again, for a person to read the difference.
"""

from __future__ import annotations

import asyncio
import copy
import json
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cli.resources import CHART
from tests.places import ROOT
from tools.helm import helm_of
from tools.real.progress import Progress
from tools.rendering import documents_of

Json = dict[str, Any]

RENDERS = ROOT / "tests" / "real" / "renders"
VALUES: Mapping[str, Json] = {
    "cluster": {"kafka": {"bootstrapServers": "kafka-0:9092,kafka-1:9092"}},
    "namespaces": {
        "namespaces": ["team-a", "team-b"],
        "exclusivePools": False,
        "kafka": {"bootstrapServers": "kafka:9092"},
        "bundles": {"store": {"kind": "existingClaim", "claim": "bundles"}},
    },
    "secured": {
        "user": None,
        "image": {"repository": "registry.example/millrace", "tag": "1.0"},
        "kafka": {
            "bootstrapServers": "kafka:9093",
            "protocol": "SASL_SSL",
            "caSecret": "kafka-ca",
            "topics": {"acls": True, "replication": 3},
        },
        "bundles": {
            "rootUrl": "s3://bundles/all",
            "s3": {"secret": "aws", "region": "eu-central-1"},
            "store": {"accessMode": "ReadWriteMany"},
        },
        "services": {"fusion-backend": {"replicas": 2, "env": {"MILLRACE_PLANNER_WORKERS": 4}}},
        "networkPolicies": {"apiServer": [{"ipBlock": {"cidr": "10.0.0.1/32"}}]},
        "peGateway": {"namespaces": ["team-a"], "redis": True},
        "tracing": {"endpoint": "http://collector.spans:4318", "headersSecret": "spans"},
    },
}


def rendered_of(helm: Path, values: Json) -> list[Json]:
    """The objects, without definitions, which are generated files of their own."""
    return copy.deepcopy(_rendered(helm, json.dumps(values)))


@cache
def _rendered(helm: Path, values: str) -> list[Json]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(values)
        file.flush()
        options = ("-f", file.name, "--set", "crds.enabled=false")
        return documents_of(helm, CHART, "millrace", "millrace", *options)


def text_of(documents: list[Json]) -> str:
    """As it is kept."""
    return str(yaml.safe_dump_all(documents, sort_keys=True, width=160, default_flow_style=None))


async def _write() -> None:
    with Progress() as progress:
        helm = await helm_of(progress)
    for name, values in VALUES.items():
        (RENDERS / f"{name}.yaml").write_text(text_of(rendered_of(helm, values)))


if __name__ == "__main__":
    asyncio.run(_write())
