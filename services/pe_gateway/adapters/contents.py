"""Outlines of PEs from their AADLs, which are in immutable ConfigMaps: each is read once.

Facts of ConfigMaps have metadata only, so a document of all operators needs their contents. They
are read when somebody requests it, a few at a time; lxml is imported then, too.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from contracts import labels
from contracts.bundle_limits import BundleInvalid
from services.chassis.kube.port import Kube
from services.chassis.kube.resources import resource_of
from services.chassis.process.errors import NotFound, Rejected, TooLarge, Transient
from services.chassis.process.log_lines import log_of
from services.pe_gateway.core.answers import unavailable
from services.pe_gateway.core.snapshot import Pe

if TYPE_CHECKING:
    from services.pe_gateway.core.outlines import PeOutline

CONFIG_MAP: Final = "ConfigMap"
KEPT_MAX: Final = 5_000
READS_IN_FLIGHT_MAX: Final = 8


class Contents:
    """Reads AADLs, and keeps the outlines of the last ones."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._kept: OrderedDict[tuple[str, str, str], PeOutline] = OrderedDict()
        self._slots = asyncio.Semaphore(READS_IN_FLIGHT_MAX)
        self._one_at_a_time = asyncio.Lock()
        self._log = log_of("contents")

    async def outlines(self, pes: Iterable[Pe]) -> Mapping[str, PeOutline]:
        """The outline of each PE by its name; one without a readable AADL has none.

        Raises Refused (503) where the API server does not answer.
        """
        pes = list(pes)
        async with self._one_at_a_time:
            found = {pe.name: self._kept[_key(pe)] for pe in pes if _key(pe) in self._kept}
            missing: dict[tuple[str, str], list[tuple[Pe, str]]] = defaultdict(list)
            for pe in pes:
                if pe.name not in found:
                    name, key = _place(pe)
                    missing[pe.namespace, name].append((pe, key))
            reads = (self._read(*place, wanted) for place, wanted in missing.items())
            for outlines in await asyncio.gather(*reads):
                found |= outlines
        return found

    async def _read(
        self, namespace: str, name: str, wanted: Iterable[tuple[Pe, str]]
    ) -> Mapping[str, PeOutline]:
        async with self._slots:
            try:
                there = await self._kube.get(resource_of(CONFIG_MAP), namespace, name)
            except NotFound:
                return {}
            except (Rejected, Transient, TooLarge) as problem:
                raise unavailable(f"ConfigMap {name} cannot be read: {problem}") from problem
        data = there.get("data") or {}
        found = {pe: self._outline(pe, str(data.get(key) or "")) for pe, key in wanted}
        return {pe.name: outline for pe, outline in found.items() if outline is not None}

    def _outline(self, pe: Pe, text: str) -> PeOutline | None:
        from services.pe_gateway.core.outlines import outline_of

        try:
            outline = outline_of(text.encode())
        except BundleInvalid as problem:
            self._log.warning("aadl_unreadable", pe=pe.name, problem=str(problem))
            return None
        self._kept[_key(pe)] = outline
        self._kept.move_to_end(_key(pe))
        while len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)
        return outline


def _key(pe: Pe) -> tuple[str, str, str]:
    return pe.namespace, pe.name, pe.content_id


def _place(pe: Pe) -> tuple[str, str]:
    """The ConfigMap and the key of the AADL of a PE."""
    if pe.pack is not None:
        return pe.pack
    return labels.pe_config_map_name(pe.job, pe.id, pe.content_id), labels.AADL_KEY
