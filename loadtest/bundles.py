"""The bundle that a benchmark submits: one of the corpus where there is a corpus, else ours."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cli.resources import WORDCOUNT as FOLDER
from contracts.bundle_format import pack
from loadtest.profiles import PARALLEL, WORDCOUNT, Application

CORPUS_SETTING = "MILLRACE_CORPUS"


def chosen_application() -> tuple[Application, Path | None]:
    """The application of the corpus and its file where the setting names one; else our example."""
    corpus = os.environ.get(CORPUS_SETTING, "")
    if not corpus:
        return WORDCOUNT, None
    return PARALLEL, Path(corpus) / PARALLEL.bundle


def put_bundle(bundles: Path, application: Application, real: Path | None) -> None:
    """Put the bundle of an application into a bundle root."""
    if real is not None:
        shutil.copy(real, bundles / application.bundle)
        return
    (adl,) = sorted(FOLDER.glob("*.adl"))
    (bundles / application.bundle).write_bytes(pack(adl.read_bytes()))
