"""Tests on a real node run where `make test-node` has built the images for them."""

from __future__ import annotations

import os

import pytest

from tests.node.grounds import SETTINGS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip them elsewhere."""
    if all(os.environ.get(name) for name in SETTINGS):
        return
    for item in items:
        if item.get_closest_marker("node") is not None:
            item.add_marker(pytest.mark.skip(reason="no images for a real node: `make test-node`"))
