"""What pages show runs: the tutorial, the page of the distribution, and the example."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest

from tests.places import ROOT


def code_of(page: Path) -> str:
    """The Python of a page in one module, which needs no import of itself."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S))
    return code.replace("from app import app\n", "")


@pytest.mark.parametrize("page", ["docs/applications.md", "millrace/README.md"])
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input.txt").write_text("to be or not to be")
    (tmp_path / "app.py").write_text(code_of(ROOT / page))
    runpy.run_path(str(tmp_path / "app.py"), run_name="__main__")
    assert '{"word":"be","count":2}' in (tmp_path / "counts.jsonl").read_text()


def test_the_example_counts_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "words" / "app.py", tmp_path)
    (tmp_path / "input.txt").write_text("To be, or not to be.\n")
    runpy.run_path("app.py", run_name="__main__")
    assert '{"word":"be","count":2}' in (tmp_path / "counts.jsonl").read_text()
