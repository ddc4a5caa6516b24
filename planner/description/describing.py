"""From a fused topology to the meaning of each PE.

Works PE by PE and port by port: of a wide connection only the part of one PE is ever spelt out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from contracts.reasons import Reason
from planner.application import model
from planner.application.adl_operators import TRACE_LEVELS
from planner.application.submission import SubmissionValues, unquoted
from planner.description import meaning
from planner.description.annotations import describe_annotations
from planner.description.connecting import Arriving, Leaving, PeConnections
from planner.description.crossing import describe_export, describe_imports
from planner.description.threads import OperatorThreads, find_threads
from planner.graph.consistent import ConsistentRegions
from planner.graph.threading_models import Threading, choose_model
from planner.graph.topology import Operator, Port, StreamExport, Topology
from planner.numbering.identity import Identities
from planner.numbering.port_numbers import Way
from planner.numbering.records import PortKey
from planner.refusals import PlanRefused, shown

TRACING_DEFAULT = "error"
AnyPort = TypeVar("AnyPort", model.InputPort, model.OutputPort)


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What the job adds to every PE."""

    job_id: int
    job_name: str
    threading: Threading | None
    data_directory: str | None
    tracing: str | None


class _Logical(NamedTuple):
    """What the replicas of a logical operator have in common."""

    toolkit: int
    constants: tuple[tuple[str, str], ...]
    display: str | None
    threading: Threading | None
    tuple_types: tuple[int, ...]


class _Catalogue(NamedTuple):
    """What a PE lists because of the kinds of its operators."""

    definitions: tuple[meaning.DefinitionMeaning, ...]
    metrics: tuple[tuple[int, str, str, str], ...]
    toolkits: tuple[tuple[int, str], ...]
    capabilities: tuple[str, ...]


