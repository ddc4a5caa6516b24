"""The files that the last commits touched, in the order in which they are covered."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.pieces.commits import SWEEPING_FILES, head_of, is_clean, is_cut_off, ranked, touched_in

_WHO = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


@pytest.fixture(autouse=True)
def no_other_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """git tells its hooks by GIT_DIR where they are: these commits would be made there."""
    for name in os.environ:
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *_WHO, *words], cwd=root, check=True, capture_output=True)


def commit(root: Path, *names: str) -> None:
    """A commit that changes these files."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{path.read_text() if path.exists() else ''}more\n")
    git(root, "add", "-A")
    git(root, "commit", "-m", "some")


def test_the_newest_commit_comes_first_and_what_is_not_committed_before_it(tmp_path: Path) -> None:
    git(tmp_path, "init")
    commit(tmp_path, "first.py", "b/ö.py")
    commit(tmp_path, "second.py")
    commit(tmp_path, "first.py")
    assert is_clean(tmp_path)
    (tmp_path / "b/ö.py").write_text("other\n")
    (tmp_path / "new").mkdir()
    (tmp_path / "new/n.py").write_text("new\n")
    assert not is_clean(tmp_path)
    places = touched_in(tmp_path, 2)
    assert sorted(places, key=lambda name: (places[name], name)) == [
        "b/ö.py",
        "new/n.py",
        "first.py",
        "second.py",
    ]
    assert len(head_of(tmp_path)) == 40


def test_only_the_last_commits_count_and_a_deleted_file_is_touched(tmp_path: Path) -> None:
    git(tmp_path, "init")
    commit(tmp_path, "old.py", "gone.py")
    git(tmp_path, "rm", "gone.py")
    commit(tmp_path, "new.py")
    assert touched_in(tmp_path, 1).keys() == {"gone.py", "new.py"}


def test_a_commit_that_sweeps_over_many_files_comes_last() -> None:
    sweep = [f"{number}.py" for number in range(SWEEPING_FILES + 1)]
    assert ranked([sweep, ["a.py"], ["b.py", "0.py"]]) == {
        "a.py": 0,
        "b.py": 1,
        "0.py": 1,
        **dict.fromkeys(sweep[1:], 2),
    }


def test_a_clone_that_is_cut_off_within_the_last_commits_is_noticed(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    git(whole, "init")
    for number in range(4):
        commit(whole, f"{number}.py")
    git(tmp_path, "clone", "--depth=2", f"file://{whole}", str(cut))
    assert is_cut_off(cut, 3)
    assert not is_cut_off(cut, 1)
    assert not is_cut_off(whole, 10)
