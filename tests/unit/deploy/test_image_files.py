"""The image has every package of ours: one that is missing shows only where it is imported."""

from __future__ import annotations

import re

from tests.architecture.source import PACKAGES
from tests.places import ROOT


def test_the_image_is_built_from_every_package() -> None:
    text = (ROOT / "deploy/image/Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE)) - {"examples"} == set(PACKAGES)


def test_every_package_travels_to_the_engine() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{each}" for each in PACKAGES} <= set(lines)
