"""From a fused topology to the meaning of each PE.

Works PE by PE from indexes that are made once, so a plan costs one pass over the connections.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contracts.reasons import Reason
from services.fusion_backend.core import meaning, model
from services.fusion_backend.core.adl_operators import TRACE_LEVELS
from services.fusion_backend.core.annotations import describe_annotations
from services.fusion_backend.core.consistent import ConsistentRegions
from services.fusion_backend.core.crossing import describe_export, describe_imports
from services.fusion_backend.core.identity import Identities
from services.fusion_backend.core.ports import input_key, output_key
from services.fusion_backend.core.records import PortKey
from services.fusion_backend.core.refusals import PlanRefused, shown
from services.fusion_backend.core.submission import SubmissionValues, unquoted
from services.fusion_backend.core.threads import (
    PeThreads,
    ThreadingChoice,
    choose_model,
    find_threads,
)
from services.fusion_backend.core.topology import (
    Edge,
    Operator,
    Outlet,
    Splitter,
    StreamExport,
    Topology,
)

TRACING_DEFAULT = "error"


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What the job adds to every PE."""

    job_id: int
    job_name: str
    threading: ThreadingChoice | None
    data_directory: str | None
    tracing: str | None


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
        """Indexes the connections."""
        self._application = application
        self._topology = topology
        self._job = job
        self._values = values
        self._consistent = consistent
        self._identities = identities
        self._exported = exported
        self._pe_of = pe_of
        self._into: dict[tuple[int, int], list[Edge]] = {}
        self._leaving: dict[PortKey, list[Edge]] = {}
        for edge in topology.edges:
            self._into.setdefault((edge.target, edge.input), []).append(edge)
            if pe_of[edge.source] != pe_of[edge.target]:
                self._leaving.setdefault(output_key(edge), []).append(edge)
        self._ports: dict[int, list[tuple[int, PortKey]]] = {}
        for (pe, key), number in identities.ports.items():
            self._ports.setdefault(pe, []).append((number, key))

    def describe(self, pe: int, operators: Iterable[int]) -> meaning.PeMeaning:
        """The meaning of one PE."""
        chosen = {index: self._topology.operators[index] for index in sorted(operators)}
        ports = sorted(self._ports.get(pe, ()))
        models, threads = self._threads(pe, chosen, ports)
        items = [operator.item for operator in chosen.values()]
        used = self._definitions(items)
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
                self._operator(operator, threads, models[index])
                for index, operator in chosen.items()
            ),
            inputs=tuple(self._pe_input(n, key) for n, key in ports if key.direction == "in"),
            outputs=tuple(self._pe_output(n, k, threads) for n, k in ports if k.direction == "out"),
            definitions=tuple(map(_definition, used)),
            metrics=self._metrics(used),
            toolkits=self._toolkits(used),
            capabilities=tuple(sorted({each for item in used for each in item.capabilities})),
        )

    def _threads(
        self, pe: int, chosen: Mapping[int, Operator], ports: Iterable[tuple[int, PortKey]]
    ) -> tuple[dict[int, ThreadingChoice | None], PeThreads]:
        models = {
            index: choose_model(operator, self._job.threading) for index, operator in chosen.items()
        }
        entered = {(key.operator, key.port) for _, key in ports if key.direction == "in"}
        inside = [
            edge
            for index, operator in chosen.items()
            for port in operator.item.inputs
            for edge in self._into.get((index, port.index), ())
            if self._pe_of[edge.source] == pe
        ]
        return models, find_threads(chosen, models, inside, entered)

    def _definitions(self, items: Iterable[model.Primitive]) -> list[model.Definition]:
        indices = sorted({item.definition for item in items})
        return [self._application.definitions[index] for index in indices]

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
        self, operator: Operator, threads: PeThreads, threading: ThreadingChoice | None
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
            inputs=tuple(self._input(operator, port, threads) for port in item.inputs),
            outputs=tuple(
                self._output(operator, port, stream)
                for port, stream in zip(item.outputs, operator.stream_names, strict=True)
            ),
            annotations=describe_annotations(operator, self._values, self._consistent, threading),
            jvm_arguments=own.jvm_arguments,
            levels=tuple(
                (level.channel, level.local, level.channels, level.width, level.region)
                for level in operator.levels
            ),
        )

    def _input(
        self, operator: Operator, port: model.InputPort, threads: PeThreads
    ) -> meaning.InputMeaning:
        pe = self._pe_of[operator.index]
        inter: list[meaning.Connection] = []
        intra: list[meaning.Connection] = []
        for edge in self._into.get((operator.index, port.index), ()):
            source = self._pe_of[edge.source]
            end = (edge.source, edge.output, edge.splitter, edge.channel)
            if source == pe:
                intra.append((*end, -1))
            else:
                inter.append((*end, self._identities.ports[source, output_key(edge)]))
        return meaning.InputMeaning(
            index=port.index,
            name=port.name,
            is_control=port.is_control,
            is_mutable=port.is_mutable,
            tuple_type=port.tuple_type,
            inter=tuple(sorted(inter)),
            intra=tuple(sorted(intra)),
            threaded=threads.queues.get((operator.index, port.index)),
        )

    def _output(
        self, operator: Operator, port: model.OutputPort, stream: str
    ) -> meaning.OutputMeaning:
        pe = self._pe_of[operator.index]
        outlet = self._topology.outlets.get((operator.index, port.index), Outlet())
        inter, intra = self._ends(outlet.plain, pe)
        return meaning.OutputMeaning(
            index=port.index,
            name=port.name,
            is_mutable=port.is_mutable,
            tuple_type=port.tuple_type,
            stream=stream,
            logical_stream=port.stream_name,
            viewable=port.viewable,
            inter=inter,
            intra=intra,
            splitters=self._splitters(outlet.splitters, pe),
        )

    def _ends(
        self, edges: Iterable[Edge], pe: int
    ) -> tuple[tuple[meaning.Connection, ...], tuple[meaning.Connection, ...]]:
        inter: list[meaning.Connection] = []
        intra: list[meaning.Connection] = []
        for edge in edges:
            target = self._pe_of[edge.target]
            if target == pe:
                intra.append((edge.target, edge.input, -1))
            else:
                number = self._identities.ports[target, input_key(edge.target, edge.input)]
                inter.append((edge.target, edge.input, number))
        return tuple(sorted(inter)), tuple(sorted(intra))

    def _splitters(
        self, splitters: Iterable[Splitter], pe: int
    ) -> tuple[meaning.SplitterMeaning, ...]:
        return tuple(
            meaning.SplitterMeaning(
                index=splitter.id,
                kind=splitter.spec.kind,
                port=splitter.spec.port,
                region=splitter.region,
                drop_window_punctuation=splitter.drop_window_punctuation,
                attributes=splitter.spec.attributes,
                channels=tuple(
                    meaning.ChannelMeaning(
                        index,
                        *self._ends(channel.edges, pe),
                        self._splitters(channel.splitters, pe),
                    )
                    for index, channel in enumerate(splitter.channels)
                ),
            )
            for splitter in sorted(splitters, key=lambda each: each.id)
        )

    def _pe_input(self, number: int, key: PortKey) -> meaning.PeInputMeaning:
        item = self._topology.operators[key.operator].item
        port = next(port for port in item.inputs if port.index == key.port)
        pe = self._pe_of[key.operator]
        static: set[tuple[int, int]] = set()
        for edge in self._into.get((key.operator, key.port), ()):
            source = self._pe_of[edge.source]
            if source != pe:
                static.add((source, self._identities.ports[source, output_key(edge)]))
        return meaning.PeInputMeaning(
            id=number,
            encoding=port.encoding,
            transport=port.transport,
            tuple_type=port.tuple_type,
            imports=describe_imports(self._topology.imports.get((key.operator, key.port), [])),
            static=tuple(sorted(static)),
            operator=key.operator,
            port=key.port,
        )

    def _pe_output(self, number: int, key: PortKey, threads: PeThreads) -> meaning.PeOutputMeaning:
        item = self._topology.operators[key.operator].item
        port = next(port for port in item.outputs if port.index == key.port)
        static: set[tuple[int, int, int, int]] = set()
        for edge in self._leaving.get(key, ()):
            target = self._pe_of[edge.target]
            entry = self._identities.ports[target, input_key(edge.target, edge.input)]
            static.add((target, entry, edge.target, edge.input))
        return meaning.PeOutputMeaning(
            id=number,
            encoding=port.encoding,
            transport=port.transport,
            single_threaded=threads.single_submission[key.operator],
            tuple_type=port.tuple_type,
            export=describe_export(self._exported.get(key)),
            static=tuple(sorted(static)),
            operator=key.operator,
            port=key.port,
            splitter=key.splitter,
            channel=key.channel if key.splitter >= 0 else -1,
        )


def _definition(item: model.Definition) -> meaning.DefinitionMeaning:
    runtime = "SPL_CPlusPlus" if item.runtime == "SPL_CPlusPlus" else "SPL_Java"
    return meaning.DefinitionMeaning(item.index, item.kind, runtime, item.metrics)
