"""The table of README.md: every recording, its release, what happened, how many decisions."""

from __future__ import annotations

from pathlib import Path

from history.recordings import RecordingSource
from services.roster import DECIDING
from tests.histories.table import FOLDER, kept, scenario_of

README = FOLDER / "README.md"
BEGIN = "<!-- begin of the table -->\n"
END = "<!-- end of the table -->\n"


def table() -> str:
    """The table, from the files."""
    heads = ["recording", "made on", "releases", "what happened", *DECIDING]
    lines = [heads, ["---"] * len(heads), *(_row(path) for path in kept())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _row(path: Path) -> list[str]:
    manifest, scenario = RecordingSource(path).manifest, scenario_of(path)
    counts = dict.fromkeys(DECIDING, 0)
    for start in manifest.starts:
        counts[start.service] += start.decisions
    return [
        f"`{path.name}`",
        "" if scenario is None else "real pair" if scenario.is_real else "sandbox",
        ", ".join(manifest.releases),
        "" if scenario is None else scenario.what,
        *map(str, counts.values()),
    ]


def with_table(page: str) -> str:
    """The page with the table of now between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def write_table() -> None:
    """Write the table of README.md again."""
    README.write_text(with_table(README.read_text()))
