"""Volumes are folders that are linked into the root of each container."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.containers.folders import Folders, NotMountable, write_files
from sandbox.containers.runs import Mount
from sandbox.containers.volumes import Claim, EmptyDir, File, Files, HostPath, Source


def files(**contents: bytes) -> Files:
    return Files({name: File(content) for name, content in contents.items()})


def test_files_are_replaced_all_at_once_and_old_names_go(tmp_path: Path) -> None:
    write_files(tmp_path, Files({"a": File(b"1"), "d/b": File(b"2", 0o400)}))
    first = os.readlink(tmp_path / "..data")
    assert (tmp_path / "d" / "b").read_bytes() == b"2"
    assert (tmp_path / "d" / "b").stat().st_mode & 0o777 == 0o400
    write_files(tmp_path, files(a=b"3"))
    assert (tmp_path / "a").read_bytes() == b"3"
    assert sorted(each.name for each in tmp_path.iterdir() if not each.name.startswith("..")) == [
        "a"
    ]
    assert not (tmp_path / first).exists()
    assert os.readlink(tmp_path / "a") == "..data/a"


def test_the_containers_of_a_pod_share_its_volumes_and_nothing_else(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    folders.make_volumes("u", {"v": EmptyDir(), "c": files(a=b"1")})
    mounts = [Mount("v", "/work"), Mount("c", "/etc/config/pe"), Mount("v", "/sub", "x/y")]
    one = folders.make_root("u", "one", 0, mounts)
    other = folders.make_root("u", "other", 0, [Mount("v", "/elsewhere")])
    (one / "work" / "f").write_text("f")
    (one / "tmp" / "own").touch()
    assert (other / "elsewhere" / "f").read_text() == "f"
    assert (one / "etc" / "config" / "pe" / "a").read_bytes() == b"1"
    assert (other / "elsewhere" / "x" / "y").is_dir()
    assert not (other / "tmp" / "own").exists()


def test_the_next_run_of_a_container_finds_its_volumes_and_nothing_of_its_own(
    tmp_path: Path,
) -> None:
    folders = Folders(tmp_path)
    folders.make_volumes("u", {"v": EmptyDir()})
    first = folders.make_root("u", "pe", 0, [Mount("v", "/tmp/v")])
    (first / "tmp" / "live").touch()
    (first / "tmp" / "v" / "kept").touch()
    second = folders.make_root("u", "pe", 1, [Mount("v", "/tmp/v")])
    assert sorted(each.name for each in (second / "tmp").iterdir()) == ["v"]
    assert (second / "tmp" / "v" / "kept").exists()
    assert not first.exists()


def test_a_volume_can_take_the_place_of_a_folder_that_every_container_has(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    folders.make_volumes("u", {"v": EmptyDir()})
    root = folders.make_root("u", "pe", 0, [Mount("v", "/tmp")])
    (root / "tmp" / "f").touch()
    again = folders.make_root("u", "pe", 1, [Mount("v", "/tmp")])
    assert (again / "tmp" / "f").exists()


def test_nodes_have_paths_of_their_own_and_claims_are_one_for_all(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    for number in (0, 1):
        sources: dict[str, Source] = {
            "host": HostPath(f"node-{number}", "/data", ""),
            "claim": Claim("default", "shared"),
        }
        folders.make_volumes(f"u{number}", sources)
        root = folders.make_root(f"u{number}", "pe", 0, [Mount("host", "/h"), Mount("claim", "/c")])
        (root / "h" / "f").write_text(str(number))
        (root / "c" / f"{number}").touch()
    assert (tmp_path / "nodes" / "node-0" / "data" / "f").read_text() == "0"
    assert sorted(each.name for each in (tmp_path / "claims/default/shared").iterdir()) == [
        "0",
        "1",
    ]
    folders.forget("u0")
    folders.remove_pod("u0")
    assert (tmp_path / "claims/default/shared/0").exists()
    folders.remove_all()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("mount", "why"),
    [
        (Mount("v", "/../x"), "must not contain"),
        (Mount("v", "/x", "../.."), "must not contain"),
        (Mount("none", "/x"), 'no volume "none"'),
        (Mount("v", "/"), "cannot be mounted at /"),
    ],
)
def test_a_mount_that_leads_elsewhere_is_refused(tmp_path: Path, mount: Mount, why: str) -> None:
    folders = Folders(tmp_path)
    folders.make_volumes("u", {"v": EmptyDir()})
    with pytest.raises(NotMountable, match=why):
        folders.make_root("u", "pe", 0, [mount])


@pytest.mark.parametrize("kind", ["File", "Directory"])
def test_a_path_that_has_to_be_on_the_node_is_not_made(tmp_path: Path, kind: str) -> None:
    with pytest.raises(NotMountable, match="hostPath type check failed: /x is not a"):
        Folders(tmp_path).make_volumes("u", {"v": HostPath("node-0", "/x", kind)})
