"""An application in Python is packed, submitted, planned and resized as any other."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.bundling import pack_source
from tests.e2e.watching import TEST_S_MAX, Cluster
from tests.places import ROOT

COVERS = (
    "millrace/app.py",
    "millrace/adl*",
    "millrace/graph.py",
    "millrace/sab.py",
    "millrace/bundling.py",
    "millrace/streams.py",
    "millrace/building.py",
    "cli/bundling.py",
    "cli/editing.py",
    "examples/*",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
BUNDLE = "examples.Words.sab"
OPERATOR = "{http://www.ibm.com/xmlns/prod/streams/application}operInstance"


async def test_an_application_in_python_runs_with_a_pod_for_each_pe(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Lines, Words, Report and a PE for each channel; its PEs say which module they are of."""
    packed = pack_source(ROOT / "examples" / "words" / "app.py", tmp_path / BUNDLE)
    (cluster.system.bundles / BUNDLE).write_bytes(packed.read_bytes())
    async with cluster.job("python") as job:
        spec = {
            "bundle": {"name": BUNDLE},
            "fusion": {"legacy": True},
            "submissionTimeValues": {"width": "2", "path": "words.txt"},
        }
        await cluster.submit(job.job, spec)
        await job.until("running", job.all_running)
        assert len(job.of("pes")) == 3 + 2
        ((alias, width),) = (
            (each["spec"]["alias"], each["spec"]["width"]) for each in job.of("regions").values()
        )
        assert (alias, width) == ("Counted", 2)
        packs = [pe["spec"]["pack"] for pe in job.of("pes").values()]
        texts = [job.of("config_maps")[each["name"]]["data"][each["key"]] for each in packs]
        assert len(texts) == 5
        constants = {
            str(each.get("name")): each.get("value")
            for text in texts
            for operator in ElementTree.fromstring(text).iter(OPERATOR)
            if operator.get("name") == "Lines"
            for each in operator.iter()
        }
        assert constants["millrace.module"] == '"app"'
        assert constants["argument.path"] == '"words.txt"'
