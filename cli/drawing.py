"""Shows a plan to people: a table of the PEs with their operators and why, a graph for Graphviz."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from cli.failing import Failure
from cli.showing import Rows, Screen, cell
from planner.drafting import Draft
from planner.explaining import Explanation, explain
from planner.fates import Fate, fates_of
from planner.fusion.reckoning import allocatable_of
from planner.numbering.records import PlanRecord
from planner.outline import outline, outline_of_resize, widths_of
from planner.refusals import counted, shown

NAMED_MAX = 8
APART_NAMED_MAX = 3
ALIKE_MAX = 8
"""More PEs than this that differ only in their channel share one row of the table."""
CONNECTIONS_MAX = 100_000
DRAWN_MAX = 2_000
"""As many operators and arrows as Graphviz lays out within its time limit."""
DRAWING_LIMIT_S = 120.0
LABEL_CHARS = 48
LABEL_LINES_MAX = 6
LEGEND = "blue: between PEs; red: a constraint keeps them apart"
LEGEND_OF_RESIZE = "yellow: restarts; green: new"
_NUMBER = re.compile(r"\d+")
COLOURS = {"new": "palegreen", "restarts": "lightgoldenrod", "": "white"}

Fates = Mapping[int, str]
"""The effect of a resize on each PE: "new", "restarts", "gone", or "" (untouched)."""


def draw_tables(console: Screen, drafts: Sequence[Draft], records: Sequence[PlanRecord]) -> None:
    """Print the first plan; after a resize also the last plan, with the fate of each PE."""
    console.print(cell(_summary(drafts[0])), _table(drafts[0], {}), sep="\n")
    if len(drafts) == 1:
        return
    fates = _fates(drafts, records)
    console.print()
    console.print(cell(_resized(drafts[0], drafts[-1], fates)), _table(drafts[-1], fates), sep="\n")


def _fates(drafts: Sequence[Draft], records: Sequence[PlanRecord]) -> Fates:
    found = fates_of(records[0], drafts[-1], records[-1]).pes.items()
    return {pe: "" if each.fate is Fate.STAYS else each.fate.value for pe, each in found}


def _summary(draft: Draft) -> str:
    found = outline(draft)
    widths = [f"{shown(name)}={width}" for name, width in widths_of(draft).items()]
    return (
        f"{shown(draft.request.application.name)}: {counted(found['pes'], 'PE')}, "
        f"{counted(found['ops'], 'operator')}, "
        f"{counted(found['operator_connections'], 'connection')}, "
        f"{found['static_connections']} of them between PEs ({_scheme(draft)})"
        + (f"; widths {_first(widths)}" if widths else "")
    )


def _scheme(draft: Draft) -> str:
    fusion = draft.fusion
    scheme = fusion.scheme if fusion.pes_max is None else f"{fusion.scheme} {fusion.pes_max}"
    if fusion.scheme == "automatic":
        threads = f"{fusion.threads_min} to {fusion.threads_max} threads"
        cpus = counted(fusion.largest_node_mcpu // 1000, "CPU")
        nodes = f"{counted(fusion.nodes or 1, 'node')} of {cpus}"
        scheme = f"automatic: {counted(fusion.pes_max or 1, 'PE')} for {threads} on {nodes}"
        measured = draft.request.usage_in_force.cluster
        scheme += f"; {measured.sentence(allocatable_of(fusion))}" if measured else ""
    return scheme if fusion.type == "noChannelInfluence" else f"{scheme}, {fusion.type}"


def _first(named: Sequence[str]) -> str:
    """The first NAMED_MAX names, and how many more there are."""
    more = len(named) - NAMED_MAX
    return ", ".join(named[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def _resized(before: Draft, after: Draft, fates: Fates) -> str:
    was = widths_of(before)
    widths = _first(
        [
            f"{shown(name)} {was[name]} → {width}"
            for name, width in widths_of(after).items()
            if was[name] != width
        ]
    )
    changes = outline_of_resize(before, after)
    counts = [f"{changes[what]} {what}" for what in ("changed", "added", "removed")]
    pes = [
        f"{sum(fate == each for fate in fates.values())} {word}"
        for each, word in (("restarts", "restart"), ("new", "new"), ("gone", "gone"), ("", "stay"))
    ]
    return f"resized: {widths or 'nothing'}; operators: {', '.join(counts)}; PEs: {', '.join(pes)}"


@dataclass(frozen=True, slots=True)
class _Row:
    """A PE in the table. Rows with equal `shape` differ only in their channel."""

    pe: int
    operators: Mapping[str, int]
    ports: tuple[str, str]
    why: str
    fate: str
    shape: Hashable


def _rows(draft: Draft, fates: Fates) -> Iterator[_Row]:
    pes, reasons = outline(draft)["pe"], explain(draft)
    for pe, indices in sorted(draft.placed.items()):
        found, why, fate = pes[str(pe)], _why(reasons[pe]), fates.get(pe, "")
        ports = str(found["in"]), str(found["out"])
        logical = tuple(draft.topology.operators[index].logical_name for index in indices)
        shape = (logical, ports, _NUMBER.sub("", why), fate)
        yield _Row(pe, found["operators"], ports, why, fate, shape)


def _table(draft: Draft, fates: Fates) -> Rows:
    table = Rows("PE", "operators (index)", "in", "out", "why")
    if fates:
        table.add_column("resize")
    alike: dict[Hashable, list[_Row]] = {}
    for row in _rows(draft, fates):
        alike.setdefault(row.shape, []).append(row)
    for rows in sorted(_together(alike.values()), key=lambda rows: rows[0].pe):
        cells = _cells(rows)
        table.add_row(*(cells if fates else cells[:-1]))
    gone = sorted(pe for pe, fate in fates.items() if fate == "gone")
    if len(gone) > ALIKE_MAX:
        table.add_row(_ranges(gone), "", "", "", "", "gone")
    for pe in gone if len(gone) <= ALIKE_MAX else ():
        table.add_row(str(pe), "", "", "", "", "gone")
    return table


def _together(alike: Iterable[list[_Row]]) -> Iterator[list[_Row]]:
    """More than ALIKE_MAX rows that are alike as one group; other rows one by one."""
    for rows in alike:
        if len(rows) > ALIKE_MAX:
            yield rows
        else:
            yield from ([row] for row in rows)


def _cells(rows: list[_Row]) -> tuple[str, ...]:
    first, last = rows[0], rows[-1]
    pes, operators = str(first.pe), _operators(first.operators)
    if len(rows) > 1:
        pes = f"{_ranges([row.pe for row in rows])} ({len(rows)} alike)"
        operators = f"{operators} … {_operators(last.operators)}"
    return pes, operators, *first.ports, first.why, first.fate


def _ranges(pes: Sequence[int]) -> str:
    """`2, 5-9` for ascending numbers."""
    runs: list[tuple[int, int]] = []
    for pe in pes:
        if runs and runs[-1][1] == pe - 1:
            runs[-1] = runs[-1][0], pe
        else:
            runs.append((pe, pe))
    return _first([str(one) if one == other else f"{one}-{other}" for one, other in runs])


def _operators(indices: Mapping[str, int]) -> str:
    return _first([f"{shown(name)} ({index})" for name, index in indices.items()])


def reasons_of(explanation: Explanation) -> tuple[str, ...]:
    """Why a PE holds what it holds, as sentences; neighbours with one reason share a sentence."""
    apart: dict[str, list[int]] = {}
    for other, why in explanation.apart:
        apart.setdefault(why, []).append(other)
    return (
        *explanation.together,
        *(f"not with {_pes(pes)}: {why}" for why, pes in apart.items()),
    )


def _why(explanation: Explanation) -> str:
    return "; ".join(reasons_of(explanation))


def _pes(pes: Sequence[int]) -> str:
    named = ", ".join(str(pe) for pe in pes[:APART_NAMED_MAX])
    more = len(pes) - APART_NAMED_MAX
    return f"PE {named}" + (f" and {more} more" if more > 0 else "")


# --------------------------------------------------------------------------- graph


def draw_graph(drafts: Sequence[Draft], records: Sequence[PlanRecord]) -> str:
    """The last plan in the DOT language: PEs with their reasons, and connections.

    Raises Failure if there are more than CONNECTIONS_MAX connections.
    """
    draft = drafts[-1]
    if draft.topology.connections_count > CONNECTIONS_MAX:
        raise Failure(
            f"a graph of {draft.topology.connections_count} connections is too large to look at "
            f"(more than {CONNECTIONS_MAX}): plan smaller widths (--width), or say --format table"
        )
    fates = _fates(drafts, records)
    reasons = explain(draft)
    title = [draft.request.application.name, _summary(draft).partition(": ")[2]]
    legend = LEGEND + (f"; {LEGEND_OF_RESIZE}" if len(drafts) > 1 else "")
    lines = [
        "digraph plan {",
        f"  label={_label(*title, legend)};",
        "  rankdir=LR; node [shape=box, style=filled, fillcolor=white];",
    ]
    for pe, operators in sorted(draft.placed.items()):
        why = _why(reasons[pe])
        reason = wrap(why, LABEL_CHARS, max_lines=LABEL_LINES_MAX, placeholder=" …")
        lines += [
            f"  subgraph cluster_{pe} {{",
            f"    label={_label(_titled(pe, fates[pe]), *reason)}; tooltip={_label(why)};",
            f"    style=filled; fillcolor={COLOURS[fates[pe]]};",
            *(
                f"    o{index} [label={_label(draft.topology.operators[index].name)}];"
                for index in operators
            ),
            "  }",
        ]
    return "\n".join((*lines, *_arrows(draft, reasons), "}", ""))


def _titled(pe: int, fate: str) -> str:
    return f"PE {pe}: {fate}" if fate else f"PE {pe}"


def _arrows(draft: Draft, reasons: Mapping[int, Explanation]) -> Iterator[str]:
    """One arrow for each pair of connected operators; those between PEs are coloured."""
    apart = {(pe, other): why for pe, found in reasons.items() for other, why in found.apart}
    for source, target in dict.fromkeys((e.source, e.target) for e in draft.topology.edges):
        pes = draft.pe_of[source], draft.pe_of[target]
        style = " [color=blue]" if pes[0] != pes[1] else ""
        if why := apart.get(pes):
            style = f" [color=red, label={_label(why)}]"
        yield f"  o{source} -> o{target}{style};"


def _label(*lines: str) -> str:
    """A quoted label. Names are text of others; Graphviz reads entities (`&#27;`) in labels."""
    plain = (shown(line).replace("&", "&amp;") for line in lines)
    quoted = (line.replace("\\", "\\\\").replace('"', '\\"') for line in plain)
    return '"' + "\\n".join(quoted) + '"'


def draw_svg(graph: str, target: Path) -> bool:
    """Draw the graph as SVG; returns False if Graphviz is not installed.

    Raises Failure if Graphviz fails, or if the graph is too large for its time limit.
    """
    program = shutil.which("dot")
    if program is None:
        return False
    size = graph.count("\n  o") + graph.count("\n    o")
    if size > DRAWN_MAX:
        raise Failure(
            f"{target} is not drawn: {size} operators and arrows are too many to draw (more "
            f"than {DRAWN_MAX}). Plan smaller widths (--width), or look at --format table"
        )
    try:
        subprocess.run(  # noqa: S603 - Graphviz, from the PATH of the user
            [program, "-Tsvg", "-o", str(target)],
            input=graph.encode(),
            check=True,
            timeout=DRAWING_LIMIT_S,
        )
    except (OSError, subprocess.SubprocessError) as problem:
        raise Failure(f"{target} cannot be drawn: {problem}") from None
    return True
