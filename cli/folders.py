"""Folders that options name."""

from __future__ import annotations

from pathlib import Path

from cli.failing import Misused


def refuse_missing(option: str, folder: Path | None, *, may_be_created: bool) -> None:
    """Raise Misused if a folder that an option names does not exist: it may be a typing error."""
    if folder is None or folder.is_dir() or may_be_created:
        return
    if folder.exists():
        raise Misused(f"{option} {folder} is not a folder")
    raise Misused(f"{option} {folder} does not exist. Correct it, or say --create to create it.")
