"""`millrace plan job.yaml`: the plan that a Job of this manifest would get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from cli.commands import app
from contracts.bundle_format import pack
from tests.unit.planner.adl_writing import Adl

API = "streams.ibm.com/v1"


def ran(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, words)])


def written(folder: Path, **spec: object) -> Path:
    """A manifest beside the bundle that it names."""
    adl = Adl().chain("a", "N.f", "z").region("N.f", 2)
    (folder / "app.sab").write_bytes(pack(adl.text().encode()))
    path = folder / "job.yaml"
    job = {"apiVersion": API, "kind": "Job", "metadata": {"name": "shop"}}
    path.write_text(yaml.safe_dump({**job, "spec": {"bundle": {"name": "app.sab"}, **spec}}))
    return path


def test_the_spec_of_a_manifest_is_planned_with_the_bundle_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, fusion={"legacy": True}, parallelRegions=[{"alias": "f", "width": 4}])
    found = json.loads(ran(path, "--resize", "f=2", "--format", "json").stdout)
    assert (found["pes"], found["widths"]) == (6, {"N.f": 4})
    assert found["update"]["pe"]["5"]["fate"] == "gone"


def test_the_bundle_may_be_in_another_folder(tmp_path: Path) -> None:
    path = written(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "app.sab").rename(elsewhere / "app.sab")
    missing = ran(path)
    assert missing.exit_code == 2
    assert "there is no bundle" in missing.stderr
    assert "say --bundles DIR" in missing.stderr
    assert ran(path, "--bundles", elsewhere).exit_code == 0


def test_what_the_cluster_would_refuse_is_refused_with_its_field(tmp_path: Path) -> None:
    result = ran(written(tmp_path, fusion={"manual": "many"}), "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["message"].startswith("spec.fusion.manual: ")
    unknown = ran(
        written(tmp_path, parallelRegions=[{"alias": "g", "width": 4}]), "--format", "json"
    )
    assert json.loads(unknown.stdout)["error"] == "CDISR1411E"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not YAML"),
        ("a: 1", "no Job"),
        (f"kind: Job\napiVersion: {API}\nmetadata: {{name: A}}", "cannot be a job's name"),
        (f"kind: Job\napiVersion: {API}\nmetadata: {{name: a}}", "has no spec"),
        ("kind: Job\napiVersion: batch/v1", "no Job"),
    ],
)
def test_what_is_no_manifest_of_a_job_is_misuse(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    result = ran(path)
    assert result.exit_code == 2
    assert words in result.stderr


def test_options_that_the_spec_has_are_misuse(tmp_path: Path) -> None:
    result = ran(written(tmp_path), "--fusion", "legacy", "--width", "f=2")
    assert result.exit_code == 2
    assert "--fusion, --width" in result.stderr


def test_a_plan_is_of_a_file_or_of_a_running_job(tmp_path: Path) -> None:
    for words in (
        (),
        (written(tmp_path), "--job", "shop"),
        ("--job", "shop", "--fusion", "legacy"),
    ):
        assert ran(*words).exit_code == 2
