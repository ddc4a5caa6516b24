"""A set of values and what the chart renders of it: `python -m tests.real.chart_renders`.

It writes `chart_render.yaml` again, for a person to read the difference.
"""

from __future__ import annotations

import asyncio
import copy
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from cli.resources import CHART
from tests.places import ROOT
from tools.helm import helm_of
from tools.real.progress import Progress
from tools.rendering import documents_of, text_of

Json = dict[str, Any]

RENDER = ROOT / "tests" / "real" / "chart_render.yaml"
OPTIONS: Json = {
    "user": None,
    "namespaces": ["team-a", "team-b"],
    "exclusivePools": False,
    "image": {"repository": "registry.example/millrace", "tag": "1.0"},
    "kafka": {
        "bootstrapServers": "kafka-0:9093,kafka-1:9093",
        "protocol": "SASL_SSL",
        "caSecret": "kafka-ca",
        "topics": {"acls": True, "replication": 3},
    },
    "bundles": {
        "rootUrl": "s3://bundles/all",
        "s3": {"secret": "aws", "region": "eu-central-1"},
        "store": {"kind": "existingClaim", "claim": "bundles", "accessMode": "ReadWriteMany"},
    },
    "services": {"fusion-backend": {"replicas": 2, "env": {"MILLRACE_PLANNER_WORKERS": 4}}},
    "networkPolicies": {"apiServer": [{"ipBlock": {"cidr": "10.0.0.1/32"}}]},
    "peGateway": {"namespaces": ["team-a"], "redis": True},
    "tracing": {"endpoint": "http://collector.spans:4318", "headersSecret": "spans"},
}
"""What the manifest of `millrace install` has not, for it renders the rest."""


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


async def _write() -> None:
    with Progress() as progress:
        helm = await helm_of(progress)
    RENDER.write_text(text_of(rendered_of(helm, OPTIONS), sort_keys=True))


if __name__ == "__main__":
    asyncio.run(_write())
