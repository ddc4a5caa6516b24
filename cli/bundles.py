"""`millrace bundle`: pack a bundle, show its content, and verify it.

A bundle may come from anybody: its texts are made printable, and it is opened under the same limits
as in fusion-backend. Packing is in `bundling.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cli.bundling import pack_folder, pack_source
from cli.failing import Failure
from cli.printing import answers, failures_printed, is_terminal, print_json
from cli.recognizing import beginning_of, contents_of, kind_of
from cli.resources import WORDCOUNT
from cli.showing import Rows, Screen, answer, print_lines
from contracts.bundle_format import (
    Bundle,
    BundleInvalid,
    BundleLimits,
    BundleTooLarge,
    check_build_id,
    read_unverified,
)
from contracts.reasons import Reason
from contracts.showing import one_line
from planner.application import model
from planner.application.adl import read_application
from planner.application.submission import unquoted
from planner.refusals import PlanRefused

Json = dict[str, Any]
Format = Annotated[
    Literal["table", "json"] | None,
    typer.Option("--format", help="Default: a table on a terminal, else JSON."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace a bundle that is there and has another content.")
]
BundleFile = Annotated[Path, typer.Argument(help="A bundle (.sab).")]

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_LIST = re.compile(rf"\[\s*{_STRING.pattern}(\s*,\s*{_STRING.pattern})*\s*\]")

bundle_app = typer.Typer(
    add_completion=False,
    help="Bundles (.sab): an application description (ADL) with the files that run it. A bundle "
    "is a zip with a tar in it. Make one with `pack`, put it into the bundle root or behind a URL, "
    "and name it in a Job's spec.bundle.",
    no_args_is_help=True,
)


@bundle_app.command("pack")
def bundle_pack(
    source: Annotated[
        Path,
        typer.Argument(
            help="An application (app.py or app.py:NAME), an .adl file, or a folder with one."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: NAME.sab here.")
    ] = None,
    force: Force = False,
    include: Annotated[
        list[Path] | None,
        typer.Option(
            "--include",
            help="A data file, a folder, or a pattern ('data/*.csv') of the project, or a module "
            "that app.py imports by a computed name. Repeatable.",
        ),
    ] = None,
    wheel: Annotated[
        list[Path] | None,
        typer.Option("--wheel", help="A wheel of a library that app.py imports. Repeatable."),
    ] = None,
) -> None:
    """Make a bundle of an application in Python, of an ADL, or of a folder with an ADL.

    Equal input gives equal bytes. Of a folder hidden files, .yaml, .md and .sab stay outside. An
    application is imported, and the modules of yours that it imports are packed with it. A library
    that it imports and that neither a wheel nor the image of processing elements has is named.

    Example: millrace bundle pack app.py -o wordcount.sab
    """
    with failures_printed():
        answer(pack_source(source, output, force=force, include=include or (), wheels=wheel or ()))


@bundle_app.command("example")
def bundle_example(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: wordcount.WordCount.sab here.")
    ] = None,
    force: Force = False,
) -> None:
    """Make the bundle of an example: an application with a parallel region, to be submitted.

    Example: millrace submit "$(millrace bundle example)" --name wordcount --fusion legacy
    """
    with failures_printed():
        answer(pack_folder(WORDCOUNT, output, force=force))


@bundle_app.command("show")
def bundle_show(bundle: BundleFile, form: Format = None) -> None:
    """Show what is inside: application, build id, operators, regions, pools, submission values.

    Use the names of regions with --width, and those of values with --param.

    Example: millrace bundle show wordcount.sab --format json
    """
    with failures_printed():
        found = checked(bundle)
        if found.contents is None:
            raise Failure(f"{bundle}: {found.problems[0].message}")
        if _form(form) == "json":
            print_json(found.contents)
        else:
            _draw(found.contents)
        for problem in found.problems:
            print_lines(f"millrace: {problem.message}")


@bundle_app.command("verify")
def bundle_verify(bundle: BundleFile, form: Format = None) -> None:
    """Say everything that is wrong with a bundle: structure, limits, digest, ADL; exit code 1.

    A bundle that verifies can be read; whether a Job's widths and values fit is `millrace plan`'s.

    Example: millrace bundle verify wordcount.sab && cp wordcount.sab BUNDLE_ROOT
    """
    with failures_printed():
        found = checked(bundle)
    problems = [{"reason": each.reason, "message": each.message} for each in found.problems]
    if _form(form) == "json":
        print_json({"bundle": str(bundle), "valid": not problems, "problems": problems})
    elif not problems and found.contents is not None:
        answer(f"{bundle} is valid: build id {found.contents['buildId']}")
    else:
        for each in problems:
            answer(f"{each['reason']}: {each['message']}")
    if problems:
        raise typer.Exit(Failure.exit_code)


# --------------------------------------------------------------------------- checking


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: the reason that a Job would get, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The content of a bundle, None if it cannot be read, and every problem of it.

    `is_python`: millrace's own runtime runs it.
    """

    contents: Json | None
    problems: tuple[Problem, ...]
    is_python: bool = False


