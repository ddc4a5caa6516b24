"""Streams that cross the border of the job: what a PE port imports or exports.

An Import beside a parallel region that splits its input is one subscription a channel, whose filter
takes the share of the channel: by a hash of the keys, or of all that can be hashed where tuples are
dealt out in turn, since a filter cannot count. So every tuple goes to one channel. An import with a
filter gets no stream whose export allows none.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

from contracts.reasons import Reason
from planner.description import meaning
from planner.graph.topology import Share, StreamExport, StreamImport, Topology
from planner.refusals import PlanRefused, shown

NAMED_MAX: Final = 5
"""How many operators a warning names."""
_ATTRIBUTE = re.compile(r'<attribute name="([^"]*)" type="([^"]*)"/>')
_HASHED = re.compile(r"(?:boolean|u?int(?:8|16|32|64)|float(?:32|64)|[ru]string(?:\[\d+\])?)")


def describe_imports(found: list[StreamImport], tuple_type: str) -> meaning.ImportMeaning | None:
    """What a PE input port imports, or None. The last filter wins: a port has one.

    `tuple_type`: the port's, as XML.
    """
    if not found:
        return None
    filters = [each.item.filter for each in found if each.item.filter is not None]
    return meaning.ImportMeaning(
        filter=_filter(filters[-1] if filters else None, found, tuple_type),
        by_name=tuple(
            (each.application, each.operator, each.stream, each.item.scope)
            for each in found
            if each.item.stream is not None
        ),
        by_properties=_subscription([e for e in found if e.item.subscription is not None]),
    )


def _filter(declared: str | None, found: list[StreamImport], tuple_type: str) -> str | None:
    shares = found[0].shares
    other = next((each for each in found if each.shares != shares), None)
    if other is not None:
        raise PlanRefused(
            Reason.NOT_SUPPORTED_YET,
            field="ADL import operator",
            value=other.operator,
            message=(
                f"the import operators {found[0].operator} and {other.operator} feed one port, and "
                "only one of them through a parallel region that splits, which is not supported yet"
            ),
        )
    texts = [_share(found[0].operator, share, tuple_type) for share in shares]
    if declared is not None:
        texts.insert(0, declared)
    return " && ".join(f"({text})" for text in texts) if len(texts) > 1 else next(iter(texts), None)


def _share(operator: str, share: Share, tuple_type: str) -> str:
    """The filter that gives each tuple to one channel of a splitter."""
    keys = share.keys or tuple(
        html.unescape(name)
        for name, kind in _ATTRIBUTE.findall(tuple_type)
        if _HASHED.fullmatch(kind)
    )
    if not keys:
        raise PlanRefused(
            Reason.NOT_SUPPORTED_YET,
            field="ADL import operator",
            value=operator,
            message=(
                f"the import operator {operator} feeds a parallel region, and no attribute of its "
                "tuples can be hashed to tell which channel takes them; put an operator between "
                "them or move it into the region"
            ),
        )
    hashed = " + ".join(f"hash({key})" for key in keys)
    return f"({hashed}) % {share.channels} == {share.channel}"


def _subscription(found: list[StreamImport]) -> tuple[str, str, str] | None:
    """A port holds one subscription: several become one that any of them satisfies."""
    if not found:
        return None
    if len({each.item.scope for each in found}) > 1:
        raise PlanRefused(
            Reason.NOT_SUPPORTED_YET,
            field="applicationScope",
            value=found[1].operator,
            message=(
                f"the import operators {found[0].operator} and {found[1].operator} subscribe for "
                "one port in different application scopes, which is not supported yet"
            ),
        )
    texts = dict.fromkeys(each.subscription for each in found)
    joined = " || ".join(f"({text})" for text in texts) if len(texts) > 1 else next(iter(texts))
    return joined, found[0].operator, found[0].item.scope


def describe_export(found: StreamExport | None) -> meaning.ExportMeaning | None:
    """What a PE output port exports, or None."""
    if found is None:
        return None
    return meaning.ExportMeaning(
        operator=found.operator,
        name=found.stream,
        allow_filter=found.allow_filter,
        congestion_policy=found.congestion_policy,
        properties=None
        if found.properties is None
        else tuple((each.name, each.type, each.values) for each in found.properties),
    )


def crossing_warning(topology: Topology) -> str:
    """The warning that imports and exports are not connected yet; empty for a job without any."""
    imports = _named(one.operator for each in topology.imports.values() for one in each)
    exports = _named(one.operator for each in topology.exports.values() for one in each)
    parts = [f"no tuple comes from import {imports}"] if imports else []
    parts += [f"nobody gets what export {exports} offers"] if exports else []
    mark, what = Reason.STREAMS_NOT_CONNECTED.value, "streams between jobs are not connected yet"
    return f"{mark}: {what}, so {' and '.join(parts)}" if parts else ""


def _named(operators: Iterable[str]) -> str:
    names = [shown(each) for each in dict.fromkeys(operators)]
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"{', '.join(names[:NAMED_MAX])}{more}"
