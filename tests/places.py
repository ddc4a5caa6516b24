"""Where tests find inputs that nobody on this project wrote; without them a test skips."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]


def corpus(name: str) -> Path:
    """A file of the corpus (MILLRACE_CORPUS, default ../shared/corpus), or skip."""
    import pytest  # ROOT is needed where there is no environment yet

    path = in_corpus(name)
    if not path.exists():
        pytest.skip(f"{name} is not there; MILLRACE_CORPUS says where the real bundles are")
    return path


def in_corpus(name: str) -> Path:
    """Where a file of the corpus is, if it is anywhere."""
    folder = Path(os.environ.get("MILLRACE_CORPUS", ROOT / ".." / "shared" / "corpus"))
    return folder / name


def golden() -> Path:
    """The folder of plans observed of the original (MILLRACE_GOLDEN); it may be missing."""
    return Path(os.environ.get("MILLRACE_GOLDEN", ROOT / ".." / "shared" / "spec" / "golden"))


def seeds() -> Path:
    """The folder of the documents that the mission comes from (MILLRACE_SEEDS); may be missing."""
    return Path(os.environ.get("MILLRACE_SEEDS", ROOT / ".." / "shared" / "seeds"))
