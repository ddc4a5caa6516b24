"""Prints what an image holds, as JSON: distributions of Python, the interpreter, Debian packages.

`building.py` runs the text of this file inside of the image, which has no other way to say it, so
it imports only the standard library. `sbom.py` reads it outside.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

STATUS = Path("/var/lib/dpkg/status.d")


def inventory(status: Path = STATUS) -> dict[str, Any]:
    """Everything: `python` (its version), `distributions` and `packages`, by name."""
    found = sorted(map(_distribution, distributions()), key=lambda each: str(each["name"]))
    packages = [_package(file) for file in sorted(status.glob("*"))]
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "distributions": found,
        "packages": packages,
    }


def _distribution(of: Distribution) -> dict[str, str]:
    fields = of.metadata.json
    license_ = str(fields.get("license_expression") or "")
    return {"name": str(fields["name"]), "version": of.version, "license": license_}


def _package(file: Path) -> dict[str, str]:
    lines = (line.partition(": ") for line in file.read_text(encoding="utf-8").splitlines())
    fields = {name: value for name, _, value in lines}
    return {"name": file.name, "version": fields["Version"], "arch": fields["Architecture"]}


if __name__ == "__main__":
    json.dump(inventory(), sys.stdout, indent=1)
