"""`millrace install|upgrade|uninstall`: words to what `cli/installing/` carries out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer
import yaml

from cli.connecting import aclosing_transport
from cli.ending import run
from cli.failing import Misused
from cli.installing import RELEASE
from cli.installing.cluster import Target
from cli.installing.filling import Wanted, manifest_of, values_of_files, wanted_of
from cli.installing.objects import in_order
from cli.installing.profiles import PROFILES
from cli.installing.sequence import Waiting, installed
from cli.installing.sequence import install as install_in
from cli.installing.sequence import uninstall as uninstall_in
from cli.installing.sequence import upgrade as upgrade_in
from cli.kubeconfigs import find_kubeconfig
from cli.showing import answer_lines, print_lines

_PROFILES = "; ".join(f"{each.name}: {each.help}" for each in PROFILES.values())

Namespace = Annotated[
    str, typer.Option("--namespace", "-n", help="Of the services; it is made if it does not exist.")
]
Installed = Annotated[str, typer.Option("--namespace", "-n", help="Where the services are.")]
Image = Annotated[str, typer.Option(help="REPOSITORY:TAG of the image of the services.")]
Brokers = Annotated[str, typer.Option(help="Kafka: HOST:PORT, with commas.")]
ProfileName = Annotated[str, typer.Option("--profile", help=f"{_PROFILES}.")]
Values = Annotated[
    list[Path] | None,
    typer.Option("--values", "-f", help="YAML with values of the chart (docs/chart-values.md)."),
]
DryRun = Annotated[bool, typer.Option(help="Print the objects, and change nothing.")]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds to wait for one step.")]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="Of an administrator; default: $KUBECONFIG, ~/.kube/config.")
]


def install(
    image: Image = "",
    brokers: Brokers = "",
    profile: ProfileName = "cluster",
    values: Values = None,
    namespace: Namespace = RELEASE,
    dry_run: DryRun = False,
    timeout: Timeout = 300.0,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Install millrace on a cluster without Helm, and wait until it is ready.

    Example: millrace install --image registry.example/millrace:1.0 --brokers kafka:9092
    """

    async def work() -> None:
        chosen = values_of_files(profile, values or [])
        wanted = wanted_of(profile, namespace, image=image, brokers=brokers, values=chosen)
        if dry_run:
            _print_manifest(wanted)
            return
        await _with_target(
            kubeconfig, lambda target: install_in(target, wanted, Waiting(timeout, print_lines))
        )

    run(work)


def upgrade(
    image: Image = "",
    brokers: Brokers = "",
    profile: Annotated[
        str, typer.Option(help="Default: that of the installation; another keeps no option.")
    ] = "",
    values: Values = None,
    namespace: Installed = RELEASE,
    dry_run: DryRun = False,
    timeout: Timeout = 300.0,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Upgrade an installation to this release, or change its options; others are kept.

    Example: millrace upgrade --image registry.example/millrace:1.1
    """

    async def upgraded(target: Target) -> None:
        before = await installed(target, namespace)
        if before is None:
            raise Misused(
                f"no millrace is installed in namespace {namespace}: `millrace install` does it"
            )
        name = profile or before.wanted.profile
        kept = dict(before.wanted.values) if name == before.wanted.profile else {}
        chosen = kept | values_of_files(name, values or [])
        wanted = wanted_of(name, namespace, image=image, brokers=brokers, values=chosen)
        if dry_run:
            _print_manifest(wanted)
            return
        await upgrade_in(target, wanted, Waiting(timeout, print_lines))

    run(lambda: _with_target(kubeconfig, upgraded))


def uninstall(
    namespace: Installed = RELEASE,
    timeout: Timeout = 300.0,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Remove an installation; Jobs, their definitions, bundles and topics stay.

    Pods of jobs go on running, and nobody looks after them until millrace is installed again.
    """
    run(
        lambda: _with_target(
            kubeconfig,
            lambda target: uninstall_in(target, namespace, Waiting(timeout, print_lines)),
        )
    )


async def _with_target(kubeconfig: Path | None, work: Callable[[Target], Awaitable[None]]) -> None:
    async with aclosing_transport(find_kubeconfig(kubeconfig)) as transport:
        target = Target(transport)
        await target.version()
        await work(target)


def _print_manifest(wanted: Wanted) -> None:
    # Values that occur twice must not become aliases.
    apart = [json.loads(json.dumps(each)) for each in in_order(manifest_of(wanted))]
    text = yaml.safe_dump_all(apart, sort_keys=False, width=100)
    answer_lines(text, end="")
