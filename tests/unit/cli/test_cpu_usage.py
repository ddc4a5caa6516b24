"""`millrace plan --pod-cpu` and `--cpu-usage`: what automatic fusion chooses from, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.commands import app
from cli.cpu_usage import mcpu_of_option, read_cpu_usage
from cli.failing import Misused
from cli.planning import PlanOptions, plan_steps
from planner.fusion.reckoning import CpuUsage
from planner.numbering.measured import MeasuredCpu
from tests.places import ROOT

ADL = ROOT / "examples" / "wordcount" / "wordcount.WordCount.adl"


def usage_file(folder: Path, text: str) -> Path:
    path = folder / "usage.yaml"
    path.write_text(text)
    return path


def pes_of(**options: object) -> int:
    """How many PEs automatic fusion chooses on four nodes of 8 CPUs, Counted 20 wide."""
    wide = PlanOptions(ADL, widths=("Counted=20",), nodes=4, node_cpus=8, **options)  # type: ignore[arg-type]
    return plan_steps(wide, lambda _name, _text: None)[0].record.fusion.pes_max or 0


def test_a_file_has_the_cpu_of_operators_and_of_the_cluster(tmp_path: Path) -> None:
    text = "cluster: 12\noperators: {Words: 250m, 'Counted[0]': 1.5}\n"
    found = read_cpu_usage(usage_file(tmp_path, text))
    assert found == CpuUsage(MeasuredCpu(12_000), {"Words": 250, "Counted[0]": 1500})


def test_the_limit_of_pods_and_what_is_used_change_the_number_of_pes(tmp_path: Path) -> None:
    usual = pes_of()
    assert pes_of(pod_cpu="500m") > usual
    idle = usage_file(tmp_path, "operators: {Counted: 10m}\n")
    assert pes_of(cpu_usage=idle, pod_cpu="500m") < pes_of(pod_cpu="500m")
    full = usage_file(tmp_path, "cluster: 30\n")
    assert pes_of(cpu_usage=full, pod_cpu="500m") == 2, "two CPUs are left"
    full = usage_file(tmp_path, "cluster: 99\n")
    assert pes_of(cpu_usage=full, pod_cpu="500m") == 1


def test_the_table_says_how_much_cpu_is_in_use_and_a_resize_goes_by_it(tmp_path: Path) -> None:
    """Two CPUs are left, for the channels of the resize as for the others."""
    file = str(usage_file(tmp_path, "cluster: 30\n"))
    words = ["plan", str(ADL), "--width", "Counted=8", "--nodes", "4", "--node-cpus", "8"]
    words += ["--pod-cpu", "500m", "--cpu-usage", file, "--resize", "Counted=24"]
    found = CliRunner().invoke(app, [*words, "--format", "table"])
    assert "; the cluster uses 30 of 32 CPUs" in found.stdout.replace("\n", " ")
    assert "2 PEs for" in found.stdout
    assert "PEs: 2 restart, 2 new" in found.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "write `cluster"),
        ("[1]", "write `cluster"),
        ("nodes: 3", "write `cluster"),
        ("operators: [Words]", "operators has to be a map"),
        ("operators: {Words: much}", "operators.Words is 'much'"),
        ("cluster: -1", "cluster is '-1'"),
        ("cluster: true", "cluster is 'True'"),
        ("{", "it is no YAML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_field_and_value(
    tmp_path: Path, text: str, named: str
) -> None:
    with pytest.raises(Misused, match="--cpu-usage") as caught:
        read_cpu_usage(usage_file(tmp_path, text))
    assert named in str(caught.value)


@pytest.mark.parametrize("text", ["0", "two", "-1", "1e99"])
def test_a_limit_that_is_no_cpu_is_refused(text: str) -> None:
    with pytest.raises(Misused, match="--pod-cpu"):
        mcpu_of_option("--pod-cpu", text)


def test_a_name_of_no_operator_is_reported_and_ignored(tmp_path: Path) -> None:
    path = usage_file(tmp_path, "operators: {Nobody: 1}\n")
    found = CliRunner().invoke(app, ["plan", str(ADL), "--cpu-usage", str(path)])
    assert found.exit_code == 0
    assert "--cpu-usage names no operator of the application with Nobody" in found.stderr
