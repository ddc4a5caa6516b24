"""The log files of `millrace up`: one of each child, and older ones beside it.

A child appends to NAME.log. When that has LOG_BYTES_MAX it is copied to NAME.log.1, the older ones
move up by one, and it is emptied; the child need not know. A line that is written between the copy
and the emptying, some microseconds, is lost. So the logs of a child take at most
(LOG_FILES_KEPT + 1) * LOG_BYTES_MAX, and what it writes between two looks.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from cli.private import private_log
from cli.showing import print_lines

LOG_BYTES_MAX: Final = 10 * 1024 * 1024
LOG_FILES_KEPT: Final = 4
"""Older ones of each child."""
LOOK_EVERY_S: Final = 5.0
POLL_S: Final = 0.2
SANDBOX_LOG: Final = "sandbox"
_ENDING: Final = ".log"


async def keep_bounded(logs: Path) -> None:
    """Rotate what is too large, for ever; a log that cannot be rotated is reported once."""
    reported: set[Path] = set()
    while True:
        problems = await asyncio.to_thread(rotate_all, logs)
        for file, problem in problems.items():
            if file not in reported:
                print_lines(f"millrace: {file} cannot be rotated and grows: {problem}")
        reported = set(problems)
        await asyncio.sleep(LOOK_EVERY_S)


def rotate_all(logs: Path) -> dict[Path, OSError]:
    """Rotate each log of a folder that is too large; returns those that could not be, and why."""
    problems = {}
    for file in logs.glob(f"*{_ENDING}"):
        try:
            rotate(file)
        except OSError as problem:
            problems[file] = problem
    return problems


def rotate(file: Path, bytes_max: int = LOG_BYTES_MAX) -> None:
    """Set the content of a log that has `bytes_max` aside, and forget the oldest one."""
    if file.stat().st_size < bytes_max:
        return
    for number in range(LOG_FILES_KEPT, 1, -1):
        newer = _older(file, number - 1)
        if newer.exists():
            newer.replace(_older(file, number))
    aside = _older(file, 1)
    aside.unlink(missing_ok=True)
    with file.open("r+b") as log, private_log(aside) as copy:
        while log.tell() < os.fstat(log.fileno()).st_size:  # it grows meanwhile
            shutil.copyfileobj(log, copy)
        log.truncate(0)


def files_of(logs: Path, name: str) -> list[Path]:
    """The files of a child, the oldest first; the last one is that which grows."""
    file = logs / f"{name}{_ENDING}"
    older = [_older(file, number) for number in range(LOG_FILES_KEPT, 0, -1)]
    return [*(each for each in older if each.exists()), file]


def names_in(logs: Path, service: str) -> list[str]:
    """The instances that have a log, of one service or (empty) of all."""
    found = sorted(file.name.removesuffix(_ENDING) for file in logs.glob(f"*{_ENDING}"))
    return [name for name in found if name != SANDBOX_LOG and service in ("", _service_of(name))]


async def new_texts(logs: Path, ends: Mapping[str, int]) -> AsyncIterator[tuple[str, str]]:
    """Lines that are appended after those positions, with their instance, for ever."""
    positions = dict(ends)
    while True:
        for name in positions:
            file = logs / f"{name}{_ENDING}"
            if (file.stat().st_size if file.exists() else 0) < positions[name]:  # it was rotated
                for text in _texts_from(_older(file, 1), positions[name])[0]:
                    yield name, text
                positions[name] = 0
            texts, positions[name] = _texts_from(file, positions[name])
            for text in texts:
                yield name, text
        await asyncio.sleep(POLL_S)


def _texts_from(file: Path, position: int) -> tuple[list[str], int]:
    """The whole lines after a position, and the position after them."""
    if not file.exists():
        return [], position
    found = []
    with file.open("rb") as opened:
        opened.seek(position)
        while (raw := opened.readline()).endswith(b"\n"):
            position = opened.tell()
            found.append(raw.decode(errors="replace"))
    return found, position


def _older(file: Path, number: int) -> Path:
    return file.with_name(f"{file.name}.{number}")


def _service_of(name: str) -> str:
    """The service of an instance: the second one of a service is NAME-2."""
    base, _, number = name.rpartition("-")
    return base if number.isdecimal() else name
