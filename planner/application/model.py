"""The logical model: an application as its ADL describes it, checked and immutable.

One instance may be kept for a bundle digest and planned many times. Regions are not expanded here
(expansion.py), values of the submission are not resolved (submission.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Side = Literal["input", "output"]
SplitterKind = Literal["RoundRobin", "Hash", "Broadcast"]
AnnotationValue = str | tuple[str, tuple[Any, ...]]
"""Text, or ("list", values), or ("tuple", (key, value) pairs)."""


@dataclass(frozen=True, slots=True)
class PortRef:
    """One end of a connection: operator index, side and port index."""

    operator: int
    side: Side
    port: int


@dataclass(frozen=True, slots=True)
class ThreadedPort:
    """A queue with a thread of its own before an input port, as the user wrote it."""

    congestion_policy: str
    queue_size: str | None


@dataclass(frozen=True, slots=True)
class InputPort:
    """An input port of a primitive operator (or of an Export)."""

    index: int
    name: str
    encoding: str
    transport: str
    tuple_type: int
    is_mutable: bool
    is_control: bool | None
    connections: tuple[PortRef, ...]
    threaded: ThreadedPort | None


@dataclass(frozen=True, slots=True)
class OutputPort:
    """An output port of a primitive operator (or of an Import)."""

    index: int
    name: str
    encoding: str
    transport: str
    tuple_type: int
    is_mutable: bool
    stream_name: str
    viewable: bool
    connections: tuple[PortRef, ...]


@dataclass(frozen=True, slots=True)
class CompositePort:
    """A port of a composite: what comes in from one side and goes out at the other."""

    index: int
    incoming: tuple[PortRef, ...]
    outgoing: tuple[PortRef, ...]


@dataclass(frozen=True, slots=True)
class AnnotationEntry:
    """One `key = value` of an annotation; `submission_value` replaces the text."""

    key: str
    type: str
    text: str
    submission_value: int | None


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotation of an operator or a composite."""

    tag: str
    entries: tuple[AnnotationEntry, ...]

    def get(self, key: str) -> str | None:
        """The text of the first entry of that key."""
        return next((entry.text for entry in self.entries if entry.key == key), None)


@dataclass(frozen=True, slots=True)
class StructuredAnnotation:
    """An annotation that the compiler wrote with lists and tuples as values."""

    tag: str
    entries: tuple[tuple[str, AnnotationValue], ...]


@dataclass(frozen=True, slots=True)
class RuntimeConstant:
    """A parameter value of an operator; a submission-time value replaces it."""

    name: str
    value: str
    submission_value: int | None


@dataclass(frozen=True, slots=True)
class Constraints:
    """Where an operator may run. Ids may hold intrinsics until the topology replaces them."""

    host: str | None = None
    pool: int | None = None
    pool_slot: int | None = None
    host_isolation: bool = False
    host_colocations: tuple[str, ...] = ()
    host_exlocations: tuple[str, ...] = ()
    isolation: bool = False
    colocations: tuple[str, ...] = ()
    exlocations: tuple[str, ...] = ()
    restartable: bool = True
    relocatable: bool = True
    jvm_arguments: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Primitive:
    """An operator that runs. `name` is the dotted path from the main composite."""

    index: int
    name: str
    own_name: str
    definition: int
    optimized: bool
    single_threaded_on_outputs: bool
    inputs: tuple[InputPort, ...]
    outputs: tuple[OutputPort, ...]
    constraints: Constraints
    checkpointing: tuple[str, str | None] | None
    constants: tuple[RuntimeConstant, ...]
    display: RuntimeConstant | None
    class_name: str
    wrapper: str
    uri: str
    annotations: tuple[Annotation, ...]
    tracing: str | None
    structured: tuple[StructuredAnnotation, ...] = ()


@dataclass(frozen=True, slots=True)
class Import:
    """A pseudo operator that brings streams of other jobs in."""

    index: int
    own_name: str
    outputs: tuple[OutputPort, ...]
    filter: str | None
    scope: str
    application: str | None
    stream: str | None
    subscription: str | None


@dataclass(frozen=True, slots=True)
class ExportProperty:
    """A property of an exported stream; a list has several values."""

    name: str
    type: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Export:
    """A pseudo operator that offers a stream to other jobs."""

    index: int
    own_name: str
    inputs: tuple[InputPort, ...]
    stream: str | None
    allow_filter: bool
    congestion_policy: str
    properties: tuple[ExportProperty, ...] | None


Member = Primitive | Import | Export


@dataclass(frozen=True, slots=True)
class Composite:
    """A composite instance and what is inside; the main composite has the own name ''."""

    index: int
    own_name: str
    inputs: tuple[CompositePort, ...]
    outputs: tuple[CompositePort, ...]
    composites: tuple[Composite, ...]
    members: tuple[Member, ...]
    annotations: tuple[Annotation, ...]
    definition_annotations: tuple[Annotation, ...]


@dataclass(frozen=True, slots=True)
class SplitterSpec:
    """How tuples of one input port of a region's root are distributed to the channels."""

    kind: SplitterKind
    port: int
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A parallel region: operator or composite `root` is replicated. One of the widths is set."""

    index: int
    name: str
    root: int
    splitters: tuple[SplitterSpec, ...]
    constant_width: int | None
    width_value: int | None
    host_tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostPool:
    """A host pool that the application declares."""

    index: int
    name: str
    size: int | None
    mode: Literal["shared", "exclusive"]
    hosts: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A kind of primitive operator."""

    index: int
    kind: str
    runtime: str
    toolkit: int
    metrics: tuple[int, ...]
    capabilities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """A custom metric that definitions refer to."""

    index: int
    name: str
    kind: str
    description: str


@dataclass(frozen=True, slots=True)
class SubmissionValue:
    """A submission-time value; `literal` is its default in SPL syntax."""

    index: int
    kind: Literal["named", "namedList"]
    composite: str
    name: str
    required: bool
    literal: str | None


PYTHON_KINDS: Final = "millrace::"
"""What kinds of operators begin with that an application in Python has (`millrace/`)."""


DOWNSTREAM: Final = "millrace.downstream"
"""The constant of an operator of such an application that names the operators in other PEs which
take its tuples: their numbers, by logical name and channels."""


@dataclass(frozen=True, slots=True)
class Application:
    """Everything the planner knows of an application. Tuple types are canonical XML fragments.

    `warnings`: sentences on parts of the ADL that are ignored.
    """

    name: str
    scope: str
    build_id: str
    bundle: str
    application_directory: str
    output_directory: str
    data_directory: str | None
    checkpoint_directory: str | None
    product_version: str
    avoid_runtime_yield: str
    main: Composite
    primitive_count: int
    pools: tuple[HostPool, ...]
    tuple_types: dict[int, str]
    definitions: dict[int, Definition]
    toolkits: dict[int, str]
    metrics: dict[int, Metric]
    regions: tuple[Region, ...]
    submission_values: tuple[SubmissionValue, ...]
    warnings: tuple[str, ...] = ()

    @property
    def is_python(self) -> bool:
        """Whether every operator is one that millrace's own runtime runs."""
        kinds = [each.kind for each in self.definitions.values()]
        return bool(kinds) and all(kind.startswith(PYTHON_KINDS) for kind in kinds)
