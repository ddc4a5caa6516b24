"""Which touched files a piece covers: its modules, the globs that it names, records of mutants."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from tests.pieces import seconds
from tests.pieces.choosing import choose
from tests.pieces.covering import (
    Unreadable,
    covers_of,
    first_covered,
    globs_of,
    records_of_mutants,
)
from tests.pieces.suites import SUITES, Piece, pieces
from tests.places import ROOT

PIECE = Piece("pair", "some", ("tests/e2e/test_some.py",))
RECORDS = {"tests/e2e/test_some.py": frozenset({"planted.py"})}


@pytest.mark.parametrize(
    ("touched", "found"),
    [
        (["tests/e2e/test_some.py"], "tests/e2e/test_some.py"),
        (["x.py", "services/a/core/b.py", "planted.py"], "services/a/core/b.py"),
        (["planted.py"], "planted.py"),
        (["services/b/core/b.py", "tests/e2e/test_other.py"], ""),
    ],
)
def test_the_first_touched_file_that_is_covered_is_the_reason(
    touched: list[str], found: str
) -> None:
    globs = (*PIECE.modules, "services/a/*")
    assert first_covered(PIECE, globs, RECORDS, touched) == found


def test_covers_is_read_without_importing_the_module(tmp_path: Path) -> None:
    module = tmp_path / "test_some.py"
    module.write_text('import nothing_of_that_name\nCOVERS = ("a/*", "b.py")\n')
    assert covers_of(module) == ("a/*", "b.py")
    module.write_text('COVERS: tuple[str, ...] = ("a/*",)\n')
    assert covers_of(module) == ("a/*",)
    module.write_text("x = 1\n")
    assert covers_of(module) == ()


@pytest.mark.parametrize("content", [b"def (:\n", b"x = '\xff'\n"])
def test_a_module_that_cannot_be_parsed_is_named(tmp_path: Path, content: bytes) -> None:
    module = tmp_path / "test_some.py"
    module.write_bytes(content)
    with pytest.raises(Unreadable, match=r"test_some\.py is no module of Python"):
        covers_of(module)


@pytest.mark.parametrize("value", ['"a/*"', '["a/*"]', "(1,)", '(*OTHERS, "a/*")'])
def test_covers_that_is_no_tuple_of_texts_is_named_with_its_module(
    tmp_path: Path, value: str
) -> None:
    module = tmp_path / "test_some.py"
    module.write_text(f"COVERS = {value}\n")
    with pytest.raises(Unreadable, match=r"test_some\.py: COVERS has to be a tuple of texts"):
        covers_of(module)


@cache
def globs_of_pieces() -> Mapping[Piece, tuple[str, ...]]:
    return {piece: globs_of(piece, ROOT) for piece in pieces(ROOT)}


def test_every_glob_names_files_that_exist() -> None:
    """A file that is renamed takes its coverage with it."""
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    ended = subprocess.run(listed, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    files = ended.stdout.splitlines()
    empty = [
        f"{piece.name}: {glob}"
        for piece, globs in globs_of_pieces().items()
        for glob in globs
        if not any(fnmatchcase(path, glob) for path in files)
    ]
    assert empty == []


def test_every_piece_names_what_it_covers_or_has_a_bug_to_catch() -> None:
    records = records_of_mutants()
    silent = [
        piece.name
        for piece, globs in globs_of_pieces().items()
        if globs == piece.modules and not records.keys() & set(piece.modules)
    ]
    assert silent == []


def test_a_planted_bug_makes_the_test_that_has_to_catch_it_cover_its_file() -> None:
    records = records_of_mutants()
    assert "placement/" in str(sorted(records["tests/e2e/test_placement.py"]))


def test_each_suite_has_pieces() -> None:
    assert {piece.suite for piece in pieces(ROOT)} == {suite.name for suite in SUITES}


@pytest.mark.parametrize("head", ["0" * 40, "1" * 40, "2" * 40, "3" * 40])
def test_a_planted_bug_of_a_new_commit_is_in_the_share_whatever_the_hash(head: str) -> None:
    """The commit that plants it is the newest one; its tests are those that have to catch it."""
    globs, records, takes = globs_of_pieces(), records_of_mutants(), seconds.read().pieces
    found = tuple(globs)
    modules = {module for piece in found for module in piece.modules}
    planted = {(path, module) for module in modules for path in records.get(module, ())}
    assert len(planted) > 8
    for path, module in planted:
        share = choose(
            found,
            head,
            lambda piece, path=path: first_covered(piece, globs[piece], records, [path]),  # type: ignore[misc]
            {path: 0}.__getitem__,
            takes,
        )
        assert any(module in piece.modules for piece in found if piece.name in share.chosen), path
