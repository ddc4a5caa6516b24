"""What git knows: the commit that is checked out, and the files that the last commits touched."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

SWEEPING_FILES = 40
"""A commit of more files renames, formats, or moves."""
_COMMIT = "\0"
_COMMIT_FORMAT = "--format=%x00"


def head_of(root: Path) -> str:
    """The hash of HEAD."""
    return _git(root, "rev-parse", "HEAD").strip()


def touched_in(root: Path, commits: int) -> Mapping[str, int]:
    """Files that the last commits touched, with how many of these commits come before.

    What is not committed comes first, then the newest commit. Sweeping commits come last: they say
    little of each file, and would take the time of all others. A file of several commits has the
    place of the first.
    """
    changed = _git(root, "status", "--porcelain", "--no-renames", "--untracked-files=all", "-z")
    # Of a merge, what it brought to the branch: the other parent lacks all that the branch had.
    words = ("--diff-merges=first-parent", "--no-renames", "--name-only", _COMMIT_FORMAT)
    log = _git(root, "log", f"--max-count={commits}", *words)
    groups = [[line[3:] for line in changed.split("\0") if line]]
    groups += [list(filter(None, names.split("\n"))) for names in log.split(_COMMIT)[1:]]
    return ranked(groups)


def ranked(groups: Iterable[Sequence[str]]) -> Mapping[str, int]:
    """Each file with the place of its group, groups that sweep last."""
    found: dict[str, int] = {}
    for place, names in enumerate(sorted(groups, key=lambda each: len(each) > SWEEPING_FILES)):
        for name in names:
            found.setdefault(name, place)
    return found


def is_clean(root: Path) -> bool:
    """Whether the checkout is what HEAD says."""
    return not _git(root, "status", "--porcelain", "--untracked-files=all").strip()


def is_cut_off(root: Path, commits: int) -> bool:
    """Whether this is a shallow clone with no more than so many commits."""
    if _git(root, "rev-parse", "--is-shallow-repository").strip() != "true":
        return False
    return int(_git(root, "rev-list", "--count", "HEAD")) <= commits


def _git(root: Path, *words: str) -> str:
    command = ["git", "-c", "core.quotePath=false", *words]
    # What git complains of goes where people read.
    ended = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE)
    return ended.stdout.decode(errors="surrogateescape")  # as the names of files are
