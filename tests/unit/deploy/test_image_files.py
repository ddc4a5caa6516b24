"""The image has every package of ours: one that is missing shows only where it is imported."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from tests.architecture.source import PACKAGES
from tests.places import ROOT


def test_the_image_is_built_from_every_package() -> None:
    text = (ROOT / "deploy/image/Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE)) - {"examples"} == {*PACKAGES} - {
        "tools"
    }


def test_whatever_is_copied_into_an_image_travels_to_the_engine() -> None:
    text = (ROOT / "deploy/image/Dockerfile").read_text(encoding="utf-8")
    copied = re.findall(r"^COPY ((?!--from)\S.*) \S+$", text, re.MULTILINE)
    needed = {each.split("/")[0] for sources in copied for each in sources.split()}
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    travels = [each.removeprefix("!") for each in lines if each.startswith("!")]
    assert {"setup.py", *PACKAGES} - {"tools"} <= needed
    assert [e for e in needed if not any(fnmatchcase(e, pattern) for pattern in travels)] == []
