"""Cells of a notebook that are run again: nothing is in a graph twice without a word."""

from __future__ import annotations

import sys
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.errors import (
    GraphError,
    MillraceError,
    OperatorFailed,
    ParameterError,
    TypeMismatch,
)

TYPES = """
    from collections.abc import Iterator
    from dataclasses import dataclass
    from millrace import App
    from millrace.adapters import files
    @dataclass
    class Word:
        word: str
    @dataclass
    class Total:
        count: int = 0
    found = []
"""
FUNCTIONS = """
    def words() -> Iterator[Word]:
        yield Word("a")
    def upper(word: Word) -> Word:
        return Word(word.word.upper())
    def counted(word: Word, total: Total) -> Word:
        return word
"""
BEGIN = 'app = App("demo::Cells")'
GRAPH = "app.source(words).map(upper).sink(found.append)"


class Notebook:
    """Cells in one namespace, each compiled when it is run."""

    def __init__(self, *cells: str) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        for each in cells:
            self.run(each)

    def run(self, cell: str) -> None:
        exec(
            compile(dedent(cell), f"/tmp/ipykernel_7/{hash(cell)}.py", "exec", dont_inherit=True),
            self.names,
        )

    def shown(self) -> list[str]:
        """What the application gives."""
        self.names["found"].clear()
        self.names["app"].run()
        return [each.word for each in self.names["found"]]


AGAIN = [
    (GRAPH, GRAPH, "operator words of demo::Cells comes twice, behind the same stream"),
    ("s = app.source(words)", "s = app.source(words)  # edited", "operator words of"),
    ('s = app.source(words, name="W")', 's = app.source(words, name="W")', "have the name W: in a"),
    ("s.sink(print)", "s.sink(print)", "operator print of"),
    ("s.map(upper).sink(print)", "s.map(upper).sink(print)", "operator upper of"),
    ("s.parallel(2).sink(print)", "s.parallel(2).sink(print)", "operator print of"),
    ("s.filter(lambda w: True).sink(print)",) * 2 + ("operator Filter of",),
    ('s.export("e")', 's.export("e")', "operator Export_e of"),
    ('app.import_(Word, subscription="a")',) * 2 + ("operator Import of",),
    ('app.source(files.lines("a"))',) * 2 + ("comes twice",),
]


@pytest.mark.parametrize(("cell", "again", "message"), AGAIN, ids=range(len(AGAIN)))
def test_a_cell_that_adds_the_same_operators_again_is_refused(
    cell: str, again: str, message: str
) -> None:
    """Before, an operator without a name got a number, and each tuple came twice."""
    notebook = Notebook(TYPES, FUNCTIONS, BEGIN)
    if cell.startswith("s."):
        notebook.run('s = app.source(words, name="S")')
    notebook.run(cell)
    with pytest.raises(GraphError) as refused:
        notebook.run(again)
    assert message in str(refused.value)
    assert "begin the cell with `app = App(…)`" in str(refused.value)


def test_a_graph_stays_as_it_was_when_its_cell_is_refused() -> None:
    notebook = Notebook(TYPES, FUNCTIONS, BEGIN, GRAPH)
    with pytest.raises(GraphError):
        notebook.run(GRAPH)
    assert notebook.shown() == ["A"]


def test_a_cell_that_makes_the_application_again_builds_the_same_graph() -> None:
    notebook = Notebook(TYPES, FUNCTIONS, f"{BEGIN}; {GRAPH}", f"{BEGIN}; {GRAPH}")
    assert notebook.shown() == ["A"]


DIFFERENT = [
    ("s.sink(print)", "s.map(upper).sink(print)"),
    ("s.map(lambda w: w, returns=Word).sink(print)", "s.map(lambda w: Word('b')).sink(print)"),
    ("s.sink(print)", 's.sink(print, name="Second")'),
    ('app.source(files.lines("a")).sink(print)', 'app.source(files.lines("b")).sink(print)'),
    ('s.export("a")', 's.export("b")'),
    ("for _ in range(3): s.sink(print)", "None"),
]


@pytest.mark.parametrize(("cell", "another"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_cells_may_use_a_function_again_in_another_place(cell: str, another: str) -> None:
    another = another.replace("Word('b'))", "Word('b'), returns=Word)")
    Notebook(TYPES, FUNCTIONS, BEGIN, 's = app.source(words, name="S")', cell, another)


def test_statements_of_one_run_of_ipython_are_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It compiles each statement of a cell apart."""
    shell = SimpleNamespace(execution_count=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    notebook = Notebook(TYPES, FUNCTIONS, BEGIN, "s = app.source(words)")
    notebook.run("s.sink(print)")
    notebook.run("s.sink(print)")
    shell.execution_count = 2
    with pytest.raises(GraphError, match="operator print of"):
        notebook.run("s.sink(print)")


def test_functions_that_are_defined_again_go_with_those_before() -> None:
    notebook = Notebook(TYPES, FUNCTIONS, BEGIN, "s = app.source(words)", FUNCTIONS)
    notebook.run("s.map(upper).sink(found.append)")
    assert notebook.shown() == ["A"]


def test_a_tuple_of_a_class_that_was_defined_again_is_named() -> None:
    notebook = Notebook(TYPES, FUNCTIONS, BEGIN, GRAPH, TYPES)
    with pytest.raises(OperatorFailed, match="Word, a class that was defined again: run the cells"):
        notebook.shown()
    notebook.run(FUNCTIONS)
    notebook.run(BEGIN)
    notebook.run(GRAPH)
    assert notebook.shown() == ["A"]


def test_a_state_whose_class_was_defined_again_is_named() -> None:
    notebook = Notebook(TYPES, FUNCTIONS, BEGIN, TYPES)
    with pytest.raises(TypeMismatch, match="Total, a class that was defined again: run the cell"):
        notebook.run('app.source(words).key_by("word").map(counted, state=Total)')


def test_a_stream_of_an_application_that_was_made_again_is_named() -> None:
    notebook = Notebook(TYPES, FUNCTIONS, BEGIN, "s = app.source(words)", BEGIN)
    with pytest.raises(GraphError, match=r"App was called twice: run the cells behind it again"):
        notebook.run("s.union(app.source(words))")
    notebook = Notebook(TYPES, FUNCTIONS, BEGIN, "app.source(words).sink(print)", BEGIN)
    with pytest.raises(GraphError, match="in a notebook, run the cells behind App"):
        notebook.run("app.run()")


def test_names_of_values_and_pools_that_come_twice_are_refused_with_what_to_do() -> None:
    for cell, refusal in (
        ('app.param("n", default=1)', ParameterError),
        ('app.host_pool("p")', GraphError),
    ):
        notebook = Notebook(TYPES, FUNCTIONS, BEGIN, cell)
        with pytest.raises(refusal, match="begin the cell with `app = App"):
            notebook.run(cell)


async def test_a_run_in_an_event_loop_says_what_to_write() -> None:
    app = Notebook(TYPES, FUNCTIONS, f"{BEGIN}\n{GRAPH}").names["app"]
    with pytest.raises(MillraceError, match=r"demo::Cells: .* write `await app.run_async\(\)`"):
        app.run()
    assert (await app.run_async())["upper"].taken == 1
