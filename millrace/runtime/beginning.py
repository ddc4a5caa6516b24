"""A launch that has begun: its operators, connected with the neighbours of its PE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millrace.graph import Graph
from millrace.runtime import connections, saving
from millrace.runtime.assembling import Assembled, Encode, assembled
from millrace.runtime.barriers import Place, Route
from millrace.runtime.connections import Inlets, Outlet, outlet_of
from millrace.runtime.failing import Failing
from millrace.runtime.launch import Launch, Surroundings
from millrace.runtime.loading import Loaded
from millrace.runtime.noticing import in_hand_of
from millrace.runtime.quiescing import Parts
from millrace.runtime.reading import Description, OutputPort


@dataclass(frozen=True, slots=True)
class Begun:
    """What a launch has once it has begun. `job`: its id. `parts`: what comes to rest.

    `places`: who takes what each connection brings. `bytes_taken`: by input port. `unrecorded`: how
    many tuples are lost, by cause, that pe-gateway may not have recorded.
    """

    job: int
    made: Assembled
    parts: Parts
    outlets: Mapping[int, Outlet]
    places: Mapping[Route, Place]
    bytes_taken: Mapping[int, int]
    unrecorded: dict[str, int]

    @property
    def has_state(self) -> bool:
        """Whether an operator remembers something."""
        return any(each.operator.has_state for each in self.made.placed)


def begin(
    launch: Launch,
    description: Description,
    graph: Graph,
    around: Surroundings,
    failing: Failing,
    loaded: Loaded,
    *,
    job: int,
    has_store: bool,
) -> Begun:
    """Connect everything, with the state that was loaded. Raises StateRefused."""
    outlets: dict[int, Outlet] = {}
    bytes_taken: dict[int, int] = {}

    def connect(port: OutputPort, encode: Encode) -> Outlet:
        made = outlet_of(port, encode, job, launch, around, loaded.outboxes)
        return outlets.setdefault(port.id, made)

    made = assembled(description, graph, around.clock, connect, launch.number)
    made.engine.fail_as(failing)
    if not has_store:
        made.engine.forget_state()
    unrecorded = saving.restore(made.placed, loaded)
    inlets = Inlets(made.inputs, connections.origins_of(description))
    receivers = connections.receivers_of(
        job,
        launch,
        around,
        made.decoders,
        bytes_taken,
        inlets,
        in_hand=lambda: in_hand_of(parts),
        saved=loaded.positions,
        in_state=loaded.took,
        is_exact=loaded.is_exact,
    )
    parts = Parts(made.engine, inlets, receivers, outlets.values())
    places = connections.places_of(description, job)
    return Begun(job, made, parts, outlets, places, bytes_taken, unrecorded)
