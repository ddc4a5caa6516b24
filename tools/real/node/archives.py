"""Images of one static program each, in the format that `docker save` writes.

The bytes follow from the program alone: the same program is the same image.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import orjson

IMAGES_FOLDER = "images"
REPOSITORY = "localhost"


def write_image(archive: Path, program: Path, name: str) -> None:
    """Write the image `localhost/NAME:1`, whose only file is /NAME, a static program."""
    layer = _tar({name: program.read_bytes()}, mode=0o755)
    config = orjson.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": [f"/{name}"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(layer)}"]},
        }
    )
    manifest = [
        {
            "Config": f"{_digest(config)}.json",
            "RepoTags": [image_name(name)],
            "Layers": ["layer.tar"],
        }
    ]
    files = {
        f"{_digest(config)}.json": config,
        "layer.tar": layer,
        "manifest.json": orjson.dumps(manifest),
    }
    archive.write_bytes(_tar(files, mode=0o644))


def image_name(name: str) -> str:
    """The name by which pods ask for the image."""
    return f"{REPOSITORY}/{name}:1"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _tar(files: dict[str, bytes], *, mode: int) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return target.getvalue()
