"""Streams that cross the border of the job: what a PE port imports or exports."""

from __future__ import annotations

from contracts.reasons import Reason
from services.fusion_backend.core import meaning
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.topology import StreamExport, StreamImport


def describe_imports(found: list[StreamImport]) -> meaning.ImportMeaning | None:
    """What a PE input port imports, or None. The last filter wins: a port has one."""
    if not found:
        return None
    filters = [each.item.filter for each in found if each.item.filter is not None]
    return meaning.ImportMeaning(
        filter=filters[-1] if filters else None,
        by_name=tuple(
            (each.application, each.operator, each.stream, each.item.scope)
            for each in found
            if each.item.stream is not None
        ),
        by_properties=_subscription([e for e in found if e.item.subscription is not None]),
    )


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
