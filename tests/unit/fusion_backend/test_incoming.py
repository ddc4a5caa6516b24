"""What a killed process was writing is removed at the next start; what somebody writes is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from services.fusion_backend.adapters.bundles.incoming import FETCHED, Incoming, sweep

WRITING = """
import sys, time
from pathlib import Path
from services.fusion_backend.adapters.bundles.incoming import Incoming
incoming = Incoming(Path(sys.argv[1]))
incoming.write(b"half of it")
print("writing", flush=True)
sys.stdin.read()
"""


def files(store: Path) -> list[Path]:
    return [each for each in store.rglob("*") if each.is_file()]


def test_what_another_process_writes_stays_until_it_is_killed(tmp_path: Path) -> None:
    (tmp_path / "kept.sab").write_bytes(b"kept")
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        assert sweep(tmp_path) == 0
        assert len(files(tmp_path)) == 2
        writer.send_signal(signal.SIGKILL)
    assert sweep(tmp_path) == 1
    assert files(tmp_path) == [tmp_path / "kept.sab"]


def test_what_is_written_meanwhile_is_kept_under_its_name(tmp_path: Path) -> None:
    incoming = Incoming(tmp_path)
    incoming.write(b"a bundle")
    assert sweep(tmp_path) == 0
    incoming.keep(tmp_path / "name", now=1_000.0)
    incoming.discard()
    assert sweep(tmp_path) == 0
    assert (tmp_path / "name").read_bytes() == b"a bundle"
    assert (tmp_path / "name").stat().st_mtime == 1_000.0


def test_notes_are_swept_too_and_what_was_to_be_removed_comes_back(tmp_path: Path) -> None:
    """A crash between two steps of a removal, and in the middle of a note."""
    (tmp_path / FETCHED).mkdir()
    (tmp_path / FETCHED / ".incoming-x").write_bytes(b"half a no")
    (tmp_path / ".leaving-one.sab").write_bytes(b"one")
    (tmp_path / ".leaving-two.sab").write_bytes(b"two")
    (tmp_path / "two.sab").write_bytes(b"two")
    sweep(tmp_path)
    assert sorted(each.name for each in files(tmp_path)) == ["one.sab", "two.sab"]


def test_a_store_that_does_not_exist_yet_has_nothing_to_sweep(tmp_path: Path) -> None:
    assert sweep(tmp_path / "nowhere") == 0