class Describer:
    """Describes the PEs of one plan."""

    def __init__(
        self,
        application: model.Application,
        topology: Topology,
        *,
        job: JobFacts,
        values: SubmissionValues,
        consistent: ConsistentRegions,
        identities: Identities,
        exported: Mapping[PortKey, StreamExport],
        pe_of: Mapping[int, int],
    ) -> None:
        """Keeps what it reads from."""
        self._application = application
        self._topology = topology
        self._job = job
        self._values = values
        self._consistent = consistent
        self._identities = identities
        self._exported = exported
        self._pe_of = pe_of
        self._logical: dict[int, _Logical] = {}
        self._catalogues: dict[frozenset[int], _Catalogue] = {}
        self._listed_types: dict[frozenset[int], tuple[tuple[int, str], ...]] = {}
        self._listed_pools: dict[frozenset[int | None], tuple[meaning.PoolMeaning, ...]] = {}

    def describe(self, pe: int, operators: Iterable[int]) -> meaning.PeMeaning:
        """The meaning of one PE."""
        chosen = {index: self._topology.operators[index] for index in sorted(operators)}
        numbers = self._identities.ports
        entered, left = numbers.inputs_of(pe), numbers.outputs_of(pe)
        connections = PeConnections(
            pe, chosen.values(), topology=self._topology, numbers=numbers, pe_of=self._pe_of
        )
        logical = {index: self._logical_of(operator) for index, operator in chosen.items()}
        threads = find_threads(
            chosen,
            {index: each.threading for index, each in logical.items()},
            connections.inside(),
            {place for _, place in entered},
        )
        downstream = self._downstream(connections)
        items = [operator.item for operator in chosen.values()]
        catalogue = self._catalogue(frozenset([item.definition for item in items]))
        application = self._application
        return meaning.PeMeaning(
            id=pe,
            job_id=self._job.job_id,
            job_name=self._job.job_name,
            application_name=application.name,
            application_scope=application.scope,
            application_directory=application.application_directory,
            output_directory=application.output_directory,
            data_directory=self._job.data_directory or application.data_directory,
            checkpoint_directory=application.checkpoint_directory,
            build_id=application.build_id,
            bundle=application.bundle,
            version=application.product_version.replace(".", ""),
            avoid_runtime_yield=application.avoid_runtime_yield,
            optimized=all(item.optimized for item in items),
            restartable=all(item.constraints.restartable for item in items),
            relocatable=all(item.constraints.relocatable for item in items),
            display=self._display(chosen, logical),
            tracing=self._tracing(items),
            pools=self._pools(frozenset([each.constraints.pool for each in chosen.values()])),
            tuple_types=self._tuple_types(
                frozenset([kind for each in logical.values() for kind in each.tuple_types])
            ),
            operators=tuple(
                [
                    self._operator(
                        operator,
                        connections,
                        threads[index],
                        logical[index],
                        downstream.get(index, ()),
                    )
                    for index, operator in chosen.items()
                ]
            ),
            inputs=tuple([self._pe_input(*each, connections) for each in entered]),
            outputs=tuple([self._pe_output(*each, connections, threads) for each in left]),
            definitions=catalogue.definitions,
            metrics=catalogue.metrics,
            toolkits=catalogue.toolkits,
            capabilities=catalogue.capabilities,
        )

    def _logical_of(self, operator: Operator) -> _Logical:
        item = operator.item
        found = self._logical.get(item.index)
        if found is None:
            found = self._logical[item.index] = _Logical(
                toolkit=self._application.definitions[item.definition].toolkit,
                constants=tuple(
                    [(each.name, self._values.constant(each)) for each in item.constants]
                ),
                display=unquoted(self._values.constant(item.display)) if item.display else None,
                threading=choose_model(operator, self._job.threading),
                tuple_types=(
                    *[port.tuple_type for port in item.inputs],
                    *[port.tuple_type for port in item.outputs],
                ),
            )
        return found

    def _catalogue(self, kinds: frozenset[int]) -> _Catalogue:
        """The same for all PEs of the same kinds of operators."""
        found = self._catalogues.get(kinds)
        if found is None:
            used = [self._application.definitions[index] for index in sorted(kinds)]
            found = self._catalogues[kinds] = _Catalogue(
                definitions=tuple(map(_definition, used)),
                metrics=self._metrics(used),
                toolkits=self._toolkits(used),
                capabilities=tuple(sorted({each for item in used for each in item.capabilities})),
            )
        return found

    def _toolkits(self, used: Iterable[model.Definition]) -> tuple[tuple[int, str], ...]:
        indices = sorted({item.toolkit for item in used})
        return tuple((index, self._application.toolkits[index]) for index in indices)

    def _metrics(self, used: Iterable[model.Definition]) -> tuple[tuple[int, str, str, str], ...]:
        indices = sorted({index for item in used for index in item.metrics})
        metrics = (self._application.metrics[index] for index in indices)
        return tuple((each.index, each.name, each.kind, each.description) for each in metrics)

    def _display(self, chosen: Mapping[int, Operator], logical: Mapping[int, _Logical]) -> str:
        if self._values.display is not None:
            return self._values.display
        displays: dict[str, str] = {}
        for index, operator in chosen.items():
            display = logical[index].display
            if display is not None:
                displays.setdefault(display, operator.name)
        if len(displays) > 1:
            sorted_displays = sorted(displays.items())
            listed = ", ".join(
                f"{shown(display)} of {shown(name)!r}" for display, name in sorted_displays
            )
            raise PlanRefused(
                Reason.CONSTRAINTS_CONTRADICT,
                field="display",
                value=listed,
                message=f"operators of one PE have different displays (CDISR1378E): {listed}",
            )
        return next(iter(displays), "")

    def _tracing(self, items: Iterable[model.Primitive]) -> str:
        if self._job.tracing is not None:
            return self._job.tracing
        levels = [item.tracing for item in items if item.tracing is not None]
        return max(levels, key=TRACE_LEVELS.index, default=TRACING_DEFAULT)

    def _pools(self, used: frozenset[int | None]) -> tuple[meaning.PoolMeaning, ...]:
        found = self._listed_pools.get(used)
        if found is None:
            pools = [self._topology.pools[index] for index in used if index is not None]
            found = self._listed_pools[used] = tuple(
                meaning.PoolMeaning(
                    each.index, each.name, each.size, each.mode, each.hosts, each.tags
                )
                for each in sorted(pools, key=lambda pool: pool.index)
            )
        return found

    def _tuple_types(self, used: frozenset[int]) -> tuple[tuple[int, str], ...]:
        found = self._listed_types.get(used)
        if found is None:
            found = tuple((index, self._application.tuple_types[index]) for index in sorted(used))
            self._listed_types[used] = found
        return found

    def _operator(
        self,
        operator: Operator,
        connections: PeConnections,
        threads: OperatorThreads,
        logical: _Logical,
        downstream: tuple[tuple[str, str], ...],
    ) -> meaning.OperatorMeaning:
        item, own, index = operator.item, operator.constraints, operator.index
        return meaning.OperatorMeaning(
            index=index,
            name=operator.name,
            logical_index=item.index,
            logical_name=operator.logical_name,
            definition=item.definition,
            toolkit=logical.toolkit,
            class_name=item.class_name,
            wrapper=item.wrapper,
            uri=item.uri,
            single_threaded_on_inputs=threads.single_inputs,
            single_threaded_on_outputs=threads.single_outputs,
            restartable=own.restartable,
            relocatable=own.relocatable,
            host_isolation=own.host_isolation,
            host=own.host,
            pool=own.pool,
            pool_slot=own.pool_slot,
            host_colocations=own.host_colocations,
            host_exlocations=own.host_exlocations,
            checkpointing=item.checkpointing,
            constants=(*logical.constants, *downstream),
            inputs=tuple(
                [
                    _input(port, connections.arriving[index, port.index], threads.queues)
                    for port in item.inputs
                ]
            ),
            outputs=tuple(
                [
                    _output(port, connections.leaving[index, port.index], stream)
                    for port, stream in zip(item.outputs, operator.stream_names, strict=True)
                ]
            ),
            annotations=describe_annotations(
                operator, self._topology, self._consistent, logical.threading
            ),
            jvm_arguments=own.jvm_arguments,
            levels=tuple(
                [
                    (level.channel, level.local, level.channels, level.width, level.region)
                    for level in operator.levels
                ]
            ),
        )

    def _downstream(self, connections: PeConnections) -> dict[int, tuple[tuple[str, str], ...]]:
        """A constant of each operator that gives tuples to other PEs, if our runtime runs it.

        Where such a PE never begins, what waits for it goes to those who have its channels next.
        """
        if not self._application.is_python:
            return {}
        return {
            operator: ((model.DOWNSTREAM, self._places(ends)),)
            for operator, ends in connections.downstream().items()
        }

    def _places(self, operators: Iterable[int]) -> str:
        found: dict[str, dict[str, int]] = {}
        for each in (self._topology.operators[index] for index in operators):
            channels = ",".join([str(level.local) for level in each.levels])
            found.setdefault(each.logical_name, {})[channels] = each.index
        return json.dumps(found, sort_keys=True, separators=(",", ":"))

    def _pe_input(
        self, number: int, place: Port, connections: PeConnections
    ) -> meaning.PeInputMeaning:
        operator, index = place
        port = _port(self._topology.operators[operator].item.inputs, index)
        return meaning.PeInputMeaning(
            id=number,
            encoding=port.encoding,
            transport=port.transport,
            tuple_type=port.tuple_type,
            imports=describe_imports(
                self._topology.imports.get(place, []),
                self._application.tuple_types[port.tuple_type],
            ),
            static=connections.static_into(place),
            operator=operator,
            port=index,
        )

    def _pe_output(
        self,
        number: int,
        way: Way,
        channel: int,
        connections: PeConnections,
        threads: Mapping[int, OperatorThreads],
    ) -> meaning.PeOutputMeaning:
        operator, index, splitter = way
        port = _port(self._topology.operators[operator].item.outputs, index)
        export = self._exported.get(PortKey("out", *way, channel)) if self._exported else None
        return meaning.PeOutputMeaning(
            id=number,
            encoding=port.encoding,
            transport=port.transport,
            single_threaded=threads[operator].single_submission,
            tuple_type=port.tuple_type,
            export=describe_export(export),
            static=connections.static_from(way, channel),
            operator=operator,
            port=index,
            splitter=splitter,
            channel=channel if splitter >= 0 else -1,
        )


