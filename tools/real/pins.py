"""What the real pair is built of: the files under `pinned/`, their versions, and their digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PINNED = Path(__file__).with_name("pinned")
STAGES = PINNED / "stages"
FILES = ("go.mod", "go.sum", "pom.xml")
NODE = PINNED / "node"
DIGEST_CHARS = 16

_MODULES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kubernetes": "k8s.io/kubernetes",
    "kwok": "sigs.k8s.io/kwok",
}


@dataclass(frozen=True, slots=True)
class Pins:
    """The digest of the pinned files, and versions without a leading v."""

    digest: str
    versions: Mapping[str, str]  # go, etcd, kubernetes, kwok, kafka


def digest_of(files: Mapping[str, bytes]) -> str:
    """A name for exactly these contents under exactly these names."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        # The length keeps two files from being read as one.
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:DIGEST_CHARS]


def versions_of(go_mod: str, pom: str) -> dict[str, str]:
    """The versions that people ask for; raises ValueError where a pin is missing."""
    versions = {"go": _found(r"^go (\S+)$", go_mod, "go")}
    for name, module in _MODULES.items():
        versions[name] = _found(rf"^\s*{re.escape(module)} v(\S+)", go_mod, module)
    kafka = r"<artifactId>kafka_[\d.]+</artifactId>\s*<version>([^<]+)</version>"
    versions["kafka"] = _found(kafka, pom, "kafka")
    return versions


def _found(pattern: str, text: str, name: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{name} is not pinned")
    return found[1]


def node_digest(folder: Path = PINNED) -> str:
    """The digest of what the programs of a real node are built of."""
    files = [folder / "go.mod", folder / "go.sum", *(folder / "node").rglob("*")]
    return digest_of(
        {str(file.relative_to(folder)): file.read_bytes() for file in files if file.is_file()}
    )


def read_pins(folder: Path = PINNED) -> Pins:
    """The pins of this tree."""
    contents = {name: (folder / name).read_bytes() for name in FILES}
    versions = versions_of(contents["go.mod"].decode(), contents["pom.xml"].decode())
    return Pins(digest_of(contents), versions)
