"""Texts of certificates in PEM. What is around them, such as names of authorities, is no part."""

from __future__ import annotations

import os

from millrace.paths import place_of


def ascii_of(pem: str) -> str:
    """The text without characters that OpenSSL does not take: bundles have them in comments."""
    return pem.encode("ascii", "ignore").decode()


def pem_of(path: str | os.PathLike[str]) -> str:
    """The text of a file of the pod. Raises OSError."""
    return ascii_of(place_of(os.fspath(path)).read_text("utf-8", "ignore"))
