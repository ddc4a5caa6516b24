"""Files of this package are read as PyYAML's own parser reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cli.resources import CHART, CRDS, RBAC
from cli.shipped import document_in, documents_in

SMALLEST_DEFINITION = min(CRDS.glob("*.yaml"), key=lambda file: file.stat().st_size)


@pytest.mark.parametrize(
    "file",
    [SMALLEST_DEFINITION, CHART / "Chart.yaml", *sorted(RBAC.glob("*.yaml"))],
    ids=lambda file: file.stem,
)
def test_a_file_reads_as_by_the_parser_of_pyyaml(file: Path) -> None:
    assert list(documents_in(file)) == list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


def test_a_file_of_several_documents_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("a: 1\n---\nb: 2\n")
    with pytest.raises(ValueError, match="too many values"):
        document_in(tmp_path / "two.yaml")
