"""Makes operators of what an author writes, and checks each at once: names, types and places."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final, Literal, TypeVar

from millrace.cells import HINT, current_run, is_other
from millrace.codecs import carried_type
from millrace.errors import GraphError, ParameterError, TypeMismatch
from millrace.graph import Entry, OnError, Operator, Region, Role
from millrace.parameters import Parameter, check_argument, check_text
from millrace.placement import HostPool
from millrace.signatures import MISSING, Signature, element_of, function_name, signature_of
from millrace.state import State, state_spec
from millrace.tuple_types import KEY_TYPES, TupleType, difference, tuple_type, type_name
from millrace.windows import Window

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
Sources = tuple[Operator | Entry, ...]
Result = Literal["one", "several", "flag", "same", "nothing"]
"""What a function returns: a tuple, several, true or false, what it took, or nothing."""


@dataclass(frozen=True, slots=True)
class Inlet:
    """What an operator reads: the sources of a stream, their type, and the region it is in."""

    sources: tuple[Operator | Entry, ...] = ()
    type: TupleType | None = None
    region: Region | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A function and how it is used, as given to `map`, `filter`, `source` and the like.

    `takes_list`: its first parameter is a list of tuples. `stem`: what an operator without a name
    is called; by default as its function. `check` is called with the name of the operator and the
    type that it takes, and raises GraphError.
    """

    kind: str
    role: Role
    result: Result
    function: Callable[..., Any]
    name: str | None = None
    state: Any = None
    returns: Any = None
    on_error: OnError = "fail"
    fn_kwargs: Mapping[str, Any] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    window: Window | None = None
    takes_list: bool = False
    stem: str | None = None
    check: Callable[[str, TupleType | None], None] | None = None


