"""A bundle has the code of its author, and a processing element builds the same graph of it."""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.bundles import bundle_app
from contracts.bundle_format import BundleLimits, open_bundle
from millrace.errors import LoadError, PackError
from millrace.loading import load_file, load_module
from planner.application.adl import read_application

BEGIN = """
from dataclasses import dataclass
from collections.abc import Iterator
from millrace import App

@dataclass
class Number:
    value: int

def numbers() -> Iterator[Number]:
    yield Number(1)

"""
APP = f"{BEGIN}app = App('demo::Numbers')\napp.source(numbers).sink(print)\n"


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """Modules that a test imports are forgotten after it."""
    before = dict(sys.modules)
    yield
    for name in sys.modules.keys() - before.keys():
        del sys.modules[name]


@pytest.fixture
def app_file(tmp_path: Path) -> Path:
    file = tmp_path / "author" / "numbers_app.py"
    file.parent.mkdir()
    file.write_text(APP)
    return file


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(bundle_app, list(map(str, words)), env={"COLUMNS": "400"})
    return result.exit_code, result.stdout, result.stderr


def files_of(bundle: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        content = io.BytesIO(archive.read("tar/bundle.tar"))
    with tarfile.open(fileobj=content) as tar:
        found = {each.name: tar.extractfile(each) for each in tar.getmembers()}
        return {name: file.read() for name, file in found.items() if file is not None}


def test_the_command_packs_an_application_and_the_planner_reads_it(
    app_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "n.sab"
    assert run("pack", app_file, "-o", target)[:2] == (0, f"{target}\n")
    bundle = open_bundle(target.read_bytes(), BundleLimits())
    assert read_application(bundle).name == "demo::Numbers"
    assert files_of(target.read_bytes())["output/python/numbers_app.py"] == APP.encode()


def test_a_bundle_is_the_same_each_time(app_file: Path, tmp_path: Path) -> None:
    first = load_file(app_file).bundle(tmp_path / "first.sab").read_bytes()
    assert run("pack", f"{app_file}:app", "-o", tmp_path / "second.sab")[0] == 0
    assert (tmp_path / "second.sab").read_bytes() == first


def test_modules_that_the_author_wrote_are_packed_and_others_are_not(
    app_file: Path, tmp_path: Path
) -> None:
    app_file.write_text(APP + "import helping\nfrom parts.deep import x\nimport msgspec\n")
    (app_file.parent / "helping.py").write_text("import further\n")
    (app_file.parent / "further.py").write_text("")
    (app_file.parent / "unused.py").write_text("")
    (app_file.parent / "parts").mkdir()
    (app_file.parent / "parts" / "__init__.py").write_text("")
    (app_file.parent / "parts" / "deep.py").write_text("x = 1\n")
    (app_file.parent / "parts" / "data.txt").write_text("data")
    (tmp_path / "more.py").write_text("")
    wheel = tmp_path / "lib-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("lib-1.dist-info/METADATA", "Name: lib")
    target = tmp_path / "n.sab"
    packed = run(
        "pack", app_file, "-o", target, "--include", tmp_path / "more.py", "--wheel", wheel
    )
    assert packed[0] == 0, packed
    found = {name.removeprefix("output/") for name in files_of(target.read_bytes())}
    assert found == {
        "demo.Numbers.adl",
        *(
            f"python/{name}"
            for name in (
                "numbers_app.py",
                "helping.py",
                "further.py",
                "more.py",
                "parts/__init__.py",
                "parts/deep.py",
                "parts/data.txt",
                "wheels/lib-1-py3-none-any.whl",
            )
        ),
    }


@pytest.mark.parametrize("of_python", ["queue", "statistics", "wave"])
@pytest.mark.parametrize("is_package", [False, True])
def test_a_module_with_a_name_of_the_standard_library_is_refused(
    app_file: Path, of_python: str, is_package: bool
) -> None:
    """A PE imports Python's; and a library that needs Python's would get this one."""
    before = sys.modules.get(of_python)
    module = app_file.parent / (f"{of_python}/__init__.py" if is_package else f"{of_python}.py")
    module.parent.mkdir(exist_ok=True)
    module.write_text("LIMIT = 1\n")
    app_file.write_text(f"from {of_python} import LIMIT\n{APP}")
    code, _, problem = run("pack", app_file, "-o", app_file.parent / "x.sab")
    named = module.parent if is_package else module
    assert code == 1
    assert f"{named} has the name of Python's module {of_python}" in problem
    assert f"Rename it, as to my_{of_python}, and what imports it" in problem
    assert sys.modules.get(of_python) is before


def test_an_application_or_an_included_module_with_such_a_name_is_refused(app_file: Path) -> None:
    included = app_file.with_name("calendar.py")
    included.write_text("")
    target = app_file.with_name("x.sab")
    code, _, problem = run("pack", app_file, "-o", target, "--include", included)
    assert (code, target.exists()) == (1, False)
    assert f"{included} has the name of Python's module calendar" in problem
    application = app_file.rename(app_file.with_name("token.py"))
    code, _, problem = run("pack", application, "-o", target)
    assert (code, target.exists()) == (1, False)
    assert f"{application} has the name of Python's module token" in problem


def test_a_module_below_a_package_may_have_any_name(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "queue.py").write_text("LIMIT = 1\n")
    (tmp_path / "json.py").write_text("never imported")
    (package / "flow.py").write_text(f"from shop.queue import LIMIT\n{APP}")
    target = tmp_path / "x.sab"
    code, _, problem = run("pack", package / "flow.py", "-o", target)
    assert code == 0, problem
    assert "output/python/shop/queue.py" in files_of(target.read_bytes())


def test_a_module_in_a_package_is_packed_with_its_package(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "types.py").write_text("")
    (package / "main.py").write_text(APP + "from . import types\n")
    app = load_file(package / "main.py")
    assert (app.code.module, app.code.root) == ("shop.main", tmp_path)
    found = files_of(app.bundle(tmp_path / "n.sab").read_bytes())
    assert {"output/python/shop/main.py", "output/python/shop/types.py"} <= found.keys()


def test_a_processing_element_builds_the_same_graph(app_file: Path, tmp_path: Path) -> None:
    app = load_file(app_file)
    digest = app.graph.digest
    for name, data in files_of(app.bundle(tmp_path / "n.sab").read_bytes()).items():
        (tmp_path / "pe" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pe" / name).write_bytes(data)
    del sys.modules["numbers_app"]
    root = tmp_path / "pe" / "output" / "python"
    again = load_module(root, "numbers_app", "app", digest)
    assert again.graph.operator("numbers").function is not app.graph.operator("numbers").function
    assert Path(sys.modules["numbers_app"].__file__ or "").is_relative_to(root)


def test_a_processing_element_refuses_a_graph_that_differs(app_file: Path) -> None:
    with pytest.raises(LoadError, match="builds another graph than the plan of this job has"):
        load_module(app_file.parent, "numbers_app", "app", "0" * 64)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import no_such_library\n" + APP, "No module named 'no_such_library'; its libraries have"),
        ("x = 1\n", "module numbers_app has no application; name one, as in numbers_app.py:app"),
        (APP + "other = App('demo::Other')\n", "has several applications: app, other; name one"),
        (APP + "1 / 0\n", "it raises ZeroDivisionError: division by zero"),
        ("def f(:\n", "cannot be read as a module: invalid syntax"),
        (BEGIN + "app = App('demo::Numbers')\n", "has no operators that run"),
        (
            BEGIN + "def make():\n    app = App('a')\n    app.source(numbers)\n    return app\n"
            "apps = [make()]\n",
            "has no application",
        ),
    ],
)
def test_what_cannot_be_packed_fails_in_a_sentence(
    app_file: Path, text: str, sentence: str
) -> None:
    app_file.write_text(text)
    code, _, error = run("pack", app_file)
    assert code == 1
    assert sentence in error
    assert "Traceback" not in error


def test_a_variable_that_does_not_exist_is_named(app_file: Path) -> None:
    code, _, error = run("pack", f"{app_file}:main")
    assert (code, "has no application main: it has app" in error) == (1, True)


def test_a_bundle_with_another_content_is_only_replaced_by_force(
    app_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "n.sab"
    assert run("pack", app_file, "-o", target)[0] == 0
    app_file.write_text(APP + "# changed\n")
    code, _, error = run("pack", app_file, "-o", target)
    assert (code, "say --force to replace it" in error) == (1, True)
    assert run("pack", app_file, "-o", target, "--force")[0] == 0


def test_wheels_are_for_applications_in_python(tmp_path: Path) -> None:
    code, _, error = run("pack", tmp_path, "--wheel", tmp_path / "x.whl")
    assert (code, "are for applications in Python" in error) == (2, True)


def test_an_application_that_is_no_variable_of_a_module_is_not_packed(app_file: Path) -> None:
    app_file.write_text(BEGIN + "apps = [App('a')]\napps[0].source(numbers).sink(print)\n")
    with pytest.raises(LoadError, match="has no application"):
        load_file(app_file)
    (app,) = sys.modules["numbers_app"].apps
    with pytest.raises(PackError, match="is no variable at the top of its module"):
        app.bundle()
