"""Reads the spec of a Placement as a job; an invalid spec raises SpecInvalid, with the field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from contracts.id_runs import ids_of
from contracts.resources.host_pool import HostPoolDeclaration, MembershipMode
from contracts.resources.placement import (
    PES_MAX,
    NodeSelectorRequirement,
    PeClass,
    PlacementSpec,
)
from contracts.scheduling.node_affinity import NodeSelectorTerm
from contracts.scheduling.requests import amounts_of
from contracts.scheduling.selectors import Requirement
from contracts.scheduling.taints import Toleration
from contracts.showing import shown
from placement.job import Job, Pe, Pool
from services.hostpool_manager.core.snapshot import Ref

VALUE_CHARS_MAX: Final = 80


class SpecInvalid(ValueError):
    """A field has an invalid value; the message names both."""


class Specs:
    """The specs of Placements as jobs; one whose text stays as it was is not read again."""

    def __init__(self) -> None:
        self._last: dict[Ref, tuple[str, tuple[int, Job]]] = {}

    def job_of(self, ref: Ref, spec: Mapping[str, Any]) -> tuple[int, Job]:
        """The plan generation and the job of a spec; raises SpecInvalid."""
        text = json.dumps(spec)
        last = self._last.get(ref)
        if last is None or last[0] != text:
            last = self._last[ref] = (text, job_of(ref, spec))
        return last[1]

    def forget(self, ref: Ref) -> None:
        """Drop what was read of a Placement that is gone."""
        self._last.pop(ref, None)


def job_of(ref: Ref, spec: Mapping[str, Any]) -> tuple[int, Job]:
    """The plan generation and the job of a spec; raises SpecInvalid."""
    try:
        read = PlacementSpec.model_validate(spec)
    except ValidationError as problem:
        raise SpecInvalid(_explained(problem)) from problem
    pools = tuple(_pools(read.pools))
    indices = {pool.index for pool in pools}
    pes = tuple(_pes(read.classes, indices))
    return read.generation, Job(
        name="/".join(ref),
        pes=pes,
        pools=pools,
        topology_key=read.topology_key,
        is_required=read.required,
    )


def _explained(problem: ValidationError) -> str:
    first = problem.errors()[0]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return f"spec{where} is {_shown(first.get('input'))}: {first['msg']}"


def _shown(value: object) -> str:
    return shown(repr(value) if isinstance(value, str) else value, VALUE_CHARS_MAX)


def _pools(declared: list[HostPoolDeclaration]) -> Iterator[Pool]:
    seen: set[int] = set()
    for at, each in enumerate(declared):
        index = at if each.index is None else each.index
        if index in seen:
            raise SpecInvalid(f"spec.pools[{at}].index is {index}, as that of another pool")
        seen.add(index)
        yield Pool(
            index=index,
            name=each.name,
            is_exclusive=each.membership_mode is MembershipMode.EXCLUSIVE,
            size=each.size,
            tags=tuple(dict.fromkeys(each.tags)),
            hosts=tuple(each.hosts),
        )


def _pes(classes: list[PeClass], pools: set[int]) -> Iterator[Pe]:
    seen: set[int] = set()
    for at, each in enumerate(classes):
        where = f"spec.classes[{at}]"
        try:
            ids = ids_of(each.pes)
        except ValueError as problem:
            raise SpecInvalid(f"{where}.pes is {_shown(each.pes)}: {problem}") from problem
        twice = next((pe for pe in ids if pe in seen), None)
        if twice is not None or len(set(ids)) < len(ids):
            raise SpecInvalid(f"{where}.pes is {_shown(each.pes)}: a PE occurs twice in the spec")
        seen.update(ids)
        if len(seen) > PES_MAX:
            raise SpecInvalid(f"{where}.pes is {_shown(each.pes)}: more than {PES_MAX} PEs")
        template = _pe(each, where, pools)
        yield from (replace(template, id=pe) for pe in ids)


def _pe(each: PeClass, where: str, pools: set[int]) -> Pe:
    """A PE of a class, with id 0."""
    location = each.host_pool_location
    if location is not None and location.pool_index not in pools:
        raise SpecInvalid(
            f"{where}.hostPoolLocation.poolIndex is {location.pool_index}: there is no such pool"
        )
    return Pe(
        id=0,
        requests=amounts_of(each.requests),
        host=each.host or "",
        pool=None if location is None else location.pool_index,
        in_pool_index=None if location is None else location.inpool_index,
        colocations=frozenset(each.co_locations),
        exlocations=frozenset(each.ex_locations),
        is_isolated=each.isolation,
        tolerations=tuple(
            Toleration(t.key or "", t.operator or "Equal", t.value or "", t.effect or "")
            for t in each.tolerations
        ),
        node_selector=each.node_selector,
        node_selector_terms=tuple(
            NodeSelectorTerm(_expressions(t.match_expressions), _expressions(t.match_fields))
            for t in each.node_selector_terms
        ),
    )


def _expressions(declared: Iterable[NodeSelectorRequirement]) -> tuple[Requirement, ...]:
    return tuple(Requirement(e.key, e.operator, tuple(e.values or ())) for e in declared)
