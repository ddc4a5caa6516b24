"""A PE unpacks its bundle, whatever is in it, and loads the application that was planned."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import io
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from packaging.tags import sys_tags

from contracts.bundle_limits import BundleLimits
from millrace.errors import LoadError
from millrace.loading import load_file
from millrace.runtime.bundle import Assets, load, unpack
from millrace.runtime.endings import BundleRefused, Ending
from millrace.runtime.unpacking import Limits
from millrace.runtime.wheels import WheelRefused, add_wheels, check_tags

APP = """
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


@pytest.fixture(autouse=True)
def imports() -> Iterator[None]:
    """What a test imports and puts on the path is forgotten after it."""
    modules, path = dict(sys.modules), list(sys.path)
    yield
    for name in sys.modules.keys() - modules.keys():
        del sys.modules[name]
    sys.path[:] = path
    importlib.invalidate_caches()


def wheel(files: Mapping[str, str], requires: str = "") -> bytes:
    """A wheel of the library `lib` with these files."""
    metadata = f"Metadata-Version: 2.1\nName: lib\nVersion: 1\n{requires}\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in {**files, "lib-1.dist-info/METADATA": metadata}.items():
            archive.writestr(path, text)
    return buffer.getvalue()


def entry(path: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(path)
    header.size = len(data)
    for name, value in fields.items():
        setattr(header, name, value)
    return header, data


def bundle_of(
    folder: Path,
    *entries: tuple[tarfile.TarInfo, bytes],
    info: Callable[[str], str] = lambda build_id: f'<b buildId="{build_id}"/>',
    form: int = tarfile.USTAR_FORMAT,
) -> Path:
    """A bundle with these members in its tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for header, data in entries:
            tar.addfile(header, io.BytesIO(data))
    tar_bytes = buffer.getvalue()
    path = folder / "a.sab"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bundleInfo.xml", info(hashlib.sha224(tar_bytes).hexdigest()))
        archive.writestr("tar/bundle.tar", tar_bytes)
    return path


# ---------------------------------------------------------------- a bundle as it is made


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Assets, str]:
    """An application with a wheel, packed and unpacked; and the digest of its graph."""
    author = tmp_path / "author"
    author.mkdir()
    (author / "numbers_app.py").write_text(APP)
    library = author / "lib-1-py3-none-any.whl"
    library.write_bytes(wheel({"lib/__init__.py": "VALUE = 7\n", "lib-1.data/purelib/more.py": ""}))
    app = load_file(author / "numbers_app.py")
    app.bundle(tmp_path / "a.sab", wheels=[library])
    del sys.modules["numbers_app"]
    return unpack(tmp_path / "a.sab", tmp_path / "assets"), app.graph.digest


def test_a_pe_loads_the_application_that_was_packed(packed: tuple[Assets, str]) -> None:
    assets, digest = packed
    app = load(assets, "numbers_app", "app", digest)
    assert app.graph.digest == digest
    found = sys.modules["numbers_app"].__file__
    assert found is not None
    assert Path(found).is_relative_to(assets.python)


def test_wheels_and_modules_stay_importable(packed: tuple[Assets, str]) -> None:
    assets, digest = packed
    (assets.python / "later.py").write_text("import lib, more\nVALUE = lib.VALUE\n")
    load(assets, "numbers_app", "app", digest)
    assert importlib.import_module("later").VALUE == 7


def test_a_module_that_builds_another_graph_is_refused(packed: tuple[Assets, str]) -> None:
    with pytest.raises(LoadError, match="another graph"):
        load(packed[0], "numbers_app", "app", "0" * 64)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import nowhere_at_all", "nowhere_at_all.*wheels in the bundle"),
        ("1 / 0", "raises ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", "raises SystemExit: 3"),
        ("def (", "raises SyntaxError"),
        ("", "has no application app"),
    ],
)
def test_a_module_that_cannot_be_imported_says_why(
    text: str, sentence: str, packed: tuple[Assets, str]
) -> None:
    assets, digest = packed
    (assets.python / "broken_app.py").write_text(text)
    with pytest.raises(LoadError, match=f"module broken_app .*{sentence}"):
        load(assets, "broken_app", "app", digest)


def test_a_folder_is_emptied_before(packed: tuple[Assets, str], tmp_path: Path) -> None:
    (tmp_path / "assets" / "old").write_text("of an earlier bundle")
    unpack(tmp_path / "a.sab", tmp_path / "assets")
    assert not (tmp_path / "assets" / "old").exists()


# ---------------------------------------------------------------- hostile bundles


def test_the_limits_are_those_of_the_bundle_format() -> None:
    known = {each.name: getattr(BundleLimits(), each.name) for each in dataclasses.fields(Limits)}
    assert dataclasses.asdict(Limits()) == known


@pytest.mark.parametrize(
    "path", ["../evil", "/etc/evil", "output/../../evil", "C:/evil", "..\\evil", "a" * 5_000]
)
def test_a_path_that_leaves_the_folder_is_refused(path: str, tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, entry(path, b"x"), form=tarfile.PAX_FORMAT)
    with pytest.raises(BundleRefused, match=r"leaves the folder|has 5000 characters") as caught:
        unpack(bundle, tmp_path / "assets")
    assert caught.value.ending is Ending.BUNDLE_REFUSED
    assert not list(tmp_path.rglob("evil"))


def test_an_output_directory_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    def info(build_id: str) -> str:
        return f'<b buildId="{build_id}" outputDirectory="../../etc"/>'

    with pytest.raises(BundleRefused, match="leaves the folder"):
        unpack(bundle_of(tmp_path, entry("output/a", b"x"), info=info), tmp_path / "assets")


def test_links_are_not_made_so_that_nothing_is_written_through_them(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    bundle = bundle_of(
        tmp_path,
        entry("output/link", type=tarfile.SYMTYPE, linkname=str(outside)),
        entry("output/hard", type=tarfile.LNKTYPE, linkname="/etc/passwd"),
        entry("output/link/evil", b"x"),
    )
    unpack(bundle, tmp_path / "assets")
    assert list(outside.iterdir()) == []
    assert (tmp_path / "assets/output/link/evil").read_bytes() == b"x"
    assert not (tmp_path / "assets/output/hard").exists()


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE])
def test_devices_and_sparse_files_are_refused(kind: bytes, tmp_path: Path) -> None:
    with pytest.raises(BundleRefused, match="no plain file"):
        unpack(bundle_of(tmp_path, entry("output/a", type=kind)), tmp_path / "assets")


def test_a_file_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, entry("output/a", b"1"), entry("output/./a", b"2"))
    with pytest.raises(BundleRefused, match="twice"):
        unpack(bundle, tmp_path / "assets")


def test_a_file_below_a_file_is_refused(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, entry("output/a", b"1"), entry("output/a/b", b"2"))
    with pytest.raises(BundleRefused, match="cannot be unpacked"):
        unpack(bundle, tmp_path / "assets")


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(compressed_bytes_max=100), "more than 100 bytes"),
        (Limits(zip_members_max=1), "more than 1 zip members"),
        (Limits(expanded_bytes_max=1_000), "bytes when it is unpacked"),
        (Limits(info_bytes_max=10), r"bundleInfo\.xml has more than 10 bytes"),
        (Limits(members_max=2), "more than 2 members"),
        (Limits(member_bytes_max=3), "has 4 bytes; at most 3"),
    ],
)
def test_each_limit_holds(limits: Limits, sentence: str, tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, *(entry(f"output/{name}", b"1234") for name in "abc"))
    with pytest.raises(BundleRefused, match=sentence):
        unpack(bundle, tmp_path / "assets", limits)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, entry("output/zeros", bytes(100_000_000)))
    with pytest.raises(BundleRefused, match="without compression"):
        unpack(bundle, tmp_path / "assets")


@pytest.mark.parametrize(
    ("info", "sentence"),
    [
        ('<b buildId="00"/>', "is not the SHA-224"),
        ("<b", "is no XML"),
        ('<!DOCTYPE b [<!ENTITY a "aa">]><b>&a;</b>', "document type"),
    ],
)
def test_a_wrong_description_of_the_bundle_is_refused(
    info: str, sentence: str, tmp_path: Path
) -> None:
    bundle = bundle_of(tmp_path, entry("output/a", b"1"), info=lambda _: info)
    with pytest.raises(BundleRefused, match=sentence):
        unpack(bundle, tmp_path / "assets")


@pytest.mark.parametrize("length", [0, 10, 200, -1])
def test_a_bundle_that_was_cut_off_is_refused(length: int, tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, entry("output/a", bytes(5_000)))
    bundle.write_bytes(bundle.read_bytes()[:length])
    with pytest.raises(BundleRefused, match="damaged"):
        unpack(bundle, tmp_path / "assets")


def test_a_zip_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sab").write_bytes(wheel({"a.py": ""}))
    with pytest.raises(BundleRefused, match=r"bundleInfo\.xml"):
        unpack(tmp_path / "a.sab", tmp_path / "assets")


def test_a_bundle_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleRefused, match="No such file"):
        unpack(tmp_path / "a.sab", tmp_path / "assets")


# ---------------------------------------------------------------- wheels


def write(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder / name


@pytest.mark.parametrize(
    "name",
    [
        "lib-1-cp27-cp27mu-manylinux1_x86_64.whl",
        "lib-1-cp311-cp311-win_amd64.whl",
        "lib-1-cp399-cp399-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    ],
)
def test_a_wheel_for_another_python_or_platform_names_tags_and_this(
    name: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "wheels", name, wheel({}))
    before = list(sys.path)
    good = write(tmp_path / "wheels", "good-1-py3-none-any.whl", wheel({"good.py": ""}))
    with pytest.raises(WheelRefused) as caught:
        add_wheels([good, path], tmp_path / "site")
    text = str(caught.value)
    assert name in text
    assert f"{name.split('-', 2)[2].split('.')[0]}" in text
    assert f"this is CPython {sys.version_info[0]}.{sys.version_info[1]} on linux" in text
    assert caught.value.ending is Ending.WHEEL_REFUSED
    assert sys.path == before
    assert not (tmp_path / "site").exists()


def test_each_tag_of_this_python_fits() -> None:
    here = list(sys_tags())
    for tag in here[:50]:
        check_tags(f"lib-1-{tag}.whl", here)


@pytest.mark.parametrize("name", ["lib.whl", "lib-1.whl", "\x1b[31m-1-py3-none-any.whl.whl"])
def test_a_file_that_is_not_named_as_a_wheel_is_refused(name: str) -> None:
    with pytest.raises(WheelRefused, match="no name of a wheel") as caught:
        check_tags(name, sys_tags())
    assert str(caught.value).isprintable()


def test_a_wheel_that_needs_another_python_is_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path / "wheels",
        "lib-1-py3-none-any.whl",
        wheel({"lib.py": ""}, requires="Requires-Python: >=3.99"),
    )
    with pytest.raises(WheelRefused, match=r"needs Python >=3\.99; this is CPython"):
        add_wheels([path], tmp_path / "site")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"no zip", "is damaged"),
        (wheel({"../evil.py": ""}), "leaves the folder"),
        (wheel({"lib-1.data/purelib/../../evil.py": ""}), "leaves the folder"),
        (wheel({"lib.py": "x", "./lib.py": "y"}), "twice"),
    ],
)
def test_a_damaged_or_hostile_wheel_is_refused(data: bytes, sentence: str, tmp_path: Path) -> None:
    path = write(tmp_path / "wheels", "lib-1-py3-none-any.whl", data)
    with pytest.raises(WheelRefused, match=f"wheel lib-1-py3-none-any.whl.*{sentence}"):
        add_wheels([path], tmp_path / "site")
    assert not list(tmp_path.rglob("evil.py"))


def test_a_wheel_of_many_bytes_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "wheels", "lib-1-py3-none-any.whl", wheel({"lib.py": "x" * 100}))
    with pytest.raises(WheelRefused, match="too much"):
        add_wheels([path], tmp_path / "site", Limits(member_bytes_max=99))


def test_scripts_of_a_wheel_are_left_out(tmp_path: Path) -> None:
    data = wheel({"lib.py": "", "lib-1.data/scripts/run": "", "lib-1.data/platlib/plat.py": ""})
    (folder,) = add_wheels(
        [write(tmp_path / "wheels", "lib-1-py3-none-any.whl", data)], tmp_path / "site"
    )
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {"lib.py", "plat.py", "lib-1.dist-info/METADATA"}
    assert sys.path[0] == str(folder)
