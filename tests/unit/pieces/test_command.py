"""What people and `.ci/run` read of a share, and what the command does with words it cannot use."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pieces.choosing import Share, everything, number_of
from tests.pieces.share_file import lines_left_out, lines_of_share, read_share, write
from tests.pieces.suites import SUITES, pieces
from tests.places import ROOT

HEAD = "0" * 40
SHARE = Share(
    HEAD,
    ("pair/nodes", "pair/kills", "exact/0"),
    {"faults/outages": "a.py"},
    {"pair/why": "b.py"},
    ("pair/why", "faults/brokers"),
)


def run(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """The command, in a Python without libraries."""
    environment = {name: value for name, value in os.environ.items() if name != "SHARE"}
    return subprocess.run(
        [sys.executable, "-S", "-m", "tests.pieces", *words],
        cwd=ROOT,
        env={**environment, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_share_begins_with_its_seed_and_says_why_each_piece_is_in_it() -> None:
    assert list(lines_of_share(SHARE)) == [
        f"share: quarter 1 of 4, seed {HEAD}; SHARE=all plays everything",
        "  always: checks, the wheel, and all unit, contract and architecture tests",
        "  exact        schedules of numbered tuples on the sandbox: 0",
        "  pair         scenarios on Kafka and kube-apiserver: nodes, kills",
        "  added, since one of the last 50 commits touched what they cover:",
        "    faults/outages                   a.py",
        "  no time for these, which cover touched files, too:",
        "  pair         scenarios on Kafka and kube-apiserver: why",
    ]


def test_what_is_left_out_is_counted_and_named() -> None:
    assert list(lines_left_out(SHARE)) == [
        "left out: 2 of 6 pieces",
        "  faults       faults of brokers, API server and services: brokers",
        "  pair         scenarios on Kafka and kube-apiserver: why",
        "  of these 1 cover files that were touched: no time left",
        "SHARE=all .ci/run, or make everything, plays all of them",
    ]
    assert list(lines_left_out(everything(pieces(ROOT), HEAD))) == ["left out: nothing"]


def test_a_share_is_what_it_was_when_it_is_read_from_its_file(tmp_path: Path) -> None:
    write(SHARE, tmp_path / "share")
    assert read_share(tmp_path / "share") == SHARE


def test_the_suites_that_ci_may_leave_out_are_those_that_a_share_names() -> None:
    """A stage under another name would never be played, without a word."""
    text = (ROOT / ".ci/run").read_text()
    stages = re.findall(r"^stage_of (\S+) make (\S+)$", text, re.MULTILINE)
    always = {"test", "test-real"}
    assert dict(stages) == {each.name: each.target for each in SUITES if each.target not in always}


@pytest.mark.parametrize("head", ["HEAD~1", "x" * 40])
def test_what_is_no_hash_is_refused_in_a_sentence(head: str) -> None:
    shown = run("share", "--head", head)
    assert shown.returncode == 2
    assert shown.stderr == f"{head!r} is no hash of a commit; git rev-parse tells it\n"


def test_the_beginning_of_a_hash_has_the_quarter_of_the_whole() -> None:
    assert {number_of("a7b9c3d0"[:length]) for length in range(1, 9)} == {number_of("a")}


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    command = f"{sys.executable} -m tests.pieces share | head -n 1"
    words = ["bash", "-o", "pipefail", "-c", command]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_share_is_known_before_there_is_an_environment(tmp_path: Path) -> None:
    path = tmp_path / "share"
    shown = run("share", "--file", str(path), "--head", HEAD)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith(f"share: quarter 1 of 4, seed {HEAD}; ")
    assert run("share", "--head", HEAD).stdout == shown.stdout
    played = {name.partition("/")[0] for name in read_share(path).chosen}
    assert set(run("suites", str(path)).stdout.split()) == played
    assert run("left-out", str(path)).stdout.startswith("left out: ")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"SHARE": "all"}, "share: all pieces (SHARE=all), seed "),
        ({"SHARE": ""}, "share: quarter "),
    ],
)
def test_all_is_a_setting(settings: dict[str, str], line: str) -> None:
    assert run("share", **settings).stdout.startswith(line)


def test_another_value_of_the_setting_is_refused_by_name() -> None:
    ended = run("share", SHARE="some")
    assert (ended.returncode, ended.stderr) == (
        2,
        "SHARE is 'some'; it may be all, or is not set\n",
    )


def test_a_word_that_names_no_part_is_refused() -> None:
    ended = run("everything", "nothing-of-that-name")
    assert ended.returncode == 2
    assert ended.stderr == "no part has one of these words in its name: nothing-of-that-name\n"
    assert "make test-node" in run("everything", "--list").stdout
