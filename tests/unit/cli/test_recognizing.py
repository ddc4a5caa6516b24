"""Messages about files of the wrong kind: plain words, and what to do instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.commands import app
from cli.failing import Failure
from cli.recognizing import kind_of
from cli.submitting import checked_content
from contracts.bundle_format import pack
from tests.places import ROOT
from tests.unit.planner.adl_writing import Adl

ADL = Adl().chain("a", "b").text().encode()


def ran(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(map(str, words)))
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (pack(ADL), "bundle"),
        (ADL, "ADL"),
        (b"\xef\xbb\xbf \r\n" + ADL, "ADL"),
        (b"", "neither"),
        (b"hello", "neither"),
        (ADL.decode().encode("utf-16"), "neither"),
        (ADL.decode().encode("utf-16-le"), "neither"),
    ],
)
def test_the_first_bytes_decide_the_kind(content: bytes, kind: str) -> None:
    assert kind_of(content) == kind


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"hello world", "it begins with 'hello world'"),
        (bytes(64), "it is data of another kind"),
        (b"\x1b[2J" + bytes(9), "it is data of another kind"),
        (ADL.decode().encode("utf-16"), "it is text in UTF-16, and must be UTF-8"),
    ],
    ids=["empty", "text", "zeros", "terminal", "UTF-16"],
)
def test_a_file_of_another_kind_gets_a_message_of_ours(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """`plan` names the kinds that it accepts, `bundle show` and `verify` the kind of the file."""
    path = tmp_path / "x.adl"
    path.write_bytes(content)
    code, out, _ = ran("plan", path, "--format", "json")
    error = json.loads(out)
    assert (code, error["error"]) == (1, "BundleInvalid")
    assert "neither a bundle (.sab) nor an application description (.adl, XML)" in error["message"]
    assert error["message"].endswith(message)
    for words in (["show", "--format", "table"], ["verify", "--format", "table"], ["pack"]):
        code, out, err = ran("bundle", *words, path)
        assert code == 1
        assert message in out + err


def test_the_message_about_a_folder_names_the_files_to_use() -> None:
    for words in (["plan"], ["bundle", "show"], ["bundle", "verify"]):
        code, out, err = ran(*words, ROOT / "examples" / "wordcount")
        assert (code, out) == (2, "")
        assert "is a folder: name the .adl file in it" in err


def test_an_adl_is_not_submitted_as_a_bundle(tmp_path: Path) -> None:
    """It was put into the bundle root, and the job could not be planned."""
    path = tmp_path / "x.adl"
    path.write_bytes(ADL)
    with pytest.raises(Failure, match=r"is an ADL, not a bundle: `millrace bundle pack "):
        checked_content(path)


def test_what_is_no_bundle_is_not_submitted(tmp_path: Path) -> None:
    """It was put into the bundle root, and a Job was made that could only fail."""
    path = tmp_path / "README.md"
    path.write_text("# hello")
    with pytest.raises(Failure, match=r"it is no bundle: it begins with '# hello'"):
        checked_content(path)


def test_a_file_that_is_no_bundle_is_not_packed_over(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    code, _, err = ran("bundle", "example", "-o", precious)
    assert (code, precious.read_text()) == (2, "mine")
    assert "exists and is no bundle" in err
    assert ran("bundle", "example", "-o", tmp_path / "x.sab")[0] == 0
    assert ran("bundle", "example", "-o", tmp_path / "x.sab")[0] == 0


def test_another_bundle_is_packed_over_on_request_only(tmp_path: Path) -> None:
    """It was lost without a word. The same content is no problem."""
    target = tmp_path / "x.sab"
    target.write_bytes(pack(ADL))
    code, _, err = ran("bundle", "example", "-o", target)
    assert (code, target.read_bytes()) == (1, pack(ADL))
    assert "exists and has another content: say --force" in err
    assert ran("bundle", "example", "--force", "-o", target)[0] == 0
    assert target.read_bytes() != pack(ADL)


@pytest.mark.parametrize(
    "words",
    [
        ["delete", ""],
        ["scale", "../../x", "R=3"],
        ["get", "a/b?x=1"],
        ["delete", "A"],
    ],
)
def test_a_name_that_no_job_can_have_is_refused_at_once(words: list[str]) -> None:
    """It was waited for, or another resource was requested."""
    code, _, err = ran(*words)
    assert code == 2
    assert "job" in err


def test_the_message_about_an_adl_names_the_command_that_packs_it(tmp_path: Path) -> None:
    path = tmp_path / "x.adl"
    path.write_bytes(ADL)
    for command in ("show", "verify"):
        code, out, err = ran("bundle", command, path, "--format", "table")
        assert code == 1
        assert f"`millrace bundle pack {path}`" in out + err


def test_a_pipe_may_be_planned(tmp_path: Path) -> None:
    """Its name has no suffix, and it is read once."""
    path = tmp_path / "63"
    path.write_bytes(ADL)
    code, out, _ = ran("plan", path)
    assert code == 0
    assert json.loads(out)["ops"] == 2
