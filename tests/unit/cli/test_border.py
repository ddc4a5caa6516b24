"""Nothing that others wrote is markup for the command, or reaches a terminal as it is.

Each view is drawn with each hostile text in every place, on a terminal and behind a pipe.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
import typer
from typer.testing import CliRunner

from cli import following as followings
from cli.children import Child, ChildSpec
from cli.commands import app
from cli.failing import Failure, TimedOut
from cli.following import Follower, shown_meanwhile, state_text
from cli.jobs import refuse_if_failed
from cli.live import JobView, job_line, job_panel, job_table, view_of
from cli.printing import failures_printed, print_json
from cli.showing import (
    Bars,
    Rows,
    Screen,
    answer,
    bars,
    cell,
    print_crash,
    print_failure,
    print_lines,
)
from cli.topics import _show
from contracts.bundle_format import pack
from services.chassis.log.kafka_topics import Found, Wanted
from tests.hostile import HOSTILE, harm, visible
from tests.patience import patient
from tests.places import ROOT
from tests.unit.planner.adl_writing import Adl
from tools.real.commands import status_table
from tools.real.pair import PartStatus

TEXTS = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
IN_XML = [text for text in HOSTILE.values() if all(c >= " " and c != "\ud800" for c in text)]
WIDE = {"COLUMNS": "400"}


class Terminal(io.StringIO):
    """A file that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(draw: Callable[[Screen, str], object], text: str, *, is_terminal: bool) -> str:
    file = Terminal() if is_terminal else io.StringIO()
    screen = Screen(file=file, width=400)
    draw(screen, text)
    return file.getvalue()


def view(text: str) -> JobView:
    """A job with the text in every field that the cluster can fill."""
    labels = {"streams.ibm.com/pe": text, "streams.ibm.com/launch-count": text}
    return view_of(
        {
            "metadata": {"name": text, "generation": 1},
            "status": {"phase": text, "reason": text, "message": text, "observedGeneration": 1},
        },
        [
            {
                "spec": {"alias": text, "width": 3},
                "status": {"width": 2, "reason": text, "message": text},
            },
            {
                "spec": {"alias": f"{text}2", "width": 3},
                "status": {"width": 2, "reason": "WidthWaits", "message": text},
            },
        ],
        [{"metadata": {"name": text}, "spec": {"id": 0, "operators": [text, f"{text}2"]}}],
        [
            {
                "metadata": {"name": text, "uid": text, "labels": labels},
                "spec": {"nodeName": text},
                "status": {"phase": text},
            },
            {
                "metadata": {
                    "name": text,
                    "uid": text,
                    "labels": labels | {"streams.ibm.com/pe": "0"},
                },
                "spec": {"nodeName": text},
                "status": {"phase": text},
            },
        ],
    )


def failed(text: str) -> JobView:
    job = {
        "metadata": {"name": text, "generation": 1},
        "status": {"phase": "Failed", "reason": text, "message": text, "observedGeneration": 1},
    }
    return view_of(job, [], [], [])


def topics(screen: Screen, text: str) -> None:
    name = Wanted(text, 4, 1)
    try:
        _show([Found(name), Found(name, 4, {"retention.ms": "1"})], {text: text}, screen)
    except Failure as failure:
        screen.print(str(failure))


def bars_with(screen: Screen, text: str) -> None:
    with bars(screen) as display:
        display.add_task(text, total=2)
        assert isinstance(display, Bars)


def a_table(screen: Screen, text: str) -> None:
    table = Rows(text, title=text)
    table.add_column(text, footer=text)
    table.add_row(text, cell(text, "bold"))
    screen.print(table)


VIEWS: Mapping[str, Callable[[Screen, str], object]] = {
    "jobs": lambda screen, text: screen.print(job_table([view(text), failed(text)])),
    "a job": lambda screen, text: screen.print(job_panel(view(text))),
    "a failed job": lambda screen, text: screen.print(job_panel(failed(text))),
    "a job in a line": lambda screen, text: screen.print(str(job_line(view(text)))),
    "parts": lambda screen, text: screen.print(
        status_table([PartStatus(text, 1, text, text, 7, 50_000_000, 3.0)], 1000.0)
    ),
    "topics": topics,
    "bars": bars_with,
    "any table": a_table,
    "a string": lambda screen, text: screen.print(text, soft_wrap=True),
    "a rule": lambda screen, text: screen.rule(text),
    "what somebody insists is markup": lambda screen, text: screen.print(
        text, markup=True, emoji=True, highlight=True
    ),
    "a renderable of rich that nobody looked at": lambda screen, text: screen.print(
        cell("").append(text)
    ),
}