class Drafting:
    """The operators, regions and parameters of an application that is being written."""

    def __init__(self, name: str, names: Mapping[str, Any] | None = None) -> None:
        """An empty application of that name; `names`: the globals that it was made in."""
        self.name = name
        self._globals = names or {}
        self._runs: dict[str, CodeType | int | None] = {}
        self._stems: dict[str, str] = {}
        self.operators: list[Operator] = []
        self.regions: list[Region] = []
        self.parameters: list[Parameter[Any]] = []
        self.pools: list[HostPool] = []

    def name_for(self, given: str | None, otherwise: str) -> str:
        """A free name. Raises GraphError if the given one is taken or unusable."""
        taken = {each.name for each in self.operators}
        taken |= {each.label for each in self.regions if each.label}
        if given is not None:
            if not NAME.fullmatch(given):
                raise GraphError(f"{given!r} is no name: use letters, digits and _, no digit first")
            if given in taken:
                raise GraphError(
                    f"two operators or regions of {self.name} have the name {given}"
                    f"{self._hint(given)}"
                )
            return self._noted(given, given)
        stem = otherwise if NAME.fullmatch(otherwise) else "Operator"
        number, name = 1, stem
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        return self._noted(name, otherwise)

    def refuse_again(
        self, stem: str, sources: Sources, is_equal: Callable[[Operator], bool]
    ) -> None:
        """Raises GraphError if another run of a cell added the same behind the same operators."""
        behind = list(origins(sources))
        for each in self.operators:
            is_same = self._stems.get(each.name) == stem and is_equal(each)
            if is_same and list(origins(each.sources)) == behind and self._hint(each.name):
                raise GraphError(
                    f"operator {stem} of {self.name} comes twice, behind the same stream, from two "
                    f"runs of cells: {HINT}; if you want both, give the second one a name="
                )

    def _noted(self, name: str, stem: str) -> str:
        self._runs[name] = current_run(self._globals)
        self._stems[name] = stem
        return name

    def _hint(self, name: str) -> str:
        """What to do if a name was taken in another run of a cell; else nothing."""
        is_other_run = is_other(current_run(self._globals), self._runs.get(name))
        return f": {HINT}" if is_other_run else ""

    def add(self, step: Step, inlet: Inlet) -> Operator:
        """The operator of a step behind an inlet. Raises GraphError, TypeMismatch."""
        if not callable(step.function):
            raise GraphError(f"{step.kind} needs a function, and got {step.function!r}")
        own = function_name(step.function)
        stem = step.stem or (step.kind if own == "<lambda>" else own)
        if step.name is None:
            self.refuse_again(stem, inlet.sources, lambda each: _is_again(each, step))
        name = self.name_for(step.name, stem)
        if step.on_error not in ("fail", "skip"):
            raise GraphError(f"operator {name}: on_error is {step.on_error!r}: use fail or skip")
        signature = signature_of(step.function, name)
        state = None if step.state is None else state_spec(step.state, name)
        _check_arguments(name, step, signature, inlet, state)
        _check_types(name, step, signature, inlet, state)
        check_key(name, step.key, inlet)
        if step.check is not None:
            step.check(f"operator {name}", inlet.type)
        operator = Operator(
            name=name,
            kind=f"millrace::{step.kind}",
            role=step.role,
            sources=inlet.sources,
            region=inlet.region,
            takes=inlet.type,
            gives=_given(name, step, signature, inlet),
            function=step.function,
            fn_kwargs=self._bound(name, step, signature),
            on_error=step.on_error,
            is_async=signature.is_async,
            state=state,
            key=step.key,
            window=step.window,
        )
        self.operators.append(operator)
        return operator

    def own(self, value: Any, who: str) -> Any:
        """A value that is no parameter of another application. Raises ParameterError."""
        if isinstance(value, Parameter) and not any(each is value for each in self.parameters):
            raise ParameterError(
                f"{who}: submission-time value {value.name} belongs to another application: "
                "make it with app.param of this one"
            )
        return value

    def _bound(self, name: str, step: Step, signature: Signature) -> dict[str, Any]:
        for keyword, value in step.fn_kwargs.items():
            if signature.keywords is not None and keyword not in signature.keywords:
                raise GraphError(
                    f"operator {name}: its function {signature.name} has no parameter {keyword}"
                )
            self.own(value, f"operator {name}")
            check_text(keyword, f"operator {name}: the name of an argument")
            if not isinstance(value, Parameter):
                check_argument(value, f"operator {name}: {keyword}")
        if missing := sorted(signature.required - step.fn_kwargs.keys()):
            raise GraphError(
                f"operator {name}: its function {signature.name} requires {', '.join(missing)}: "
                "give it in fn_kwargs"
            )
        return dict(step.fn_kwargs)


def _is_again(operator: Operator, step: Step) -> bool:
    """Whether a step of the same name behind the same stream looks like this operator."""
    if operator.kind != f"millrace::{step.kind}":
        return False
    if str(getattr(step.function, "__module__", "")).startswith("millrace."):  # an adapter
        return operator.fn_kwargs == step.fn_kwargs
    codes = [getattr(each, "__code__", None) for each in (operator.function, step.function)]
    return function_name(step.function) != "<lambda>" or codes[0] == codes[1]


def origins(sources: Sources) -> Iterator[Operator]:
    """The operators that these are, or that feed the regions which these enter."""
    for each in sources:
        yield from [each] if isinstance(each, Operator) else origins(each.sources)


def _check_arguments(
    name: str, step: Step, signature: Signature, inlet: Inlet, state: State[Any] | None
) -> None:
    """Raises GraphError if the function takes another number of arguments than it gets."""
    gets = [*(["the tuple"] if inlet.type is not None else []), *(["the state"] if state else [])]
    if step.takes_list:
        gets = ["the tuples of a window"]
    bound = () if inspect.isclass(step.function) else step.fn_kwargs
    takes = [each for each in signature.positional if each not in bound]
    needed = [each for each in takes if each not in signature.optional]
    if len(needed) <= len(gets) and (signature.takes_more or len(gets) <= len(takes)):
        return
    hint = ""
    if len(needed) > len(gets):
        hint = "; give values in fn_kwargs"
        if state is None and not step.takes_list:
            hint = "; a function with state needs state=, and other values come from fn_kwargs"
    raise GraphError(
        f"operator {name}: its function {signature.name} takes {', '.join(takes) or 'nothing'},"
        f" and gets {' and '.join(gets) or 'nothing'}{hint}"
    )


