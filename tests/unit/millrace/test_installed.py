"""What else is installed in the folder of millrace."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from millrace import App

MODULE = """
from millrace import App
from millrace.adapters import timers

app = App("demo::Beside")
app.source(timers.every(seconds=1)).sink(print)
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    """An application in a folder of its own, so that little is packed."""
    (tmp_path / "beside_another.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "beside_another", raising=False)
    found = import_module("beside_another").app
    assert isinstance(found, App)
    return found


@pytest.fixture
def another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that has the project `millrace` of the package index as well."""
    for name, version in (("millrace", "0.0.1"), ("millrace_streams", "0.1.0")):
        metadata = tmp_path / f"{name}-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])


def test_another_distribution_with_our_folder_is_named(
    app: App, another: None, tmp_path: Path
) -> None:
    sentence = "distribution millrace 0.0.1 is installed beside millrace-streams.*pip uninstall"
    with pytest.warns(UserWarning, match=sentence):
        app.run(seconds=0)
    with pytest.warns(UserWarning, match=sentence):
        app.bundle(tmp_path / "x.sab")


def test_our_own_distributions_are_no_others(app: App, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        app.bundle(tmp_path / "x.sab")