OF_LIVE_VIEWS = ("\x1b[?25l", "\x1b[?25h", "\x1b[2K", "\x1b[1A", "\r")
"""The control sequences with which rich moves the cursor to redraw a view."""


@TEXTS
@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "pipe"])
def test_no_view_lets_text_of_others_through(text: str, is_terminal: bool) -> None:
    for name, draw in VIEWS.items():
        out = drawn(draw, text, is_terminal=is_terminal)
        for move in OF_LIVE_VIEWS if name == "bars" else ():
            out = out.replace(move, "")
        assert harm(out) == "", name
        assert visible(text) in out.replace("\n", ""), name


@TEXTS
def test_a_cell_is_one_line_and_a_hostile_one_leaves_the_others_readable(text: str) -> None:
    """In a table of two jobs the row of the other one does not move."""
    other = failed("other")

    def both(screen: Screen, text: str) -> None:
        screen.print(job_table([view(text), other]))

    table = drawn(both, text, is_terminal=False)
    (line,) = [each for each in table.splitlines() if each.startswith("other ")]
    assert line.split()[:3] == ["other", "Failed", "-"]
    assert len(table.splitlines()) < (4 if len(text) < 100 else 20)


@TEXTS
@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "pipe"])
async def test_the_live_view_lets_nothing_through(
    text: str, is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn once inside of the block and once at the end."""
    monkeypatch.setattr(Follower, "view", property(lambda _self: view(text)))
    monkeypatch.setattr(followings, "REDRAW_S", 60.0)
    file = Terminal() if is_terminal else io.StringIO()
    follower = Follower(None, "default", text)  # type: ignore[arg-type]
    async with shown_meanwhile(follower, Screen(file=file, width=400)):
        pass
    out = file.getvalue()
    for move in OF_LIVE_VIEWS:
        out = out.replace(move, "")
    assert harm(out) == ""


def complaints(text: str) -> list[Failure]:
    """Failures that quote text of others."""
    found = [
        Failure(f"the job was refused: {text}"),
        Failure("the end of its log:", text, f"{text}2"),
        TimedOut(f"job {text}: {state_text(view(text))}"),
    ]
    try:
        refuse_if_failed(failed(text), text)
    except Failure as failure:
        found.append(failure)
    return found


@TEXTS
def test_sentences_on_standard_error_are_one_line_each(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A quoted text cannot add a line."""
    failures = complaints(text)
    assert len(failures) == 4
    for failure in failures:
        print_failure(failure)
        with pytest.raises(typer.Exit), failures_printed():
            raise failure
    print_lines(text)
    answer(text)
    out, err = capsys.readouterr()
    assert harm(out) == harm(err) == ""
    assert len(out.splitlines()) == 1
    assert len(err.splitlines()) == 2 * (1 + 3 + 1 + 1) + 1
    assert err.count("millrace: ") - err.count(text) * text.count("millrace: ") >= 8


@TEXTS
def test_a_traceback_lets_nothing_through(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The traceback of a bug may quote text of others."""
    try:
        raise KeyError("ours") from ValueError(text)
    except KeyError as defect:
        print_crash(defect)
    err = capsys.readouterr().err
    assert harm(err) == ""
    assert "KeyError: 'ours'" in err


@TEXTS
def test_invalid_arguments_are_quoted_without_harm(text: str) -> None:
    """The panel is typer's, on a console of its own."""
    if text.startswith("-") or "\0" in text:
        return
    for words in (
        ["get", "job", text],
        ["get", f"--namespace={text}"],
        [text],
        ["scale", "job", "R=2", "--timeout", text],
        ["bundle", "show", "x.sab", "--format", text],
        ["real", text],
        ["submit", "x.sab", f"--{text}"],
    ):
        result = CliRunner().invoke(app, words, env=WIDE)
        assert result.exit_code == 2, result.output
        assert harm(result.output) == ""


@TEXTS
def test_json_of_the_command_is_exact(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"message": text})
    out = capsys.readouterr().out
    assert harm(out) == ""
    assert json.loads(out) == {"message": text}


# --------------------------------------------------------------------------- bundles and plans


def hostile_adl(texts: list[str]) -> Adl:
    """An application with the texts as names of operators, regions and values."""
    names = [escape(text.replace(".", ""), {'"': "&quot;"}) for text in texts]
    operators = [f"{name}{number}" for number, name in enumerate(names)]
    adl = Adl().chain("a", *operators, "z")
    for number, text in enumerate(texts):
        adl.region(operators[number], 2).value(f"{text}{number}", text)
    return adl


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, words)), env=WIDE)