def _check_types(
    name: str, step: Step, signature: Signature, inlet: Inlet, state: State[Any] | None
) -> None:
    takes = signature.parameter(0)
    position = 0 if inlet.type is None else 1
    if inlet.type is not None and takes is not MISSING:
        if step.takes_list and takes not in (Any, object):
            takes = element_of(takes, name, signature.name, is_taken=True)
        if takes not in (Any, object) and not isinstance(takes, TypeVar):
            who = f"operator {name}: what its function {signature.name} takes"
            wanted = tuple_type(takes, who)
            if (clause := difference(inlet.type, wanted)) is not None:
                raise TypeMismatch(f"operator {name}: its function {signature.name}: {clause}")
    found = signature.parameter(position)
    if state is not None and found not in (MISSING, Any, state.type):
        is_same = type_name(found) == state.type.__name__
        hint = ", a class that was defined again: run the cell of the function again"
        raise TypeMismatch(
            f"operator {name}: its function {signature.name} takes the state {type_name(found)}, "
            f"and the operator's state is {state.type.__name__}{hint if is_same else ''}"
        )


def _given(name: str, step: Step, signature: Signature, inlet: Inlet) -> TupleType | None:
    if step.result == "nothing":
        return None
    returns = signature.returns
    if step.result == "flag":
        if returns not in (MISSING, bool, Any):
            raise TypeMismatch(
                f"operator {name}: its function {signature.name} returns {type_name(returns)}, "
                "and a filter's function returns bool"
            )
        return inlet.type
    if step.returns is not None:
        returns = step.returns
    elif returns is MISSING:
        raise GraphError(
            f"operator {name}: the result of its function {signature.name} has no annotation: "
            "annotate it, or name the type with returns="
        )
    elif step.result == "several":
        returns = element_of(returns, name, signature.name)
    return carried_type(returns, f"operator {name}: what its function {signature.name} returns")


def check_key(name: str, key: tuple[str, ...], inlet: Inlet) -> None:
    """Raises GraphError if a stream cannot be keyed by these attributes, or not in its region."""
    check_attributes(f"operator {name}", key, inlet.type)
    for region in inlet.region.around if inlet.region and key else ():
        if region.kind == "Hash" and not set(region.key) <= set(key):
            raise GraphError(
                f"operator {name}: its key is {', '.join(key)}, and its parallel region is split "
                f"by {', '.join(region.key)}: tuples of one key would reach several channels; "
                "split by attributes of the key"
            )


def check_attributes(who: str, key: tuple[str, ...], stream: TupleType | None) -> None:
    """Raises GraphError if these are no attributes that a stream can be keyed by."""
    for attribute in key:
        found = (
            None
            if stream is None or not isinstance(attribute, str)
            else (stream.attribute(attribute))
        )
        if found is None:
            names = stream.names if stream else "none"
            shown = attribute if isinstance(attribute, str) else f"{attribute!r}"
            raise GraphError(
                f"{who}: its key {shown} is no attribute of the stream (it has {names}); a "
                "computed key has to be an attribute: add it with map"
            )
        if not found.is_required:
            raise GraphError(f"{who}: its key {attribute} may be missing in a tuple of the stream")
        if found.type.name not in KEY_TYPES:
            raise GraphError(
                f"{who}: its key {attribute} is {found.shown}, and a key is str, int, bool or bytes"
            )
