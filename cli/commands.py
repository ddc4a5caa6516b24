"""The `millrace` command: a table of its commands. A command is imported when it is called.

Importing all of them takes a second. `--help` and completion need only the table, so whatever is
not needed for these is imported inside of functions here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from cli.interrupting import ctrl_c_interrupts

HELP_OPTIONS: Final = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command: `module:attribute` of its function or Typer application, and its help in short."""

    where: str
    help: str


_JOBS, _LOOK, _SYSTEM = "cli.job_commands", "cli.look_commands", "cli.system_commands"
_HISTORY, _INSTALL = "cli.history_commands", "cli.install_commands"
COMMANDS: Final = {
    "up": Lazy(f"{_SYSTEM}:up", "Run a cluster and all services in the foreground, until Ctrl-C."),
    "demo": Lazy(
        f"{_SYSTEM}:demo",
        "Show everything on this machine: submit an example, resize it, say what changed.",
    ),
    "submit": Lazy(
        f"{_JOBS}:submit", "Submit a bundle as a Job and show its processing elements come up."
    ),
    "get": Lazy(
        f"{_LOOK}:get", "Show the jobs of a namespace, or one job with its processing elements."
    ),
    "describe": Lazy(
        f"{_LOOK}:describe",
        "Show everything about a job or a processing element: conditions in words, and Events.",
    ),
    "why": Lazy(
        "cli.why_command:why",
        "Say why an object is not well: the cause, the remedy, and what led to it.",
    ),
    "events": Lazy(
        f"{_HISTORY}:events",
        "Show what was seen and decided about a job, in order, and its Events.",
    ),
    "logs": Lazy(
        "cli.log_commands:logs",
        "Print the logs of processing elements, or of the services of millrace.",
    ),
    "tap": Lazy(
        "cli.tap_command:tap", "Print the tuples of a stream as they pass, as lines of JSON."
    ),
    "record": Lazy(f"{_HISTORY}:record", "Record what was seen, observed and decided in a file."),
    "scale": Lazy(
        f"{_JOBS}:scale", "Give a parallel region another width and show which PEs changed."
    ),
    "restart": Lazy(
        f"{_LOOK}:restart",
        "Launch a processing element again, or all of a job, one after the other.",
    ),
    "acknowledge": Lazy(
        f"{_LOOK}:acknowledge", "Acknowledge the lost tuples of a job, so that it is healthy again."
    ),
    "delete": Lazy(f"{_JOBS}:delete", "Delete a job with all its objects."),
    "plan": Lazy(
        "cli.plan_command:plan_command",
        "Plan a bundle, an ADL or a Job without running it: PEs, ports, widths, AADLs.",
    ),
    "bundle": Lazy(
        "cli.bundles:bundle_app",
        "Bundles (.sab): an application description (ADL) with the files that run it.",
    ),
    "replay": Lazy(
        "cli.replay_command:replay",
        "Replay recorded facts and observations through the rules of this release.",
    ),
    "service": Lazy(f"{_SYSTEM}:service_app", "Services of a running `up`: status, stop, start."),
    "topics": Lazy(f"{_SYSTEM}:topics_app", "The topics on Kafka: make and compare them."),
    "install": Lazy(
        f"{_INSTALL}:install",
        "Install millrace on a cluster without Helm, and wait until it is ready.",
    ),
    "upgrade": Lazy(
        f"{_INSTALL}:upgrade",
        "Upgrade an installation to this release, or change its options; others are kept.",
    ),
    "uninstall": Lazy(
        f"{_INSTALL}:uninstall",
        "Remove an installation; Jobs, their definitions, bundles and topics stay.",
    ),
    "real": Lazy(
        "tools.real.commands:real_app",
        "Apache Kafka and a real Kubernetes control plane as plain processes on loopback.",
    ),
}
"""In the order of the help. Tests hold that the help in short begins that of the command."""


class LazyCommand(TyperCommand):
    """A command by name and short help, which is imported when it is called."""

    def __init__(self, name: str, lazy: Lazy) -> None:
        super().__init__(name, help=lazy.help, add_help_option=False)
        self._where = lazy.where

    def imported(self) -> Any:
        """The command itself."""
        from cli.workshop import load

        found = load(self._where)
        if isinstance(found, typer.Typer):
            found.info.context_settings = HELP_OPTIONS
            return get_command(found)
        single = typer.Typer(context_settings=HELP_OPTIONS, add_completion=False)
        single.command(self.name, context_settings=HELP_OPTIONS)(found)
        return get_command(single)

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """The context of the command itself, so that its own options are parsed and invoked."""
        from cli.failing import Failure
        from cli.showing import print_failure
        from services.chassis.process.log_lines import configure

        configure("millrace", "ERROR")  # what is worth a person's time is a Failure
        try:
            command = self.imported()
        except Failure as failure:
            print_failure(failure)
            raise typer.Exit(failure.exit_code) from None
        ctrl_c_interrupts()
        return command.make_context(*args, **extra)


class _Commands(TyperGroup):
    """The table above as a group. Its panel quotes words of the user: they are escaped first."""

    def __init__(self, **extra: Any) -> None:
        lazy = {name: LazyCommand(name, each) for name, each in COMMANDS.items()}
        super().__init__(**extra | {"commands": lazy})

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """The words of the command itself."""
        with _words_escaped():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """The words of its commands."""
        with _words_escaped():
            return super().invoke(ctx)


@contextmanager
def _words_escaped() -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        if hasattr(problem, "format_message"):  # one that the panel is for
            from contracts.showing import one_line

            vars(problem)["message"] = one_line(vars(problem)["message"])
        raise


app = typer.Typer(
    cls=_Commands,
    help="Streaming applications on Kubernetes: run, resize and look at them.",
    epilog="Exit codes: 0 done, 1 refused or failed, 2 misused, 3 nobody answers, 4 timed out, "
    "130 stopped by Ctrl-C, 143 by SIGTERM.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from cli.showing import answer
        from services.chassis.process.release import release

        answer(f"millrace {release() or '(a checkout that is not installed)'}")
        raise typer.Exit


@app.callback()
def _whole_command(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command that the arguments name, and end the process with its exit code."""
    try:
        app()
    except Exception as defect:  # noqa: BLE001 - printed, and the command ends with 1
        from cli.showing import print_crash

        print_crash(defect)
        raise SystemExit(1) from None
