"""What a bundle takes in: libraries in wheels, data files; and what it lacks is named."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.bundles import bundle_app
from millrace.libraries import IN_THE_IMAGE
from millrace.loading import load_file
from millrace.wheel_files import normal
from tests.places import ROOT

BEGIN = """
from dataclasses import dataclass
from collections.abc import Iterator
from millrace import App

@dataclass
class Number:
    value: int

def numbers() -> Iterator[Number]:
    yield Number(1)

app = App('demo::Numbers')
app.source(numbers).sink(print)
"""
Pack = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """Modules that a test imports are forgotten after it."""
    before, path = dict(sys.modules), list(sys.path)
    yield
    for name in sys.modules.keys() - before.keys():
        del sys.modules[name]
    assert sys.path == path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def pack(project: Path, tmp_path: Path) -> Pack:
    """Packs the application `app.py` with more text and options: the code, and what is printed."""

    def packed(text: str = "", *words: object) -> tuple[int, str]:
        (project / "app.py").write_text(text + BEGIN)
        command = ["pack", project / "app.py", "-o", tmp_path / "x.sab", "--force", *words]
        result = CliRunner().invoke(bundle_app, list(map(str, command)), env={"COLUMNS": "400"})
        return result.exit_code, result.stderr

    return packed


def wheel(path: Path, files: Mapping[str, str], requires: str = "") -> Path:
    name, version = path.name.split("-")[:2]
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in {**files, f"{name}-{version}.dist-info/METADATA": about}.items():
            archive.writestr(place, text)
    return path


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    return wheel(tmp_path / "shapes_of-1-py3-none-any.whl", {"shapes/__init__.py": "SIDES = 4\n"})


def places(bundle: Path) -> set[str]:
    """The files below `python/`."""
    with zipfile.ZipFile(bundle) as archive:
        content = io.BytesIO(archive.read("tar/bundle.tar"))
    with tarfile.open(fileobj=content) as tar:
        names = set(tar.getnames())
    return {each.removeprefix("output/python/") for each in names if "/python/" in each}


# ---------------------------------------------------------------- wheels


def test_an_application_may_import_a_library_that_is_only_in_a_wheel(
    pack: Pack, shapes: Path, tmp_path: Path
) -> None:
    code, printed = pack("from shapes import SIDES\nassert SIDES == 4\n", "--wheel", shapes)
    assert (code, "warning" in printed) == (0, False), printed
    assert places(tmp_path / "x.sab") == {"app.py", f"wheels/{shapes.name}"}


def test_a_wheel_may_need_another_wheel(pack: Pack, shapes: Path, tmp_path: Path) -> None:
    other = wheel(
        tmp_path / "areas-2-py3-none-any.whl",
        {"areas.py": "from shapes import SIDES\n"},
        "Requires-Dist: Shapes.of>=1\nRequires-Dist: msgspec\nRequires-Dist: x; extra == 'more'\n",
    )
    assert pack("import areas\n", "--wheel", other, "--wheel", shapes)[0] == 0
    code, printed = pack("import areas\n", "--wheel", other)
    assert (code, "No module named 'shapes'" in printed) == (1, True)
    code, printed = pack("", "--wheel", other)
    assert (code, "areas-2-py3-none-any.whl needs shapes-of, which" in printed) == (0, True)
    assert "needs x" not in printed


def test_a_wheel_wins_over_what_is_installed_and_is_forgotten(pack: Pack, tmp_path: Path) -> None:
    import yaml

    mine = wheel(tmp_path / "pyyaml-99-py3-none-any.whl", {"yaml.py": "__version__ = '99'\n"})
    code, printed = pack("import yaml\nassert yaml.__version__ == '99'\n", "--wheel", mine)
    assert code == 0, printed
    assert sys.modules["yaml"] is yaml


def test_a_wheel_of_another_platform_is_refused(pack: Pack, tmp_path: Path) -> None:
    other = wheel(tmp_path / "shapes-1-cp311-cp311-win_amd64.whl", {"shapes.py": ""})
    code, printed = pack("", "--wheel", other)
    assert (code, (tmp_path / "x.sab").exists()) == (1, False)
    assert re.search(r"wheel shapes-1-\S+ is for cp311-cp311-win_amd64; this is CPython", printed)


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("shapes-1.tar.gz", b"", "is no wheel: its name has to be NAME-VERSION-"),
        ("shapes.whl", b"", "is no wheel: its name has to be NAME-VERSION-"),
        ("shapes-1-py3-none-any.whl", b"PK", "is no wheel, or is damaged: File is not a zip file"),
    ],
)
def test_what_is_no_wheel_is_refused(
    pack: Pack, tmp_path: Path, name: str, data: bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(data)
    code, printed = pack("", "--wheel", tmp_path / name)
    assert (code, f"{tmp_path / name} {sentence}" in printed) == (1, True), printed


def test_two_wheels_of_one_library_are_refused(pack: Pack, shapes: Path, tmp_path: Path) -> None:
    second = wheel(tmp_path / "shapes_of-2-py3-none-any.whl", {"shapes.py": ""})
    code, printed = pack("", "--wheel", shapes, "--wheel", second)
    assert (code, "are both wheels of shapes-of: name one of them" in printed) == (1, True)


# ---------------------------------------------------------------- libraries that are missing


@pytest.mark.parametrize(
    "text",
    [
        "import yaml\n",
        "def f() -> None:\n    from yaml.nodes import Node\n",
        "class A:\n    async def f(self) -> None:\n        import yaml.nodes as nodes\n",
        "import importlib\nyaml = importlib.import_module('yaml')\n",
        "try:\n    import yaml\nexcept ImportError:\n    raise SystemExit('install yaml')\n",
        "try:\n    import not_there\nexcept ImportError:\n    import yaml\n",
    ],
)
def test_a_library_that_a_pod_does_not_have_is_named(pack: Pack, text: str) -> None:
    code, printed = pack(text)
    assert code == 0
    named = re.findall(
        r"warning: (app\.py:\d+) imports yaml, .* Add its wheel \(--wheel\)", printed
    )
    assert len(named) == 1
    assert "not_there" not in printed


def test_a_library_is_named_where_another_module_of_the_author_imports_it(
    pack: Pack, project: Path
) -> None:
    (project / "parts").mkdir()
    (project / "parts" / "deep.py").write_text("import json\nimport yaml\n")
    assert "parts/deep.py:2 imports yaml" in pack("import parts.deep\n")[1]
    more = project / "more.py"
    more.write_text("import numpy\n")
    assert "more.py:1 imports numpy" in pack("", "--include", more)[1]


@pytest.mark.parametrize(
    "text",
    [
        "import json, xml.dom\nfrom collections import abc\nimport millrace.adapters.kafka\n",
        "".join(f"def f_{each}() -> None:\n    import {each}\n" for each in ("aiohttp", "redis")),
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy\n",
        "try:\n    import not_there\nexcept (KeyError, ImportError):\n    pass\n",
        "from contextlib import suppress\nwith suppress(ImportError):\n    import not_there\n",
        "if __name__ == '__main__':\n    import numpy\n",
        "import parts\nfrom parts import deep\n",
    ],
)
def test_what_a_pod_has_and_what_is_optional_is_not_named(
    pack: Pack, project: Path, text: str
) -> None:
    (project / "parts").mkdir()
    (project / "parts" / "__init__.py").write_text("from . import deep\n")
    (project / "parts" / "deep.py").write_text("")
    code, printed = pack(text)
    assert (code, "warning" in printed) == (0, False), printed


def test_the_method_of_an_application_names_them_too(
    pack: Pack, project: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pack("import yaml\n")
    load_file(project / "app.py").bundle(tmp_path / "y.sab")
    assert "app.py:1 imports yaml" in caplog.text


def test_what_the_image_has_is_what_its_lock_file_has() -> None:
    lock = (ROOT / "requirements-runtime.lock").read_text(encoding="utf-8")
    locked = set(map(normal, re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)))
    assert IN_THE_IMAGE.keys() == locked | {"millrace-streams"}


def test_modules_of_a_folder_without_init_are_packed(
    pack: Pack, project: Path, tmp_path: Path
) -> None:
    (project / "parts" / "more").mkdir(parents=True)
    (project / "parts" / "more" / "deep.py").write_text("import further\n")
    (project / "further.py").write_text("")
    (project / "yaml").mkdir()
    (project / "yaml" / "notes.py").write_text("a library has this name, and wins")
    assert pack("import parts.more.deep\nimport yaml\n")[0] == 0
    assert places(tmp_path / "x.sab") == {"app.py", "further.py", "parts/more/deep.py"}


# ---------------------------------------------------------------- data files


@pytest.fixture
def data(project: Path) -> Path:
    folder = project / "data"
    (folder / "deep").mkdir(parents=True)
    (folder / "zones.csv").write_text("1,2\n")
    (folder / "deep" / "names.json").write_text("[]")
    (folder / "deep" / ".hidden").write_text("")
    return folder


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["data/zones.csv"], {"data/zones.csv"}),
        (["data"], {"data/zones.csv", "data/deep/names.json"}),
        (["./data/../data/"], {"data/zones.csv", "data/deep/names.json"}),
        (["data/*.csv", "data/deep"], {"data/zones.csv", "data/deep/names.json"}),
        (["data/**/*.json"], {"data/deep/names.json"}),
        (["."], {"data/zones.csv", "data/deep/names.json"}),
    ],
)
@pytest.mark.parametrize("is_absolute", [False, True])
def test_data_files_have_the_same_place_in_a_bundle_as_in_the_project(
    pack: Pack,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    found: set[str],
    is_absolute: bool,
) -> None:
    monkeypatch.chdir(tmp_path if is_absolute else data.parent)
    begin = f"{data.parent}/" if is_absolute else ""
    options = [word for each in words for word in ("--include", f"{begin}{each}")]
    code, printed = pack("", *options)
    assert code == 0, printed
    assert places(tmp_path / "x.sab") == {"app.py", *found}
    assert f"{len(found)} data file" in printed
    first = (tmp_path / "x.sab").read_bytes()
    assert pack("", *options)[0] == 0
    assert (tmp_path / "x.sab").read_bytes() == first


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("data/*.txt", "nothing matches it"),
        ("../outside.csv", "it is outside of the project"),
        ("..", "it is outside of the project"),
        ("/etc/passwd", "it is outside of the project"),
        ("empty", "it has no files"),
        ("data/link", "it is a link to .*, outside of the project"),
        ("data", "it is a link to .*, outside of the project"),
        ("broken", "it is a link to nothing"),
        ("folders", "it is a link to a folder"),
        ("lib-1-py3-none-any.whl", "it is a wheel: use --wheel"),
    ],
)
def test_what_cannot_be_included_is_refused_in_a_sentence(
    pack: Pack, data: Path, monkeypatch: pytest.MonkeyPatch, word: str, sentence: str
) -> None:
    project = data.parent
    monkeypatch.chdir(project)
    (project.parent / "outside.csv").write_text("")
    (data / "link").symlink_to(project.parent / "outside.csv")
    (project / "broken").symlink_to("nothing")
    (project / "empty").mkdir()
    (project / "folders").mkdir()
    (project / "folders" / "more").symlink_to(data / "deep")
    (project / "lib-1-py3-none-any.whl").write_text("")
    code, printed = pack("", "--include", word)
    assert code == 1
    assert re.search(f"cannot be included: {sentence}", printed), printed
    assert "Traceback" not in printed


def test_what_is_missing_is_named_as_it_can_be_typed(
    pack: Pack, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.parent)
    (data / "two words.csv").write_text("a,b")
    text = 'from millrace import path\ndef read():\n    return path("data/two words.csv")\n'
    printed = pack(text)[1]
    assert "Add it with --include 'data/two words.csv'" in printed, printed


def test_a_link_within_the_project_is_packed_as_its_file(
    pack: Pack, data: Path, tmp_path: Path
) -> None:
    (data / "same.csv").symlink_to("zones.csv")
    assert pack("", "--include", data / "same.csv")[0] == 0
    assert places(tmp_path / "x.sab") == {"app.py", "data/same.csv"}


def test_a_file_that_no_bundle_may_hold_is_refused_before_it_is_read(
    pack: Pack, data: Path
) -> None:
    with (data / "huge.bin").open("wb") as file:
        file.truncate(2**40)
    code, printed = pack("", "--include", data)
    assert code == 1
    assert re.search(r"huge\.bin has \d+\.\d MB; a file of a bundle may have 268\.4 MB", printed)


def test_a_file_that_is_read_for_and_not_included_is_named(pack: Pack, data: Path) -> None:
    text = "from millrace import path\nZONES = path('data/zones.csv').read_text()\n"
    assert "app.py:2 reads data/zones.csv, which is not in this bundle" in pack(text)[1]
    assert "warning" not in pack(text, "--include", data)[1]


# ---------------------------------------------------------------- where they are

READING = """
import sys
from pathlib import Path
from millrace import path
print(path("data/zones.csv").read_text(), path("/data/seen.txt"))
"""


def test_a_path_is_right_here_and_in_a_pod(pack: Pack, data: Path, tmp_path: Path) -> None:
    """Run as a program and imported, from another folder, and from a bundle that is unpacked."""
    (data.parent / "parts").mkdir()
    (data.parent / "parts" / "__init__.py").write_text("")
    (data.parent / "parts" / "reading.py").write_text(READING)
    text = "from parts import reading\n"
    assert pack(text, "--include", data)[0] == 0
    pod = tmp_path / "pod"
    with zipfile.ZipFile(tmp_path / "x.sab") as archive:
        content = io.BytesIO(archive.read("tar/bundle.tar"))
    with tarfile.open(fileobj=content) as tar:
        tar.extractall(pod, filter="data")
    (data / "zones.csv").write_text("here")
    for folder, wanted in ((data.parent, "here"), (pod / "output" / "python", "1,2\n")):
        for words in ([folder / "app.py"], ["-m", "app"], ["-m", "parts.reading"]):
            ended = subprocess.run(
                [sys.executable, *map(str, words)],
                cwd=tmp_path,
                env={"PYTHONPATH": f"{ROOT}:{folder}", "MILLRACE_ROOT": "/run/pod"},
                capture_output=True,
                text=True,
                check=True,
            )
            assert ended.stdout == f"{wanted} /run/pod/data/seen.txt\n"


def test_a_path_that_leads_out_of_the_project_is_refused() -> None:
    from millrace import path

    with pytest.raises(ValueError, match="leads out of the project"):
        path("../" * 3 + "x.csv")
    assert path("tests/../x.csv") == ROOT / "x.csv"
