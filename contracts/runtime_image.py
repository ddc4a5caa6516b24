"""The images in which PEs run: that of millrace's own runtime, and what all of them have."""

from __future__ import annotations

from typing import Final

REPOSITORY: Final = "millrace/runtime"
"""In whatever registry."""


INSTALL: Final = "/usr/local/streams"
"""The folder of the runtime in its image, also in that of the original."""
BOOTSTRAP: Final = f"{INSTALL}/system/impl/bin/streams-k8s-bootstrap"
"""The program of a pod."""


def image_of_release(version: str) -> str:
    """The image that belongs to a version of millrace; without a tag where no version is known."""
    return f"{REPOSITORY}:{version}" if version else REPOSITORY


def is_our_runtime(image: str) -> bool:
    """Whether an image is that of millrace's own runtime, in whatever registry."""
    path, _, last = image.partition("@")[0].rpartition("/")
    return f"/{path}/{last.partition(':')[0]}".endswith(f"/{REPOSITORY}")
