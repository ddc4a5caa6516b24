"""What an author writes is checked at once: each error names the operator and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, assert_type

import pytest

from millrace import (
    App,
    GraphError,
    Parameter,
    ParameterError,
    State,
    Stream,
    TypeMismatch,
    sliding,
    tumbling,
)
from tests.unit.millrace import words as w


@pytest.fixture
def app() -> App:
    return App("demo::Words")


@pytest.fixture
def words(app: App) -> Stream[w.Word]:
    return app.source(w.lines, name="Lines").flat_map(w.words, name="Words")


def test_types_of_streams_are_inferred(words: Stream[w.Word]) -> None:
    counts = words.key_by("word").map(w.counted, state=w.Total)
    assert_type(counts, Stream[w.Count])
    assert_type(words.filter(w.is_long), Stream[w.Word])
    assert_type(words.window(tumbling(count=2)).aggregate(w.total), Stream[w.Count])


@dataclass
class _Limits:
    least: int = 0


def _grown(count: w.Count, limits: _Limits, by: int) -> w.Count:
    limits.least += by
    return w.Count(count.word, limits.least)


def _repeated(count: w.Count, limits: _Limits, *, by: int) -> Iterator[w.Count]:
    limits.least += 1
    yield from [count] * by


def _is_much(count: w.Count, limits: _Limits, by: int) -> bool:
    limits.least += 1
    return count.count >= by


def _weighed(counts: list[w.Count], by: int) -> w.Count:
    return w.Count(counts[0].word, by * sum(each.count for each in counts))


def test_functions_of_a_key_and_of_a_window_take_values_too(
    app: App, words: Stream[w.Word]
) -> None:
    given = {"by": app.param("by", default=2)}
    counts = words.key_by("word").map(w.counted, state=w.Total)
    grown = counts.key_by("word").map(_grown, state=_Limits, fn_kwargs=given)
    repeated = grown.key_by("word").flat_map(_repeated, state=_Limits, fn_kwargs=given)
    much = repeated.key_by("word").filter(_is_much, state=_Limits, fn_kwargs=given)
    weighed = much.window(tumbling(count=2)).aggregate(_weighed, fn_kwargs=given)
    for each in (grown, repeated, much, weighed):
        assert_type(each, Stream[w.Count])
    found: list[w.Count] = []
    weighed.sink(found.append)
    counted = app.run({"by": 3})["_grown"].taken
    assert counted > 0
    assert sum(each.count for each in found) >= 3 * 3 * counted
    assert {each.count % 3 for each in found} == {0}


async def _looked_up(word: w.Word) -> w.Count:
    return w.Count(word.word, 1)


def test_the_type_of_an_async_function_is_that_of_its_result(words: Stream[w.Word]) -> None:
    assert_type(words.map(_looked_up), Stream[w.Count])


def _takes_bytes(line: w.Bytes) -> w.Line:
    return w.Line(line.text.decode())


def _takes_count(count: w.Count) -> w.Word:
    return w.Word(count.word)


def _takes_row(row: w.Row) -> w.Word:
    return w.Word(row["word"])


def _takes_text(text: str) -> w.Word:
    return w.Word(text)


def _returns_text(line: w.Line) -> str:
    return line.text


def _without_annotation(line):  # type: ignore[no-untyped-def]
    return line


def _number(line: w.Line) -> int:
    return len(line.text)


def _needs(line: w.Line, *, least: int) -> w.Line:
    return w.Line(line.text * least)


@dataclass
class _Odd:
    when: complex


def _returns_odd(line: w.Line) -> _Odd:
    return _Odd(1j)


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (
            lambda s: s.map(_takes_bytes),
            "operator _takes_bytes: its function _takes_bytes: attribute text is bytes in Bytes, "
            "which it takes, and str in Line, which the stream carries",
        ),
        (
            lambda s: s.map(_takes_count, name="Counted"),
            "operator Counted: its function _takes_count: it takes Count with the attribute word: "
            "str, and Line of the stream has no such attribute (it has text)",
        ),
        (
            lambda s: s.map(_takes_row),
            "it takes Row, a TypedDict, and the stream carries Line, a dataclass",
        ),
        (lambda s: s.map(_takes_text), "takes is str, which is no tuple: use a dataclass"),
        (lambda s: s.map(_returns_text), "returns is str, which is no tuple"),
        (lambda s: s.map(_without_annotation), "has no annotation: annotate it, or name the type"),
        (lambda s: s.map(_returns_odd), "attribute when of _Odd is complex, which is no type"),
        (lambda s: s.filter(_number), "returns int, and a filter's function returns bool"),
        (lambda s: s.flat_map(_takes_one), "returns Line, and has to return several tuples"),
        (lambda s: s.map(_needs), "its function _needs requires least: give it in fn_kwargs"),
        (
            lambda s: s.map(_needs, fn_kwargs={"least": 1, "most": 2}),
            "its function _needs has no parameter most",
        ),
        (
            lambda s: s.map(_needs, fn_kwargs={"least": object}),
            "cannot be written into a bundle",
        ),
        (lambda s: s.map(_takes_one, name="Lines"), "of demo::Words have the name Lines"),
        (lambda s: s.map(_takes_one, name="a.b"), "'a.b' is no name"),
        (lambda s: s.map(_takes_one, on_error="ignore"), "on_error is 'ignore': use fail or skip"),
        (lambda s: s.map(7), "Map needs a function, and got 7"),
        (lambda s: s.parallel(0), "its width is 0, and has to be from 1 to 1024"),
        (lambda s: s.parallel(3, key="word"), "its key word is no attribute of the stream"),
        (lambda s: s.parallel(3, key=lambda x: x), "a computed key has to be an attribute"),
        (lambda s: s.parallel(3, key="text", broadcast=True), "a broadcast has no key"),
        (lambda s: s.end_parallel(), "is in no parallel region"),
        (lambda s: s.parallel(2).end_parallel(), "has no operator before it ends"),
        (lambda s: s.key_by("size"), "its key size is no attribute of the stream (it has text)"),
        (lambda s: s.key_by(), "name at least one attribute"),
        (lambda s: s.map(_takes_state, state=_NoDefault), "needs a default for every attribute"),
        (lambda s: s.map(_takes_state, state=int), "its state is int, and has to be a dataclass"),
        (lambda s: s.export(), "give either a name or properties"),
        (lambda s: s.union(App("Other").source(w.lines)), "have to be of one application"),
        (lambda s: s.union(s.parallel(2).map(_takes_one)), "end the region of either"),
        (lambda s: s.union(s.map(_word)), "differ: it takes Line with the attribute text"),
        (lambda s: s.parallel(2).host("node"), "is the stream of no single operator"),
        (lambda s: s.colocate("a b"), "'a b' is no name of a group"),
    ],
)
def test_what_cannot_run_is_refused_in_a_sentence(
    app: App, write: Callable[[Stream[Any]], object], sentence: str
) -> None:
    stream = app.source(w.lines, name="Lines")
    with pytest.raises(GraphError) as refused:
        write(stream)
    assert sentence in str(refused.value)


def _takes_one(line: w.Line) -> w.Line:
    return line


def _word(line: w.Line) -> w.Word:
    return w.Word(line.text)


@dataclass
class _NoDefault:
    count: int


def _takes_state(line: w.Line, state: _NoDefault) -> w.Line:
    return line


def test_a_state_of_another_type_names_both(words: Stream[w.Word]) -> None:
    with pytest.raises(TypeMismatch, match="takes the state Total, and the operator's state is _O"):
        words.map(w.counted, state=_Other)  # type: ignore[arg-type]


@dataclass
class _Other:
    count: int = 0


def test_types_that_are_defined_in_a_function_are_named(app: App) -> None:
    @dataclass
    class Hidden:
        text: str

    def read() -> Iterator[Hidden]:
        yield Hidden("x")

    with pytest.raises(GraphError, match="define the types at the top of the module"):
        app.source(read)


def test_types_that_only_a_type_checker_imports_are_named(app: App) -> None:
    def shown(line: Unknown) -> w.Line:  # type: ignore[name-defined]  # noqa: F821
        return w.Line(str(line))

    with pytest.raises(GraphError, match="outside of `if TYPE_CHECKING`"):
        app.source(w.lines).map(shown)


def test_a_function_may_take_fewer_attributes_than_the_stream_has(app: App) -> None:
    def rows() -> Iterable[w.Count]:
        return []

    assert app.source(rows, returns=w.Count).filter(w.is_long)


def test_operators_without_names_have_those_of_their_functions(
    app: App, words: Stream[w.Word]
) -> None:
    words.map(w.upper).map(w.upper).map(lambda word: word, returns=w.Word).sink(print)
    assert [each.name for each in app.graph.operators[2:]] == ["upper", "upper_2", "Map", "print"]


def test_a_key_has_to_contain_the_attributes_that_a_region_is_split_by(app: App) -> None:
    def rows() -> Iterator[w.Count]:
        yield w.Count("a", 1)

    stream = app.source(rows).parallel(2, key="count")
    with pytest.raises(GraphError, match="tuples of one key would reach several channels"):
        stream.key_by("word").map(w.counted, state=w.Total)  # type: ignore[arg-type]


def test_a_region_that_nobody_ends_is_refused(app: App, words: Stream[w.Word]) -> None:
    words.parallel(3, name="Upper").map(w.upper)
    with pytest.raises(GraphError, match="parallel region Upper is not ended: nothing reads the"):
        _ = app.graph


def test_a_region_without_an_operator_is_refused(app: App, words: Stream[w.Word]) -> None:
    words.parallel(3)
    with pytest.raises(GraphError, match="a parallel region after Words has no operator"):
        _ = app.graph


def test_a_region_may_end_in_a_sink(app: App, words: Stream[w.Word]) -> None:
    words.parallel(3).sink(print)
    assert len(app.graph.regions) == 1


def test_an_application_without_operators_is_refused(app: App) -> None:
    with pytest.raises(GraphError, match=r"has no operators that run: begin with app\.source"):
        _ = app.graph


@pytest.mark.parametrize("name", ["", "a b", "a::", "1", "a.b::c d"])
def test_a_bad_name_of_an_application_is_refused(name: str) -> None:
    with pytest.raises(GraphError, match="is no name of an application"):
        App(name)


def test_submission_time_values_are_of_one_application_and_of_simple_types(app: App) -> None:
    app.param("width", default=3)
    with pytest.raises(ParameterError, match="two submission-time values have the name width"):
        app.param("width", default=4)
    with pytest.raises(ParameterError, match="use str, int, float or bool"):
        app.param("list", default=[1])  # type: ignore[type-var]
    foreign: Parameter[int] = App("Other").param("width", default=2)
    with pytest.raises(ParameterError, match="belongs to another application"):
        app.source(w.lines).parallel(foreign)
    with pytest.raises(GraphError, match="its width name is str, and not int"):
        app.source(w.lines).parallel(app.param("name", default="x"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tumbling(),
        lambda: tumbling(count=1, seconds=1),
        lambda: tumbling(count=0),
        lambda: sliding(count=2, every=3),
        lambda: sliding(count=4, every=1.5),
    ],
)
def test_a_window_has_one_size_that_is_above_zero(make: Callable[[], object]) -> None:
    with pytest.raises(GraphError, match="window"):
        make()


def test_state_that_cannot_follow_a_width_is_known_from_the_graph(
    app: App, words: Stream[w.Word]
) -> None:
    hashed = words.parallel(3, key="word")
    hashed.key_by("word").map(w.counted, state=w.Total, name="ByKey").end_parallel().sink(print)
    state = State(w.Total, at_resize="discard")
    words.parallel(3).map(w.counted, state=state, name="Turns").end_parallel().sink(print)
    words.map(w.counted, state=w.Total, name="Outside").sink(print)
    found = {each.name: each.follows_width for each in app.graph.operators if each.has_state}
    assert found == {"ByKey": True, "Turns": False, "Outside": True}


def test_an_operator_reads_only_what_was_made_before_it(app: App, words: Stream[w.Word]) -> None:
    """So no graph has a cycle, whatever its author unites."""
    looped = words.map(w.upper, name="First")
    words.union(looped).map(w.upper, name="Second").union(looped).sink(print)
    made: list[object] = []
    for operator in app.graph.operators:
        assert all(each in made for each in operator.sources)
        made.append(operator)


def test_equal_graphs_have_one_digest_and_others_another() -> None:
    def made(width: int) -> App:
        app = App("demo::Words")
        stream = app.source(w.lines).flat_map(w.words).parallel(width, key="word")
        stream.map(w.upper).end_parallel().sink(print)
        return app

    assert made(2).graph.digest == made(2).graph.digest
    assert made(2).graph.digest != made(3).graph.digest
