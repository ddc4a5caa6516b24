"""Generated files say what the code says."""

from __future__ import annotations

from pathlib import Path

from deploy import generating
from tools.rendering import is_stale


def test_every_generated_file_is_fresh() -> None:
    """A model or a transition table changed, and `make generate` did not run, if this fails."""
    assert generating.stale_files() == []


def test_a_file_that_is_outdated_missing_or_left_over_is_stale(tmp_path: Path) -> None:
    """The check above would pass for ever if it saw no difference."""
    for path, text in generating.generated_files().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    left_over = generating.CRD_FOLDER / "streamsgone.yaml"
    missing = next(iter(generating.generated_files()))
    pages = {generating.LIFE_CYCLES, generating.FIELDS}
    for page in pages:
        (tmp_path / page).write_text("of yesterday", encoding="utf-8")
    (tmp_path / left_over).write_text("kind: Gone", encoding="utf-8")
    (tmp_path / missing).unlink()

    assert set(generating.stale_files(tmp_path)) == {*pages, left_over, missing}


def test_the_manifest_was_rendered_from_the_chart_as_it_is(tmp_path: Path) -> None:
    """`make generate` renders it again, with a Helm that it builds once."""
    assert not is_stale()
    assert is_stale(tmp_path / "missing.yaml")
    (tmp_path / "install.yaml").write_text("# Rendered from deploy/chart (of yesterday)")
    assert is_stale(tmp_path / "install.yaml")
