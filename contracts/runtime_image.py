"""The image of millrace's own runtime, which runs applications in Python."""

from __future__ import annotations

from typing import Final

REPOSITORY: Final = "millrace/runtime"
"""In whatever registry."""


def image_of_release(version: str) -> str:
    """The image that belongs to a version of millrace; without a tag where no version is known."""
    return f"{REPOSITORY}:{version}" if version else REPOSITORY


def is_our_runtime(image: str) -> bool:
    """Whether an image is that of millrace's own runtime, in whatever registry."""
    path, _, last = image.partition("@")[0].rpartition("/")
    return f"/{path}/{last.partition(':')[0]}".endswith(f"/{REPOSITORY}")
