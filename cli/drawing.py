"""A plan for people: a table of what is in which PE and why, and a graph for Graphviz."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.failing import Failure
from services.fusion_backend.core.drafting import Draft
from services.fusion_backend.core.explaining import Explanation, explain
from services.fusion_backend.core.outline import outline, outline_of_resize, widths_of
from services.fusion_backend.core.records import PlanRecord
from services.fusion_backend.core.refusals import shown

OPERATORS_NAMED_MAX = 8
APART_NAMED_MAX = 3
DRAWING_LIMIT_S = 120.0
COLOURS = {"new": "palegreen", "restarts": "lightgoldenrod", "": "white"}

Fates = Mapping[int, str]
"""What a resize did to each PE: "new", "restarts", "gone", or "" (untouched)."""


def draw_tables(console: Console, drafts: Sequence[Draft], records: Sequence[PlanRecord]) -> None:
    """The first plan; after a resize also the last, and what became of each PE."""
    console.print(_summary(drafts[0]), _table(drafts[0], {}), sep="\n")
    if len(drafts) == 1:
        return
    fates = fates_of(records[0], records[-1])
    console.print()
    console.print(_resized(drafts[0], drafts[-1], fates), _table(drafts[-1], fates), sep="\n")


def fates_of(before: PlanRecord, after: PlanRecord) -> dict[int, str]:
    """What became of each PE of both plans."""
    old = {pe.id: pe.content_id for pe in before.pes}
    new = {pe.id: pe.content_id for pe in after.pes}
    fates = dict.fromkeys(old.keys() - new.keys(), "gone")
    for pe, content_id in new.items():
        fates[pe] = "new" if pe not in old else "" if old[pe] == content_id else "restarts"
    return fates


def _summary(draft: Draft) -> Text:
    found = outline(draft)
    widths = ", ".join(f"{shown(name)}={width}" for name, width in widths_of(draft).items())
    return Text(
        f"{shown(draft.request.application.name)}: {_count(found['pes'], 'PE')}, "
        f"{_count(found['ops'], 'operator')}, "
        f"{_count(found['operator_connections'], 'connection')}, "
        f"{found['static_connections']} of them between PEs ({_scheme(draft)})"
        + (f"; widths {widths}" if widths else "")
    )


def _scheme(draft: Draft) -> str:
    fusion = draft.fusion
    if fusion.scheme == "automatic":
        threads = f"{fusion.threads_min} to {fusion.threads_max} threads"
        return f"automatic: {fusion.pes_max} for {threads} on {_count(fusion.nodes or 1, 'node')}"
    return fusion.scheme if fusion.pes_max is None else f"{fusion.scheme} {fusion.pes_max}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _resized(before: Draft, after: Draft, fates: Fates) -> Text:
    was = widths_of(before)
    widths = ", ".join(
        f"{shown(name)} {was[name]} → {width}"
        for name, width in widths_of(after).items()
        if was[name] != width
    )
    changes = outline_of_resize(before, after)
    told = [f"{changes[what]} {what}" for what in ("changed", "added", "removed")]
    pes = [
        f"{sum(fate == each for fate in fates.values())} {word}"
        for each, word in (("restarts", "restart"), ("new", "new"), ("gone", "gone"), ("", "stay"))
    ]
    return Text(
        f"resized: {widths or 'nothing'}; operators: {', '.join(told)}; PEs: {', '.join(pes)}"
    )


def _table(draft: Draft, fates: Fates) -> Table:
    table = Table("PE", "operators (index)", "in", "out", "why")
    if fates:
        table.add_column("resize")
    pes, reasons = outline(draft)["pe"], explain(draft)
    for pe in sorted(draft.placed):
        found = pes[str(pe)]
        row = [
            Text(str(pe)),
            Text(_operators(found["operators"])),
            Text(str(found["in"])),
            Text(str(found["out"])),
            Text(_why(reasons[pe])),
        ]
        table.add_row(*row, *([Text(fates[pe])] if fates else []))
    for pe in sorted(pe for pe, fate in fates.items() if fate == "gone"):
        table.add_row(str(pe), "", "", "", "", "gone")
    return table


def _operators(indices: Mapping[str, int]) -> str:
    named = [f"{shown(name)} ({index})" for name, index in indices.items()]
    more = len(named) - OPERATORS_NAMED_MAX
    kept = named[:OPERATORS_NAMED_MAX] if more > 0 else named
    return ", ".join(kept) + (f" and {more} more" if more > 0 else "")


def _why(explanation: Explanation) -> str:
    apart: dict[str, list[int]] = {}
    for other, why in explanation.apart:
        apart.setdefault(why, []).append(other)
    return "; ".join(
        (*explanation.together, *(f"not with {_pes(pes)}: {why}" for why, pes in apart.items()))
    )


def _pes(pes: Sequence[int]) -> str:
    named = ", ".join(str(pe) for pe in pes[:APART_NAMED_MAX])
    more = len(pes) - APART_NAMED_MAX
    return f"PE {named}" + (f" and {more} more" if more > 0 else "")


# --------------------------------------------------------------------------- graph


def draw_graph(drafts: Sequence[Draft], records: Sequence[PlanRecord]) -> str:
    """The last plan in the language of Graphviz; what a resize touched has a colour."""
    draft = drafts[-1]
    fates = fates_of(records[0], records[-1])
    reasons = explain(draft)
    lines = [
        "digraph plan {",
        f"  label={_quoted(draft.request.application.name)};",
        "  rankdir=LR; node [shape=box, style=filled, fillcolor=white];",
    ]
    for pe, operators in sorted(draft.placed.items()):
        lines += [
            f"  subgraph cluster_{pe} {{",
            f"    label={_quoted(f'PE {pe}')}; tooltip={_quoted(_why(reasons[pe]))};",
            f"    style=filled; fillcolor={COLOURS[fates[pe]]};",
            *(
                f"    o{index} [label={_quoted(draft.topology.operators[index].name)}];"
                for index in operators
            ),
            "  }",
        ]
    drawn = dict.fromkeys((edge.source, edge.target) for edge in draft.topology.edges)
    for source, target in drawn:
        crosses = draft.pe_of[source] != draft.pe_of[target]
        lines.append(f"  o{source} -> o{target}{' [color=blue]' if crosses else ''};")
    return "\n".join((*lines, "}", ""))


def _quoted(text: str) -> str:
    return '"' + shown(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def draw_svg(graph: str, target: Path) -> bool:
    """The graph as SVG where Graphviz is there; says whether it was. Raises Failure if it fails."""
    program = shutil.which("dot")
    if program is None:
        return False
    try:
        subprocess.run(  # noqa: S603 - Graphviz, from the PATH of the person who asks for it
            [program, "-Tsvg", "-o", str(target)],
            input=graph.encode(),
            check=True,
            timeout=DRAWING_LIMIT_S,
        )
    except (OSError, subprocess.SubprocessError) as problem:
        raise Failure(f"{target} cannot be drawn: {problem}") from None
    return True
