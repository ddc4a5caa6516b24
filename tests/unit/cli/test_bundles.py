"""`millrace bundle`: shows the content of a bundle, and names every problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from typer.testing import CliRunner

from cli.bundles import bundle_app, default_of
from contracts.bundle_format import BundleLimits, open_bundle, pack
from planner.application.model import SubmissionValue
from planner.application.submission import resolve_values
from tests.places import ROOT, corpus
from tests.unit.planner.adl_writing import Adl
from tests.unit.planner.archive_writing import file as tar_file
from tests.unit.planner.archive_writing import info_of, sab, tar_of

(EXAMPLE,) = (ROOT / "examples" / "wordcount").glob("*.adl")


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(bundle_app, list(words), env={"COLUMNS": "200"})
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The example, packed."""
    path = tmp_path / "w.sab"
    path.write_bytes(pack(EXAMPLE.read_bytes()))
    return path


def test_an_adl_alone_becomes_a_bundle(tmp_path: Path) -> None:
    target = tmp_path / "new" / "w.sab"
    code, out, _ = run("pack", str(EXAMPLE), "-o", str(target))
    assert (code, out.strip()) == (0, str(target))
    assert open_bundle(target.read_bytes(), BundleLimits()).adl == EXAMPLE.read_bytes()


def test_what_is_no_application_is_misused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    for source in (tmp_path / "x.txt", tmp_path / "nowhere.adl"):
        code, _, err = run("pack", str(source))
        assert code == 2
        assert str(source) in err


def test_a_path_that_is_long_is_packed_too(tmp_path: Path) -> None:
    """A plain header of a tar ends at 100 characters for a name, and 155 before it."""
    folder, deep = tmp_path / "app", "/".join(["d" * 120] * 3)
    (folder / deep).mkdir(parents=True)
    (folder / "x.adl").write_bytes(EXAMPLE.read_bytes())
    (folder / deep / f"{'ä' * 110}.txt").write_text("x")
    target = tmp_path / "x.sab"
    assert run("pack", str(folder), "-o", str(target))[0] == 0
    assert run("verify", str(target))[0] == 0


def test_a_target_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    code, _, err = run("pack", str(EXAMPLE), "-o", str(tmp_path))
    assert code == 1
    assert f"{tmp_path} cannot be read or written: Is a directory" in err


def test_a_folder_packed_twice_into_itself_gives_equal_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.adl").write_bytes(EXAMPLE.read_bytes())
    target = tmp_path / "out.bundle"
    packed = []
    for _ in range(2):
        assert run("pack", str(tmp_path), "-o", str(target))[0] == 0
        packed.append(target.read_bytes())
    assert packed[0] == packed[1]


def test_an_adl_is_not_overwritten_by_its_bundle(tmp_path: Path) -> None:
    adl = tmp_path / "x.adl"
    adl.write_bytes(EXAMPLE.read_bytes())
    code, _, err = run("pack", str(adl), "-o", str(tmp_path / "y" / ".." / "x.adl"))
    assert code == 2
    assert "is the ADL itself" in err
    assert adl.read_bytes() == EXAMPLE.read_bytes()


def test_show_prints_the_content_for_programs(bundle: Path) -> None:
    code, out, _ = run("show", str(bundle), "--format", "json")
    assert code == 0
    shown = json.loads(out)
    read = open_bundle(bundle.read_bytes(), BundleLimits())
    assert shown["application"] == "wordcount::WordCount"
    assert (shown["buildId"], shown["sha256"]) == (read.build_id, read.digest)
    assert [(each["name"], each["widthFrom"]) for each in shown["regions"]] == [
        ("Counted", "width")
    ]
    assert "width" in [each["name"] for each in shown["submissionTimeValues"]]
    assert shown["operators"] == 5
    assert shown["bytes"] == bundle.stat().st_size


