"""From a fused topology to the meaning of each PE.

Works PE by PE and port by port: of a wide connection only the part of one PE is ever spelt out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from contracts.reasons import Reason
from services.fusion_backend.core import meaning, model
from services.fusion_backend.core.adl_operators import TRACE_LEVELS
from services.fusion_backend.core.annotations import describe_annotations
from services.fusion_backend.core.connecting import Arriving, Leaving, PeConnections
from services.fusion_backend.core.consistent import ConsistentRegions
from services.fusion_backend.core.crossing import describe_export, describe_imports
from services.fusion_backend.core.identity import Identities
from services.fusion_backend.core.records import PortKey
from services.fusion_backend.core.refusals import PlanRefused, shown
from services.fusion_backend.core.requesting import Threading
from services.fusion_backend.core.submission import SubmissionValues, unquoted
from services.fusion_backend.core.threads import PeThreads, choose_model, find_threads
from services.fusion_backend.core.topology import Operator, StreamExport, Topology

TRACING_DEFAULT = "error"


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What the job adds to every PE."""

    job_id: int
    job_name: str
    threading: Threading | None
    data_directory: str | None
    tracing: str | None


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
        self._catalogues: dict[frozenset[int], _Catalogue] = {}

    def describe(self, pe: int, operators: Iterable[int]) -> meaning.PeMeaning:
        """The meaning of one PE."""
        chosen = {index: self._topology.operators[index] for index in sorted(operators)}
        numbers = self._identities.ports
        connections = PeConnections(
            pe,
            chosen.values(),
            topology=self._topology,
            numbers=numbers,
            pe_of=self._pe_of,
        )
        ports = sorted((number, key) for key, number in numbers.of(pe))
        models, threads = self._threads(chosen, ports, connections)
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
            display=self._display(items),
            tracing=self._tracing(items),
            pools=self._pools(chosen.values()),
            tuple_types=self._tuple_types(items),
            operators=tuple(
                self._operator(operator, connections, threads, models[index])
                for index, operator in chosen.items()
            ),
            inputs=tuple(
                self._pe_input(number, key, connections)
                for number, key in ports
                if key.direction == "in"
            ),
            outputs=tuple(
                self._pe_output(number, key, connections, threads)
                for number, key in ports
                if key.direction == "out"
            ),
            definitions=catalogue.definitions,
            metrics=catalogue.metrics,
            toolkits=catalogue.toolkits,
            capabilities=catalogue.capabilities,
        )

    def _threads(
        self,
        chosen: Mapping[int, Operator],
        ports: Iterable[tuple[int, PortKey]],
        connections: PeConnections,
    ) -> tuple[dict[int, Threading | None], PeThreads]:
        models = {
            index: choose_model(operator, self._job.threading) for index, operator in chosen.items()
        }
        entered = {(key.operator, key.port) for _, key in ports if key.direction == "in"}
        return models, find_threads(chosen, models, connections.inside(), entered)

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

    def _display(self, items: Iterable[model.Primitive]) -> str:
        if self._values.display is not None:
            return self._values.display
        displays = {unquoted(self._values.constant(item.display)) for item in items if item.display}
        if len(displays) > 1:
            listed = ", ".join(sorted(map(shown, displays)))
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

    def _pools(self, operators: Iterable[Operator]) -> tuple[meaning.PoolMeaning, ...]:
        used = {operator.constraints.pool for operator in operators} - {None}
        pools = (self._topology.pools[index] for index in sorted(i for i in used if i is not None))
        return tuple(
            meaning.PoolMeaning(pool.index, pool.name, pool.size, pool.mode, pool.hosts, pool.tags)
            for pool in pools
        )

    def _tuple_types(self, items: Iterable[model.Primitive]) -> tuple[tuple[int, str], ...]:
        used: set[int] = set()
        for item in items:
            used.update(port.tuple_type for port in item.inputs)
            used.update(port.tuple_type for port in item.outputs)
        return tuple((index, self._application.tuple_types[index]) for index in sorted(used))

    def _operator(
        self,
        operator: Operator,
        connections: PeConnections,
        threads: PeThreads,
        threading: Threading | None,
    ) -> meaning.OperatorMeaning:
        item, own = operator.item, operator.constraints
        return meaning.OperatorMeaning(
            index=operator.index,
            name=operator.name,
            logical_index=item.index,
            logical_name=operator.logical_name,
            definition=item.definition,
            toolkit=self._application.definitions[item.definition].toolkit,
            class_name=item.class_name,
            wrapper=item.wrapper,
            uri=item.uri,
            single_threaded_on_inputs=threads.single_inputs[operator.index],
            single_threaded_on_outputs=threads.single_outputs[operator.index],
            restartable=own.restartable,
            relocatable=own.relocatable,
            host_isolation=own.host_isolation,
            host=own.host,
            pool=own.pool,
            pool_slot=own.pool_slot,
            host_colocations=own.host_colocations,
            host_exlocations=own.host_exlocations,
            checkpointing=item.checkpointing,
            constants=tuple(
                (constant.name, self._values.constant(constant)) for constant in item.constants
            ),
            inputs=tuple(
                _input(
                    port,
                    connections.arriving[operator.index, port.index],
                    threads.queues.get((operator.index, port.index)),
                )
                for port in item.inputs
            ),
            outputs=tuple(
                _output(port, connections.leaving[operator.index, port.index], stream)
                for port, stream in zip(item.outputs, operator.stream_names, strict=True)
            ),
            annotations=describe_annotations(operator, self._topology, self._consistent, threading),
            jvm_arguments=own.jvm_arguments,
            levels=tuple(
                (level.channel, level.local, level.channels, level.width, level.region)
                for level in operator.levels
            ),
        )

    def _pe_input(
        self, number: int, key: PortKey, connections: PeConnections
    ) -> meaning.PeInputMeaning:
        item = self._topology.operators[key.operator].item
        port = next(port for port in item.inputs if port.index == key.port)
        place = (key.operator, key.port)
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
            operator=key.operator,
            port=key.port,
        )

    def _pe_output(
        self, number: int, key: PortKey, connections: PeConnections, threads: PeThreads
    ) -> meaning.PeOutputMeaning:
        item = self._topology.operators[key.operator].item
        port = next(port for port in item.outputs if port.index == key.port)
        return meaning.PeOutputMeaning(
            id=number,
            encoding=port.encoding,
            transport=port.transport,
            single_threaded=threads.single_submission[key.operator],
            tuple_type=port.tuple_type,
            export=describe_export(self._exported.get(key)),
            static=connections.static_from(key),
            operator=key.operator,
            port=key.port,
            splitter=key.splitter,
            channel=key.channel if key.splitter >= 0 else -1,
        )


def _input(
    port: model.InputPort, arriving: Arriving, queue: meaning.ThreadedMeaning | None
) -> meaning.InputMeaning:
    return meaning.InputMeaning(
        index=port.index,
        name=port.name,
        is_control=port.is_control,
        is_mutable=port.is_mutable,
        tuple_type=port.tuple_type,
        inter=arriving.inter,
        intra=arriving.intra,
        threaded=queue,
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
