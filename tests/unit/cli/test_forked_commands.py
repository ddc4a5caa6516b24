"""What tests of commands import before they fork exists: a forkserver tells nobody otherwise."""

from __future__ import annotations

from importlib.util import find_spec

from tests.e2e.commands import IMPORTED


def test_each_module_that_is_imported_before_a_command_is_forked_exists() -> None:
    assert [name for name in IMPORTED if find_spec(name) is None] == []
