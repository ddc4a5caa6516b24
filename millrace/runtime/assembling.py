"""From the description of a PE and the graph of its application to the nodes that run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from millrace.channels import Channel, within
from millrace.codecs import Codec
from millrace.errors import LoadError
from millrace.graph import Graph, Operator, Region
from millrace.parameters import Parameter
from millrace.runtime.clock import Clock
from millrace.runtime.engine import Engine, Fork
from millrace.runtime.executing import begun, execution_of, single_of
from millrace.runtime.nodes import Node
from millrace.runtime.operators import kind_of
from millrace.runtime.queues import Queue
from millrace.runtime.reading import (
    Description,
    Goal,
    InputPort,
    Inside,
    Instance,
    OutputPort,
    Outside,
)
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.splitting import (
    Key,
    Splitter,
    channel_of,
    group_of,
    inner_turn,
    key_reader,
    turn_of,
)
from millrace.runtime.targets import Target
from millrace.runtime.weighing import Scale
from millrace.state import KEY_GROUPS
from millrace.tuple_types import TupleType

Encode = Callable[[Any], bytes]
Connect = Callable[[OutputPort, Encode], Target]
"""Makes the target of an output port of the PE, which encodes its batches so."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One instance of an operator that runs here."""

    instance: Instance
    operator: Operator
    node: Node
    owns: Callable[[Key], bool]
    """Whether the state of a key belongs to this instance, at the widths that its PE knows."""

    @property
    def whole_groups(self) -> tuple[int, int] | None:
        """Channel and width, if whole groups of keys belong to a channel; None: ask `owns`."""
        return whole_groups_of(self.instance, self.operator)

    @property
    def channels(self) -> str:
        """Its channels, innermost region first, such as `2` or `0,1`; empty outside of regions."""
        found = self.instance.channels
        return ",".join(str(found[region][0]) for region in found)


def whole_groups_of(instance: Instance, operator: Operator) -> tuple[int, int] | None:
    """Channel and width, if whole groups of keys belong to a channel of an operator."""
    regions = operator.regions
    if len(regions) == 1 and regions[0].key == operator.key:
        return next(iter(instance.channels.values()))
    return None


@dataclass(frozen=True, slots=True)
class Assembled:
    """A PE that can run: its nodes, and the node behind each of its input ports."""

    engine: Engine
    placed: tuple[Placed, ...]
    inputs: Mapping[int, Node]
    decoders: Mapping[int, Callable[[bytes], list[Any]]]


def assembled(
    description: Description, graph: Graph, clock: Clock, connect: Connect, launch: int = 0
) -> Assembled:
    """The nodes of a PE, connected. Raises LoadError if graph and description do not agree.

    `launch`: its number. Producers whose launches give few tuples begin at another channel each.
    """
    return _Assembly(description, graph, clock, connect, launch).done()


def encoder_of(type_: TupleType | None = None) -> Encode:
    """What makes bytes of a batch of this type; of any type that has no moments without one."""
    return msgspec.msgpack.Encoder().encode if not type_ else Codec(type_.value).encode