def _port(ports: Sequence[AnyPort], index: int) -> AnyPort:
    """The port of that index, which mostly is its place."""
    if index < len(ports) and ports[index].index == index:
        return ports[index]
    return next(port for port in ports if port.index == index)


def _input(
    port: model.InputPort, arriving: Arriving, queues: Mapping[int, meaning.ThreadedMeaning]
) -> meaning.InputMeaning:
    return meaning.InputMeaning(
        index=port.index,
        name=port.name,
        is_control=port.is_control,
        is_mutable=port.is_mutable,
        tuple_type=port.tuple_type,
        inter=arriving.inter,
        intra=arriving.intra,
        threaded=queues.get(port.index),
    )


def _output(port: model.OutputPort, leaving: Leaving, stream: str) -> meaning.OutputMeaning:
    return meaning.OutputMeaning(
        index=port.index,
        name=port.name,
        is_mutable=port.is_mutable,
        tuple_type=port.tuple_type,
        stream=stream,
        logical_stream=port.stream_name,
        viewable=port.viewable,
        inter=leaving.inter,
        intra=leaving.intra,
        splitters=leaving.splitters,
    )


def _definition(item: model.Definition) -> meaning.DefinitionMeaning:
    runtime = "SPL_CPlusPlus" if item.runtime == "SPL_CPlusPlus" else "SPL_Java"
    return meaning.DefinitionMeaning(item.index, item.kind, runtime, item.metrics)