def test_show_prints_the_content_for_people(bundle: Path) -> None:
    code, out, _ = run("show", str(bundle), "--format", "table")
    assert code == 0
    for word in ("wordcount::WordCount", "parallel region", "Counted", "submission-time value"):
        assert word in out


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "regions", "pools"),
    [("apps.parallel.Parallel", 3, 1), ("apps.hostpools.HostPools", 0, 3)],
)
def test_real_bundles_show_and_verify(name: str, regions: int, pools: int) -> None:
    path = corpus(f"{name}.sab")
    shown = json.loads(run("show", str(path), "--format", "json")[1])
    assert (len(shown["regions"]), len(shown["pools"])) == (regions, pools)
    assert run("verify", str(path))[0] == 0


def test_a_valid_bundle_verifies(bundle: Path) -> None:
    code, out, _ = run("verify", str(bundle), "--format", "table")
    assert code == 0
    assert "is valid" in out
    answer = json.loads(run("verify", str(bundle), "--format", "json")[1])
    assert answer == {"bundle": str(bundle), "valid": True, "problems": []}


def test_every_problem_is_named(tmp_path: Path) -> None:
    """A digest that is not the tar's does not hide an ADL that cannot be read."""
    adl = Adl().chain("a", "b").text().replace('poolIndex="0"', 'poolIndex="9"').encode()
    tar = tar_of(tar_file("out/demo.Main.adl", adl))
    path = tmp_path / "bad.sab"
    path.write_bytes(sab(tar, info=info_of(b"another tar")))
    code, out, _ = run("verify", str(path), "--format", "json")
    assert code == 1
    answer = json.loads(out)
    assert [each["reason"] for each in answer["problems"]] == ["BundleInvalid", "AdlInvalid"]
    assert "SHA-224" in answer["problems"][0]["message"]
    assert "unknown host pool 9" in answer["problems"][1]["message"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "BundleInvalid"), (b"\x1b[2Jtext", "BundleInvalid"), (bytes(9), "BundleInvalid")],
)
def test_what_is_no_bundle_has_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "x.sab"
    path.write_bytes(content)
    code, out, _ = run("verify", str(path), "--format", "table")
    assert code == 1
    assert out.startswith(f"{reason}: ")
    code, _, err = run("show", str(path))
    assert code == 1
    assert str(path) in err


def test_a_file_that_cannot_be_read_is_misused(tmp_path: Path) -> None:
    for command in ("show", "verify"):
        code, _, err = run(command, str(tmp_path / "nowhere.sab"))
        assert code == 2
        assert "nowhere.sab cannot be read" in err


def test_names_of_a_hostile_bundle_reach_no_terminal_as_they_are(tmp_path: Path) -> None:
    """Characters that reverse text are escaped; markup of a table is shown as text."""
    path = tmp_path / "x.sab"
    path.write_bytes(pack(Adl(name="demo::\u202e[red]x").chain("a", "b").text().encode()))
    code, out, _ = run("show", str(path), "--format", "table")
    assert code == 0
    assert "demo::\\u202e[red]x" in out
    assert "\u202e" not in out


@pytest.mark.parametrize("command", ["pack", "show", "verify"])
def test_the_help_of_every_command_has_an_example(command: str) -> None:
    assert f"Example: millrace bundle {command} " in run(command, "--help")[1]


@pytest.mark.parametrize(
    ("kind", "literal", "shown"),
    [
        ("named", '"2"', "2"),
        ("named", '"a\\"b"', 'a"b'),
        ("named", "  7 ", "  7 "),
        ("namedList", '["a","b"]', "a,b"),
        ("namedList", '["a,b"]', '["a,b"]'),
        ("namedList", "[]", "[]"),
        ("named", None, None),
    ],
)
def test_a_default_is_shown_as_param_takes_it(
    kind: Literal["named", "namedList"], literal: str | None, shown: str | None
) -> None:
    """Passed to --param, it gives the same value."""
    value = SubmissionValue(0, kind, "Main", "v", required=False, literal=literal)
    assert default_of(value) == shown
    if shown is not None and shown != literal:
        assert resolve_values([value], {"v": shown}).literals == {0: literal}
