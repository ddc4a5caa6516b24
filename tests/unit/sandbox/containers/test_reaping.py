"""What a killed sandbox leaves is known to its reaper; memory is counted by process group."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sandbox.containers.memory_use import memory_by_group
from sandbox.containers.reaper import followed
from tests.patience import patient
from tests.unit.sandbox.containers.running import processes_of


def test_the_reaper_remembers_the_groups_that_did_not_end() -> None:
    assert followed(["+1\n", "+2\n", "-1\n", "nonsense\n", "-7\n"]) == {2}


def test_the_reaper_kills_groups_and_removes_folders_when_its_pipe_ends(tmp_path: Path) -> None:
    (tmp_path / "pods" / "u").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    child = subprocess.Popen(["sh", "-c", "sleep 60 & wait"], start_new_session=True)
    reaper = [sys.executable, "-m", "sandbox.containers.reaper", str(tmp_path)]
    subprocess.run(reaper, input=f"+{child.pid}\n".encode(), check=True, timeout=patient(20))
    assert child.wait(timeout=patient(10)) == -9
    assert not processes_of(child.pid)
    assert os.listdir(tmp_path) == ["other"]


def test_the_memory_of_a_group_is_that_of_its_processes(tmp_path: Path) -> None:
    pages = " ".join(["0"] * 17)
    for pid, name, group, resident in ((5, "a (b) c", 5, 3), (6, "x", 5, 4), (7, "y", 7, 100)):
        (tmp_path / str(pid)).mkdir()
        text = f"{pid} ({name}) S 1 {group} {pages} 0 {resident} 9 9\n"
        (tmp_path / str(pid) / "stat").write_text(text)
    (tmp_path / "self").mkdir()
    (tmp_path / "8").mkdir()  # it has ended
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    assert memory_by_group({5, 9}, tmp_path) == {5: 7 * page_bytes, 9: 0}
    own = memory_by_group({os.getpgrp()})[os.getpgrp()]
    assert own > 1_000_000