def checked(path: Path) -> Checked:
    """Open and check a bundle file. Raises Misused if it cannot be read."""
    return checked_bundle(path)[1]


def checked_bundle(path: Path) -> tuple[bytes, Checked]:
    """The bytes of a bundle file, and what `checked` says of them. Raises Misused."""
    data = contents_of(path)
    return data, _checked(path, data)


def _checked(path: Path, data: bytes) -> Checked:
    kind = kind_of(data)
    if kind == "bundle":
        return checked_bytes(data)
    what = f"it is no bundle: {beginning_of(data)}"
    if kind == "ADL":
        what = (
            f"it is an ADL, not a bundle: `millrace bundle pack {path}` makes a bundle of it, "
            f"`millrace plan {path}` says what it becomes"
        )
    elif path.suffix == ".py":
        what += f"; `millrace bundle pack {path}` makes a bundle of an application in Python"
    return Checked(None, (Problem(Reason.BUNDLE_INVALID.value, one_line(what)),))


def checked_bytes(data: bytes) -> Checked:
    """Check the bytes of a bundle."""
    try:
        bundle, found = read_unverified(data, BundleLimits())
    except BundleTooLarge as error:
        return Checked(None, (_problem(Reason.BUNDLE_TOO_LARGE, error),))
    except BundleInvalid as error:
        return Checked(None, (_problem(Reason.BUNDLE_INVALID, error),))
    problems = []
    try:
        check_build_id(bundle.build_id, found)
    except BundleInvalid as error:
        problems.append(_problem(Reason.BUNDLE_INVALID, error))
    try:
        application = read_application(bundle)
    except PlanRefused as refusal:
        problems.append(_problem(refusal.reason, refusal))
        return Checked(None, tuple(problems))
    contents = _contents(bundle, application, len(data))
    return Checked(contents, tuple(problems), application.is_python)


def _problem(reason: Reason, error: Exception) -> Problem:
    return Problem(reason.value, one_line(error))


def _contents(bundle: Bundle, application: model.Application, size: int) -> Json:
    values: dict[int | None, str] = {
        value.index: value.name for value in application.submission_values
    }
    return {
        "application": application.name,
        "productVersion": application.product_version,
        "adl": bundle.adl_path,
        "buildId": bundle.build_id,
        "sha256": bundle.digest,
        "bytes": size,
        "operators": sum(1 for _ in _primitives(application.main)),
        "regions": [
            {
                "name": region.name,
                "width": region.constant_width,
                "widthFrom": values.get(region.width_value)
                if region.width_value is not None
                else None,
            }
            for region in application.regions
        ],
        "pools": [
            {"name": pool.name, "size": pool.size, "mode": pool.mode, "tags": list(pool.tags)}
            for pool in application.pools
        ],
        "submissionTimeValues": [
            {"name": value.name, "required": value.required, "default": default_of(value)}
            for value in application.submission_values
        ],
    }


def _primitives(composite: model.Composite) -> Iterator[model.Primitive]:
    composites = [composite]
    while composites:
        each = composites.pop()
        composites += each.composites
        yield from (member for member in each.members if isinstance(member, model.Primitive))


def default_of(value: model.SubmissionValue) -> str | None:
    """The default as --param takes it: an SPL string without quotes, a list with commas.

    A value that --param cannot express (a list whose items hold commas) is shown as in the ADL.
    """
    literal = value.literal
    if literal is None or value.kind == "named":
        return None if literal is None else unquoted(literal)
    if not _LIST.fullmatch(literal):
        return literal
    items = [unquoted(item) for item in _STRING.findall(literal)]
    return literal if any("," in item for item in items) else ",".join(items)


# --------------------------------------------------------------------------- printing


def _form(form: str | None) -> str:
    return form or ("table" if is_terminal() else "json")


def _draw(contents: Json) -> None:
    console = answers()
    lines = Rows(show_header=False, box=None)
    for name in ("application", "productVersion", "adl", "buildId", "sha256", "bytes", "operators"):
        lines.add_row(name, _shown(contents[name]))
    console.print(lines)
    _draw_rows(console, "parallel region", contents["regions"], ("name", "width", "widthFrom"))
    _draw_rows(console, "host pool", contents["pools"], ("name", "mode", "size", "tags"))
    values = contents["submissionTimeValues"]
    _draw_rows(console, "submission-time value", values, ("name", "required", "default"))


def _draw_rows(console: Screen, title: str, rows: list[Json], names: tuple[str, ...]) -> None:
    if not rows:
        return
    table = Rows(title, *names[1:])
    for row in rows:
        table.add_row(*(_shown(row[name]) for name in names))
    console.print(table)


def _shown(value: object) -> str:
    if value is None:
        return ""
    text = ", ".join(value) if isinstance(value, list) else str(value)
    if isinstance(value, bool):
        text = "yes" if value else "no"
    return text
