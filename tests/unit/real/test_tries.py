"""How often tests of running systems are tried again is counted and bounded, and why is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import tries
from tests.pieces import environment
from tests.places import ROOT

_FLAKY = """
import pytest

seen = []

@pytest.mark.e2e
@pytest.mark.flaky(reruns=1)
def test_green_at_the_second_try():
    seen.append(1)
    assert len(seen) == 2, "the second did not come in 5 s"

@pytest.mark.e2e
def test_green(): pass

def test_of_no_running_system(): pass
"""


def test_each_try_of_a_running_system_is_noted(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = pytester.path / "tries"
    monkeypatch.setenv(environment.TRIES, str(noted))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # it runs in a folder of its own
    pytester.makeini("[pytest]\nmarkers = e2e: of a running system\nasyncio_mode = auto")
    pytester.makeconftest("from tests.tries import note as pytest_runtest_logreport")
    pytester.makepyfile(_FLAKY)
    ended = pytester.runpytest_subprocess("-p", "no:randomly", "-p", "no:cacheprovider")
    assert ended.ret == 0
    found = tries.read(noted)
    assert found.tests == 2
    (again,) = found.tried_again
    assert again.test.split("::")[1] == "test_green_at_the_second_try"
    assert again.why.startswith("AssertionError: the second did not come in 5 s")


@pytest.mark.parametrize(("tests", "again", "code"), [(200, 2, 0), (200, 3, 1), (99, 1, 1)])
def test_more_than_one_in_a_hundred_is_too_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tests: int, again: int, code: int
) -> None:
    lines = [["a", "passed", ""]] * tests + [["b::c", "rerun", "E: no width"]] * again
    (tmp_path / "tries").write_text("\n".join(map(json.dumps, lines)))
    assert tries.main(str(tmp_path / "tries")) == code
    printed = capsys.readouterr().out
    assert f"{again} of {tests} tests" in printed
    assert printed.count("  b::c\n    E: no width\n") == again


def test_a_run_without_such_tests_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tries.main(str(tmp_path / "tries"))
