"""The meaning of a PE: everything its AADL says, as one frozen value.

A PE restarts when its meaning changes, and only then: the digest of the meaning is kept in the plan
record, and a PE whose meaning is as before keeps its text, whatever a newer renderer would write.
Therefore nothing here is positional, nothing depends on what is not in the PE or next to it, and a
new field must be left out of the digest while it has its default (else an upgrade restarts
everything; a test with a fixed digest guards this).

Filled by describing.py, rendered by aadl.py.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

import orjson

from planner.application import model

Connection = tuple[int, ...]
"""Towards an operator: (operator, port, pe port or -1). From one: (operator, port, splitter,
channel, pe port or -1)."""


AnnotationValue = model.AnnotationValue
Value = TypeVar("Value")


@dataclass_transform(frozen_default=True)
def value(cls: type[Value]) -> type[Value]:
    """A value that is frozen for the type checker only.

    A PE has a hundred fields. Freezing calls a function for each when it is made, and slots one
    when it is written as JSON, which took a tenth of the time of planning.
    """
    return dataclass(cls)


@value
class PoolMeaning:
    """A host pool that operators of the PE refer to."""

    index: int
    name: str
    size: int | None
    mode: str
    hosts: tuple[str, ...]
    tags: tuple[str, ...]


@value
class ThreadedMeaning:
    """The queue before an input port; injected ones the planner put there."""

    congestion_policy: str
    queue_size: str | None
    single_threaded_on_input: bool
    injected: bool


@value
class InputMeaning:
    """An input port of an operator; connections come from operators."""

    index: int
    name: str
    is_control: bool | None
    is_mutable: bool
    tuple_type: int
    inter: tuple[Connection, ...]
    intra: tuple[Connection, ...]
    threaded: ThreadedMeaning | None


@value
class ChannelMeaning:
    """One channel of a splitter."""

    index: int
    inter: tuple[Connection, ...]
    intra: tuple[Connection, ...]
    splitters: tuple[SplitterMeaning, ...]


@value
class SplitterMeaning:
    """A splitter behind an output port."""

    index: int
    kind: str
    port: int
    region: int
    drop_window_punctuation: bool
    attributes: tuple[str, ...]
    channels: tuple[ChannelMeaning, ...]


@value
class OutputMeaning:
    """An output port of an operator; connections lead to operators."""

    index: int
    name: str
    is_mutable: bool
    tuple_type: int
    stream: str
    logical_stream: str
    viewable: bool
    inter: tuple[Connection, ...]
    intra: tuple[Connection, ...]
    splitters: tuple[SplitterMeaning, ...]


@value
class AnnotationMeaning:
    """An annotation that the PE runtime reads."""

    tag: str
    entries: tuple[tuple[str, AnnotationValue], ...]


@value
class OperatorMeaning:
    """An operator of the PE. `levels`: global and local channel, global and local width, region."""

    index: int
    name: str
    logical_index: int
    logical_name: str
    definition: int
    toolkit: int
    class_name: str
    wrapper: str
    uri: str
    single_threaded_on_inputs: bool
    single_threaded_on_outputs: bool
    restartable: bool
    relocatable: bool
    host_isolation: bool
    host: str | None
    pool: int | None
    pool_slot: int | None
    host_colocations: tuple[str, ...]
    host_exlocations: tuple[str, ...]
    checkpointing: tuple[str, str | None] | None
    constants: tuple[tuple[str, str], ...]
    inputs: tuple[InputMeaning, ...]
    outputs: tuple[OutputMeaning, ...]
    annotations: tuple[AnnotationMeaning, ...]
    jvm_arguments: tuple[str, ...] | None
    levels: tuple[tuple[int, int, int, int, int], ...]


@value
class ImportMeaning:
    """What a PE input port imports."""

    filter: str | None
    by_name: tuple[tuple[str, str, str, str], ...]
    by_properties: tuple[str, str, str] | None


@value
class ExportMeaning:
    """What a PE output port exports."""

    operator: str
    name: str | None
    allow_filter: bool
    congestion_policy: str
    properties: tuple[tuple[str, str, tuple[str, ...]], ...] | None


@value
class PeInputMeaning:
    """A PE input port. `static`: (PE, output port) pairs."""

    id: int
    encoding: str
    transport: str
    tuple_type: int
    imports: ImportMeaning | None
    static: tuple[tuple[int, int], ...]
    operator: int
    port: int


@value
class PeOutputMeaning:
    """A PE output port. `static`: (PE, input port, operator, operator port)."""

    id: int
    encoding: str
    transport: str
    single_threaded: bool
    tuple_type: int
    export: ExportMeaning | None
    static: tuple[tuple[int, int, int, int], ...]
    operator: int
    port: int
    splitter: int
    channel: int


@value
class DefinitionMeaning:
    """A kind of operator."""

    index: int
    kind: str
    runtime: str
    metrics: tuple[int, ...]


@value
class PeMeaning:
    """Everything the AADL of one PE says."""

    id: int
    job_id: int
    job_name: str
    application_name: str
    application_scope: str
    application_directory: str
    output_directory: str
    data_directory: str | None
    checkpoint_directory: str | None
    build_id: str
    bundle: str
    version: str
    avoid_runtime_yield: str
    optimized: bool
    restartable: bool
    relocatable: bool
    display: str
    tracing: str
    pools: tuple[PoolMeaning, ...]
    tuple_types: tuple[tuple[int, str], ...]
    operators: tuple[OperatorMeaning, ...]
    inputs: tuple[PeInputMeaning, ...]
    outputs: tuple[PeOutputMeaning, ...]
    definitions: tuple[DefinitionMeaning, ...]
    metrics: tuple[tuple[int, str, str, str], ...]
    toolkits: tuple[tuple[int, str], ...]
    capabilities: tuple[str, ...]

    @property
    def logical_index(self) -> int:
        """The place of the PE in an AADL: its id, which stays when others come and go."""
        return self.id

    def digest(self) -> str:
        """SHA-256 of the value, in hex: equal meanings, equal digests, in every release."""
        return hashlib.sha256(orjson.dumps(self, option=orjson.OPT_SORT_KEYS)).hexdigest()
