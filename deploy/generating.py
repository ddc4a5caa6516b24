"""Writes the CustomResourceDefinitions of `contracts/resources` to `deploy/crds/*.yaml`.

Run by `make generate` as `python -m deploy.generating`; with `--check` it writes nothing and fails
when a file is not what the models say. What a definition contains is decided in
`contracts/resources/crds.py`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from contracts.resources.crds import custom_resource_definitions

FOLDER = Path(__file__).resolve().parent / "crds"
HEADER = "# Generated from contracts/resources by `make generate`; edit the models instead.\n"


def crd_files() -> Mapping[str, str]:
    """What each file in `deploy/crds/` must contain, by file name."""
    return {
        f"{crd['metadata']['name']}.yaml": HEADER + rendered(crd)
        for crd in custom_resource_definitions()
    }


def rendered(crd: Mapping[str, Any]) -> str:
    """A definition as YAML, in the order in which it was made."""
    text: str = yaml.safe_dump(
        dict(crd), sort_keys=False, width=100, allow_unicode=True, default_flow_style=False
    )
    return text


def stale_files(folder: Path = FOLDER) -> list[str]:
    """Names of files that are missing, outdated or no longer generated."""
    expected = crd_files()
    present = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.yaml")}
    names = expected.keys() | present.keys()
    return sorted(name for name in names if expected.get(name) != present.get(name))


def main() -> int:
    """Write the files, or only compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    stale = stale_files()
    if parser.parse_args().check:
        sys.stdout.writelines(f"stale: {name}\n" for name in stale)
        return 1 if stale else 0
    expected = crd_files()
    FOLDER.mkdir(exist_ok=True)
    for name in stale:
        path = FOLDER / name
        if name in expected:
            path.write_text(expected[name], encoding="utf-8")
        else:
            path.unlink()
        sys.stdout.write(f"wrote {path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
