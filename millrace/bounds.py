"""What a stream is made of, and how it enters and leaves regions, other streams and other jobs.

`streams.py` has what is done with the tuples; here the type of the tuples stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, Self

from millrace.building import Drafting, Inlet, check_attributes
from millrace.errors import GraphError
from millrace.graph import WIDTH_MAX, Entry, Operator, Region
from millrace.parameters import Parameter, check_text
from millrace.placing import Placed
from millrace.tuple_types import TupleType, difference, is_class_of

PROPERTY_TYPES: Final = (str, bool, int, float, list)


class Bounded(Placed):
    """A stream without a word on the type of its tuples."""

    def __init__(
        self,
        draft: Drafting,
        sources: tuple[Operator | Entry, ...],
        type_: TupleType | None,
        region: Region | None,
    ) -> None:
        """A stream of these sources, inside of a region or of none."""
        assert type_ is not None
        self._draft = draft
        self._sources = sources
        self._type = type_
        self._region = region

    def __repr__(self) -> str:
        """The operators that the stream comes from, and its type."""
        names = ", ".join(each.name for each in self._sources if isinstance(each, Operator))
        return f"Stream({names or 'entry of a region'}: {self._type.name})"

    def union(self, *others: Self) -> Self:
        """All tuples of several streams of one type, in the order in which they come."""
        sources = list(self._sources)
        for other in others:
            if other._draft is not self._draft:
                is_same = other._draft.name == self._draft.name
                hint = ", and App was called twice: run the cells behind it again"
                raise GraphError(
                    f"union: both streams have to be of one application{hint if is_same else ''}"
                )
            if other._region is not self._region:
                raise GraphError(
                    f"union: {self!r} and {other!r} are not in one parallel region: end the region "
                    "of either with end_parallel()"
                )
            if clause := difference(other._type, self._type):
                raise GraphError(f"union: {self!r} and {other!r} differ: {clause}")
            if not is_class_of(other._type, self._type):
                raise GraphError(
                    f"union: {self!r} and {other!r} differ: one carries {other._type.name}, and "
                    f"the other one {self._type.name}: make one of the other with map"
                )
            sources += [each for each in other._sources if each not in sources]
        return type(self)(self._draft, tuple(sources), self._type, self._region)

    def parallel(
        self,
        width: int | Parameter[int],
        *,
        key: str | Sequence[str] | None = None,
        broadcast: bool = False,
        name: str | None = None,
    ) -> Self:
        """Begin a parallel region: the operators up to `end_parallel` are replicated.

        Args:
            width: The number of channels, which a running job can change; or a submission-time
                value.
            key: Attributes: tuples with equal values reach one channel. Without it channels take
                turns.
            broadcast: Each channel gets each tuple.
            name: The name of the region. Without one a region of one operator has the name of that
                operator, others are Region1, Region2, ….
        """
        who = f"parallel region {name or 'after ' + repr(self)}"
        checked = checked_width(self._draft, width, who)
        keys = (key,) if isinstance(key, str) or callable(key) else tuple(key or ())
        check_attributes(who, keys, self._type)
        if keys and broadcast:
            raise GraphError(f"{who}: a broadcast has no key: each channel gets each tuple")
        label = None if name is None else self._draft.name_for(name, name)
        kind: Literal["Hash", "Broadcast", "RoundRobin"] = "Hash" if keys else "RoundRobin"
        region = Region(checked, "Broadcast" if broadcast else kind, keys, self._region, label)
        region.entry = Entry(region, self._sources, self._type.access)
        self._draft.regions.append(region)
        return type(self)(self._draft, (region.entry,), self._type, region)

    def end_parallel(self) -> Self:
        """End the innermost parallel region: the streams of its channels are merged."""
        if self._region is None:
            raise GraphError(f"end_parallel: {self!r} is in no parallel region")
        if any(isinstance(each, Entry) for each in self._sources):
            raise GraphError("end_parallel: the region has no operator before it ends")
        return type(self)(self._draft, self._sources, self._type, self._region.parent)

    def export(
        self,
        name: str | None = None,
        *,
        properties: Mapping[str, str | bool | float | list[str]] | None = None,
        allow_filter: bool = True,
        congestion: Literal["wait", "dropConnection"] = "wait",
    ) -> Self:
        """Offer the stream to other jobs, by a name or by properties.

        Args:
            name: Others import it by this name and that of the application.
            properties: Others import it by a subscription that these match.
            allow_filter: Importers may filter at the source.
            congestion: What happens if an importer is slow.
        """
        if (name is None) == (properties is None):
            raise GraphError(f"export of {self!r}: give either a name or properties")
        if name is not None:
            check_text(name, f"export of {self!r}: its name")
        for key, value in (properties or {}).items():
            check_text(key, f"export of {self!r}: the name of a property")
            if not isinstance(value, PROPERTY_TYPES):
                raise GraphError(
                    f"export of {self!r}: property {key} is {value!r}: use text, "
                    "a number, true or false, or a list of these"
                )
        options = {
            "stream": name,
            "properties": dict(properties or {}),
            "allow_filter": allow_filter,
            "congestion": congestion,
        }
        stem = f"Export_{name}" if name else "Export"
        self._draft.refuse_again(stem, self._sources, lambda each: each.options == options)
        own = self._draft.name_for(None, stem)
        inlet = (self._sources, self._region, self._type)
        operator = Operator(own, "Export", "export", *inlet, None, options=options)
        self._draft.operators.append(operator)
        return self

    @property
    def _inlet(self) -> Inlet:
        return Inlet(self._sources, self._type, self._region)

    @property
    def _placed(self) -> Operator:
        source = self._sources[0]
        if len(self._sources) > 1 or isinstance(source, Entry) or source.role == "import":
            raise GraphError(f"{self!r} is the stream of no single operator: place its operators")
        return source


def checked_width(draft: Drafting, width: int | Parameter[int], who: str) -> int | Parameter[int]:
    """A width that a region can have. Raises GraphError, ParameterError."""
    draft.own(width, who)
    number = width.default if isinstance(width, Parameter) else width
    if isinstance(width, Parameter) and width.type is not int:
        raise GraphError(f"{who}: its width {width.name} is {width.type.__name__}, and not int")
    if number is not None and (
        isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= WIDTH_MAX
    ):
        raise GraphError(f"{who}: its width is {number!r}, and has to be from 1 to {WIDTH_MAX}")
    return width