def test_names_in_a_bundle_are_harmless_in_every_output(tmp_path: Path) -> None:
    """Of operators, regions and values, in tables, graphs, JSON and refusals."""
    bundle = tmp_path / "x.sab"
    bundle.write_bytes(pack(hostile_adl(IN_XML).text().encode()))
    plan = ("plan", bundle, "--fusion", "legacy")
    few = ("[/x]", "\x9b31mx", "\u202edab")
    for words in (
        ("bundle", "show", bundle, "--format", "table"),
        ("bundle", "show", bundle, "--format", "json"),
        ("bundle", "verify", bundle, "--format", "table"),
        (*plan, "--format", "table"),
        (*plan, "--format", "dot"),
        (*plan, "--format", "json"),
        (*plan, "--resize", "[[]/x[]]0=4", "--format", "table"),
        *((*plan, "--width", f"{text}=3", "--format", "table") for text in few),
        *((*plan, "--param", f"{text}={text}", "--format", "json") for text in few),
        *((*plan, "--resize", f"{text}=3", "--format", "table") for text in few),
    ):
        result = run(*words)
        assert result.exit_code in (0, 1), result.output
        assert isinstance(result.exception, SystemExit | None)
        assert harm(result.stdout) == harm(result.stderr) == "", words
    shown = run("bundle", "show", bundle, "--format", "json").stdout
    assert [each["name"] for each in json.loads(shown)["regions"]] == [
        f"{text.replace('.', '')}{number}" for number, text in enumerate(IN_XML)
    ]


def test_no_name_ends_a_label_of_the_graph(tmp_path: Path) -> None:
    """Every label is one quoted string, without an escape or an entity that Graphviz would read."""
    hostile, plain = tmp_path / "hostile.adl", tmp_path / "plain.adl"
    hostile.write_text(hostile_adl(IN_XML).text())
    plain.write_text(hostile_adl(["f"] * len(IN_XML)).text())
    words = ("--fusion", "legacy", "--format", "dot")
    graph = run("plan", hostile, *words).stdout
    assert graph.count(" -> ") > len(IN_XML)
    assert unquoted(graph) == unquoted(run("plan", plain, *words).stdout)
    assert "&#27" not in graph
    assert "&lt;" not in graph.replace("&amp;lt;", "")


def unquoted(graph: str) -> str:
    """The text outside of quotes: the graph itself."""
    outside, is_quoted, is_escaped = "", False, False
    for each in graph:
        if is_escaped:
            assert each in '\\"n', f"Graphviz reads \\{each}"
            is_escaped = False
        elif is_quoted and each == "\\":
            is_escaped = True
        elif each == '"':
            is_quoted = not is_quoted
        elif not is_quoted:
            outside += each
    assert not is_quoted
    return outside


def test_the_end_of_a_childs_log_begins_no_line(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"\x1b[2Jone\n\x9b\xffmillrace: two\n")
    lines = Child(ChildSpec("x", ["true"]), log).last_lines()
    assert harm(str(Failure("its log:", *lines))) == ""


# --------------------------------------------------------------------------- the whole command


def test_names_of_files_and_defects_of_ours_are_escaped_by_the_command(tmp_path: Path) -> None:
    """As its process writes them; the name is no Unicode."""
    environment = dict(os.environ) | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    name = os.fsencode(tmp_path) + b"/\xff\x1b[2J[/x]\n\x1b]8;;evil\x1b\\.sab"
    done = subprocess.run(
        [sys.executable, "-m", "cli", b"plan", name],
        capture_output=True,
        env=environment,
        timeout=patient(60),
        check=False,
    )
    assert done.returncode == 2
    assert harm(done.stderr.decode()) == ""
    assert b"cannot be read" in done.stderr
    broken = "import cli.commands as c; c.app = lambda: {}['\\x1b[2J'].x; c.run()"
    done = subprocess.run(
        [sys.executable, "-c", broken],
        capture_output=True,
        env=environment,
        timeout=patient(60),
        check=False,
    )
    assert done.returncode == 1
    assert harm(done.stderr.decode()) == ""
    assert b"KeyError" in done.stderr
