"""No deadline of a test depends on the speed of the machine in a way that nobody can stretch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture import deadlines
from tests.architecture.deadlines import unstretched
from tests.places import ROOT

IMPORTS = "from tests.patience import patient\nimport asyncio, subprocess, time, pytest\n"


def test_every_deadline_of_a_test_is_made_by_patient() -> None:
    """Else say beside it why not: `# unstretched: ` and the reason, such as virtual time."""
    found = [each for path in sorted((ROOT / "tests").rglob("*.py")) for each in unstretched(path)]
    assert found == []


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a project whose one test has what is written there."""
    monkeypatch.setattr(deadlines, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "WAIT_S = 5.0\nasync def test_a():\n    async with asyncio.timeout(WAIT_S): pass",
        "async def test_a():\n    async with asyncio.timeout(5): pass",
        "async def test_a():\n    await asyncio.wait_for(it(), 5)",
        "async def a(seconds: float = 5.0):\n    async with asyncio.timeout(seconds): pass",
        "async def a(*, wait_s=5.0):\n    async with asyncio.timeout(2 * wait_s): pass",
        "def test_a():\n    subprocess.run(['a'], timeout=5)",
        "def test_a(process):\n    process.wait(5)",
        "@pytest.mark.timeout(5)\ndef test_a(): pass",
        "pytestmark = [pytest.mark.e2e, pytest.mark.timeout(5)]",
        "def test_a():\n    end = time.monotonic() + 5",
        "def test_a(began):\n    assert time.monotonic() - began < 5",
        "WAIT_S = 5\ndef test_a():\n    run(f'--timeout={WAIT_S}s')",
        "from tests.other import WAIT_S\ndef a(process):\n    process.wait(WAIT_S)",
        "from services.a import WAIT_S\ndef a(process):\n    process.wait(WAIT_S)",
    ],
)
def test_a_deadline_that_is_a_number_alone_is_named_with_its_place(found: Path, text: str) -> None:
    (found / "tests").mkdir()
    (found / "tests/other.py").write_text("WAIT_S = 5.0")
    (found / "tests/test_a.py").write_text(IMPORTS + text)
    (each,) = unstretched(found / "tests/test_a.py")
    line = next(n for n, line in enumerate(text.splitlines(), 3) if "5" in line or "WAIT" in line)
    assert each.startswith("tests/test_a.py:")
    assert int(each.split(":")[1]) >= line
    assert each.endswith(" is not made by `patient`")


@pytest.mark.parametrize(
    "text",
    [
        "WAIT_S = patient(5.0)\nasync def a():\n    async with asyncio.timeout(2 * WAIT_S): pass",
        "from tests.other import PATIENT_S\nasync def a(p):\n    p.wait(PATIENT_S)",
        "async def a(seconds: float):\n    async with asyncio.timeout(seconds): pass",
        "async def a(p):\n    p.wait(timeout=None)",
        "async def a():\n    async with asyncio.timeout(0): pass",
        "async def a():\n    async with asyncio.timeout(5):  # unstretched: virtual\n        pass",
        "@virtually\nasync def a():\n    async with asyncio.timeout(5): pass",
        "pytestmark = pytest.mark.looptime\nasync def a():\n    await asyncio.wait_for(it(), 5)",
        "def test_a(began):\n    took_s = time.monotonic() - began",
    ],
)
def test_what_is_stretched_or_virtual_or_no_deadline_is_left_alone(found: Path, text: str) -> None:
    (found / "tests").mkdir()
    (found / "tests/other.py").write_text(IMPORTS + "PATIENT_S = patient(5.0)")
    (found / "tests/test_a.py").write_text(IMPORTS + text)
    assert list(unstretched(found / "tests/test_a.py")) == []


def test_the_time_of_a_simulated_world_is_virtual(found: Path) -> None:
    (found / "tests/simulation").mkdir(parents=True)
    of_world, of_machine = (found / f"tests/simulation/test_{name}.py" for name in "ab")
    of_world.write_text("async def a(world):\n    await world.until('a', it, wait_s=5.0)")
    of_machine.write_text(IMPORTS + "async def a():\n    async with asyncio.timeout(5): pass")
    assert list(unstretched(of_world)) == []
    assert len(list(unstretched(of_machine))) == 1
