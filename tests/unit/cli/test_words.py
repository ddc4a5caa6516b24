"""Arguments and options become manifests, or messages with the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.bundling import pack_folder
from cli.failing import Failure, Misused
from cli.jobs import fusion_of, job_name_for, region_width_of
from cli.submitting import Submission, manifest_of
from contracts.bundle_format import BundleLimits, open_bundle
from tests.places import ROOT


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("apps.parallel.Parallel.sab", "apps-parallel-parallel"),
        ("9lives.sab", "job-9lives"),
        ("Ünïcode__x.sab", "n-code-x"),
        (f"{'a' * 49}.b.sab", "a" * 49),
    ],
)
def test_a_jobs_name_comes_from_the_bundles_file_name(file: str, name: str) -> None:
    """It is a DNS-1035 label of at most 50 characters."""
    assert job_name_for(Path(file)) == name


@given(st.text(min_size=1, max_size=80).filter(lambda text: "/" not in text and "\0" not in text))
def test_every_file_name_gives_a_name_that_the_api_server_takes(stem: str) -> None:
    """Any file name gives a valid name, which starts with a letter."""
    name = job_name_for(Path(f"{stem}.sab"))
    assert 1 <= len(name) <= 50
    assert name[0].isascii()
    assert name[0].isalpha()
    assert name[-1].isalnum()


def test_fusion_is_given_in_one_word() -> None:
    """manual=N, legacy, automatic; anything else is misuse, and the message lists these."""
    assert fusion_of("manual=3") == {"manual": 3}
    assert fusion_of("legacy") == {"legacy": True}
    assert fusion_of("automatic") == {"automatic": True}
    for words in ("manual", "manual=", "manual=x", "manual=0", f"manual={'9' * 30}", "greedy"):
        with pytest.raises(Misused, match="say manual=N"):
            fusion_of(words)


def test_a_region_may_hold_an_equals_sign_in_its_pattern() -> None:
    """The width is what follows the last one; a width that is no number is misused."""
    assert region_width_of("--width", "Result.Region1=4") == ("Result.Region1", 4)
    assert region_width_of("--width", "a=b=4") == ("a=b", 4)
    assert region_width_of("--width", "R=-1") == ("R", -1)
    for words in ("R", "=3", "R=", "R=three", "R=٣", f"R={2**31}", f"R={'9' * 30}"):
        with pytest.raises(Misused, match="REGION=W"):
            region_width_of("--width", words)


def test_a_manifest_has_only_the_given_options() -> None:
    """The API server fills in the defaults."""
    plain = manifest_of(Submission(Path("x/app.sab")))
    assert plain["metadata"] == {"name": "app", "namespace": "default"}
    assert plain["spec"] == {"bundle": {"name": "app.sab"}}
    submission = Submission(
        Path("app.sab"), "j", "ns", "legacy", ("*.R=2", "S=3"), ("a=1", "b=x=y")
    )
    assert manifest_of(submission)["spec"] == {
        "bundle": {"name": "app.sab"},
        "fusion": {"legacy": True},
        "parallelRegions": [{"alias": "*.R", "width": 2}, {"alias": "S", "width": 3}],
        "submissionTimeValues": {"a": "1", "b": "x=y"},
    }


def test_the_example_is_packed_the_same_way_twice(tmp_path: Path) -> None:
    """`bundle pack` is deterministic, and what it makes can be opened."""
    example = ROOT / "examples" / "wordcount"
    first = pack_folder(example, tmp_path / "a.sab").read_bytes()
    assert first == pack_folder(example, tmp_path / "b.sab").read_bytes()
    assert open_bundle(first, BundleLimits()).adl == next(example.glob("*.adl")).read_bytes()


def test_a_folder_without_exactly_one_adl_is_misused(tmp_path: Path) -> None:
    """The message counts them; an invalid ADL is a failure that names the file."""
    with pytest.raises(Misused, match="holds 0"):
        pack_folder(tmp_path, None)
    (tmp_path / "a.adl").write_text("hello")
    with pytest.raises(Failure, match=r"a\.adl"):
        pack_folder(tmp_path, tmp_path / "a.sab")
    (tmp_path / "b.adl").write_text("hello")
    with pytest.raises(Misused, match="holds 2"):
        pack_folder(tmp_path, None)
    with pytest.raises(Misused, match="not a folder"):
        pack_folder(tmp_path / "nowhere", None)