class _Assembly:
    def __init__(
        self, description: Description, graph: Graph, clock: Clock, connect: Connect, launch: int
    ) -> None:
        self._launch = launch
        self._description = description
        self._graph = graph
        self._clock = clock
        self._operators = {each.index: self._operator(each) for each in description.operators}
        self._nodes = {each.index: self._node(each) for each in description.operators}
        self._outputs = {
            each.id: connect(each, encoder_of(self._operators[each.operator].gives))
            for each in description.outputs
        }

    def _operator(self, instance: Instance) -> Operator:
        for each in self._graph.running:
            if self._graph.path(each) == instance.path:
                return each
        raise LoadError(
            f"the plan of this job has the operator {instance.path}, which "
            f"{self._graph.name} does not have: the bundle is another one"
        )

    def done(self) -> Assembled:
        for instance in self._description.operators:
            node = self._nodes[instance.index]
            operator = self._operators[instance.index]
            turn = turn_of(self._graph, operator, instance.global_channel) + self._launch
            node.targets = self._targets(instance.goals, operator, turn)
            for each in _inside(instance.goals):
                self._nodes[each].inputs += 1
        for each in self._leaving():
            self._nodes[each].check_in_full()
        inputs = {each.id: self._input(each) for each in self._description.inputs}
        placed = tuple(self._placed(each) for each in self._description.operators)
        return Assembled(
            Engine([*inputs.values(), *self._nodes.values()], self._clock),
            placed,
            inputs,
            {each.id: self._decoder(each) for each in self._description.inputs},
        )

    def _leaving(self) -> set[int]:
        """The operators whose tuples leave the PE; a filter gives what it takes."""
        found: set[int] = set()
        while True:
            more = {
                each.index
                for each in self._description.operators
                if any(self._leaves(goal, found) for goal in each.goals)
            }
            if more == found:
                return found
            found = more

    def _leaves(self, goal: Goal, leaving: Collection[int]) -> bool:
        if isinstance(goal, Outside):
            return True
        if isinstance(goal, Inside):
            is_filter = kind_of(self._operators[goal.operator]) == "Filter"
            return is_filter and goal.operator in leaving
        return any(self._leaves(each, leaving) for part in goal.channels for each in part)

    def _node(self, instance: Instance) -> Node:
        operator = self._operators[instance.index]
        values = _values(operator, instance.constants)
        if operator.role == "source":
            store = single_of(operator)
            begin = partial(begun, operator, values, store, instance.global_channel)
            return SourceNode(instance.name, operator, begin, store, path=instance.path)
        channel = Channel(*instance.global_channel, _local(self._graph, operator, instance))
        with within(channel):
            execution = execution_of(operator, values, self._clock)
        queue = None
        if instance.queue is not None:
            queue = Queue(instance.queue.tuples, instance.queue.congestion, scale=_scale(operator))
        elif execution.is_async:
            queue = Queue(scale=_scale(operator))
        return Node(
            instance.name,
            execution,
            path=instance.path,
            groups=KEY_GROUPS,
            queue=queue,
            channel=channel,
        )

    def _targets(self, goals: Iterable[Goal], operator: Operator, turn: int) -> list[Target]:
        return [self._target(each, operator, turn) for each in goals]

    def _target(self, goal: Goal, operator: Operator, turn: int) -> Target:
        if isinstance(goal, Inside):
            return self._nodes[goal.operator]
        if isinstance(goal, Outside):
            return self._outputs[goal.port]
        width = len(goal.channels)
        assert operator.gives is not None, "an operator with an output port gives tuples"
        key = key_reader(goal.attributes, operator.gives.access) if goal.attributes else None
        splitter = Splitter(goal.kind, width, KEY_GROUPS, key, turn=turn)
        inner = inner_turn(turn, goal.kind, width)
        channels = [self._targets(each, operator, inner) for each in goal.channels]
        return Fork(splitter, channels, drops_windows=goal.drops_windows)

    def _input(self, port: InputPort) -> Node:
        """Where the connections of an input port come together."""
        node = Node(f"input port {port.id}")
        node.inputs = len(port.peers)
        node.scale = _scale(self._operators[port.operator])  # a peer may send 64 MiB in one frame
        node.targets = [self._nodes[port.operator]]
        self._nodes[port.operator].inputs += 1
        return node

    def _decoder(self, port: InputPort) -> Callable[[bytes], list[Any]]:
        takes = self._operators[port.operator].takes
        assert takes is not None, "an operator with an input port takes tuples"
        return Codec(takes.value).decode

    def _placed(self, instance: Instance) -> Placed:
        operator = self._operators[instance.index]
        owns = _owner(self._graph, operator, instance)
        return Placed(instance, operator, self._nodes[instance.index], owns)


def _scale(operator: Operator) -> Scale:
    """It weighs what an operator takes."""
    assert operator.takes is not None, "it has an input port"
    return Scale(operator.takes)


def _inside(goals: Iterable[Goal]) -> Iterable[int]:
    for goal in goals:
        if isinstance(goal, Inside):
            yield goal.operator
        elif not isinstance(goal, Outside):
            for channel in goal.channels:
                yield from _inside(channel)


def _values(operator: Operator, constants: Mapping[str, Any]) -> dict[str, Any]:
    """The submission-time values that the operator's arguments name, as the plan has them."""
    values: dict[str, Any] = {}
    for name, value in operator.fn_kwargs.items():
        if isinstance(value, Parameter):
            constant = f"argument.{name}"
            if constant not in constants:
                raise LoadError(f"operator {operator.name}: the plan has no value of {name}")
            values[value.name] = value.parsed(str(constants[constant]))
    return values


def _local(graph: Graph, operator: Operator, instance: Instance) -> tuple[int, ...]:
    """The number of the channel in each region around an operator, outermost first."""
    indexes = map(graph.regions.index, operator.regions)
    return tuple(instance.channels[index][0] for index in indexes)


def _owner(graph: Graph, operator: Operator, instance: Instance) -> Callable[[Key], bool]:
    parts = [
        _part(region, operator, *instance.channels[graph.regions.index(region)])
        for region in operator.regions
        if region.kind == "Hash" and operator.key and set(region.key) <= set(operator.key)
    ]
    return lambda key: all(part(key) for part in parts)


def _part(region: Region, operator: Operator, channel: int, width: int) -> Callable[[Key], bool]:
    """Whether a region's splitter sends a key of the operator to this channel."""
    if region.key == operator.key:
        return lambda key: channel_of(group_of(key, KEY_GROUPS), width, KEY_GROUPS) == channel
    places = [operator.key.index(name) for name in region.key]

    def owns(key: Key) -> bool:
        values = key if len(operator.key) > 1 else (key,)
        part = tuple(values[place] for place in places)
        own = part if len(part) > 1 else part[0]
        return channel_of(group_of(own, KEY_GROUPS), width, KEY_GROUPS) == channel

    return owns
