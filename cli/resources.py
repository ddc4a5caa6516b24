"""Files that millrace comes with: definitions, roles, an example."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final


def resource(package: str, name: str) -> Path:
    """A file or folder inside of a package. It has a path, because pip unpacks what it installs."""
    return Path(str(files(package))) / name


CRDS: Final = resource("deploy", "crds")
RBAC: Final = resource("deploy", "rbac")
CHART: Final = resource("deploy", "chart")
MANIFEST: Final = resource("deploy", "install.yaml")
WORDCOUNT: Final = resource("examples", "wordcount")
SENTENCES: Final = resource("examples", "sentences")
