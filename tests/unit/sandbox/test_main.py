"""The sandbox as a process: where it listens, and for whom it writes a kubeconfig."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.__main__ import _parser


def test_it_listens_on_loopback_unless_another_address_is_given() -> None:
    assert _parser().parse_args([]).host == "127.0.0.1"
    assert _parser().parse_args(["--host", "0.0.0.0"]).host == "0.0.0.0"


def test_a_kubeconfig_may_give_another_address_than_the_one_listened_on() -> None:
    words = ["--kubeconfig", "a/b", "--kubeconfig=c=http://sandbox:8001"]
    found = _parser().parse_args(words).kubeconfig
    assert found == [(Path("a/b"), ""), (Path("c"), "http://sandbox:8001")]


def test_an_address_without_its_scheme_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _parser().parse_args(["--kubeconfig", "file=sandbox:8001"])
    assert "sandbox:8001 is not an http:// URL" in capsys.readouterr().err
