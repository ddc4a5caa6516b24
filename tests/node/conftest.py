"""Tests on a real node share one, and run where `make test-node` has built the images for them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.node.grounds import SETTINGS, Ground, ground
from tests.node.steps import Steps


@pytest.fixture(scope="session")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """The pair with the real node."""
    with ground(tmp_path_factory.mktemp("node") / "pair") as found:
        yield found


@pytest.fixture
def steps(up: Ground, capsys: pytest.CaptureFixture[str]) -> Steps:
    """Prints the times of the steps of a test."""
    return Steps(capsys)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip them elsewhere."""
    if all(os.environ.get(name) for name in SETTINGS):
        return
    for item in items:
        if item.get_closest_marker("node") is not None:
            item.add_marker(pytest.mark.skip(reason="no images for a real node: `make test-node`"))
