"""The processes of a pair and their command lines. Pure: paths and ports come from the plan.

`launching.py` starts them in order; `files.py` writes the files that are named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.real.node.certificates import AUTHORITY, KUBELET_CLIENT
from tools.real.node.namespaces import NODE, holding_command
from tools.real.node.parts import CONTAINERD, NODE_PORTS, node_commands
from tools.real.node.plan import NodePlan
from tools.real.pins import STAGES
from tools.real.state import PairPlan

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"
# Stopped in this order: first the clients of the API server, the brokers together with etcd.
FOLLOWERS = (KWOK, SCHEDULER, CONTROLLER_MANAGER)
HEAP_MB_MAX = 512
ISSUER = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class Part:
    """One process: its command, its port, and the product that it belongs to.

    `in_node`: it is started in the namespaces of the real node.
    """

    name: str
    command: tuple[str, ...]
    port: int
    product: str  # a name of Pins.versions, or containerd
    in_node: bool = False


def broker_name(number: int) -> str:
    """The name of a broker, counted from 1."""
    return f"kafka-{number}"


def broker_names(plan: PairPlan) -> tuple[str, ...]:
    """The names of all brokers."""
    return tuple(broker_name(number) for number in range(1, plan.brokers + 1))


def port_names(brokers: int) -> tuple[str, ...]:
    """Every port that a pair needs, by name."""
    kube = (ETCD, "etcd-peer", API_SERVER, CONTROLLER_MANAGER, SCHEDULER, KWOK)
    names = [broker_name(number) for number in range(1, brokers + 1)]
    return (*kube, *names, *(f"{name}-controller" for name in names))


def parts_of(plan: PairPlan, folder: Path) -> Mapping[str, Part]:
    """Every part of the pair, by name."""
    parts = [
        _etcd(plan, folder),
        _api_server(plan, folder),
        _controller_manager(plan, folder),
        _scheduler(plan, folder),
        _kwok(plan, folder),
        *(_broker(plan, folder, name) for name in broker_names(plan)),
        *(_node_parts(plan.node, folder) if plan.node else ()),
    ]
    return {part.name: part for part in parts}


def _program(plan: PairPlan, name: str) -> str:
    return str(Path(plan.build) / "bin" / name)


def _etcd(plan: PairPlan, folder: Path) -> Part:
    client = f"http://{plan.address(ETCD)}"
    peer = f"http://{plan.address('etcd-peer')}"
    command = (
        _program(plan, "server"),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # tests outlive a crash of a process, not one of the machine
        "--log-level=warn",
    )
    return Part(ETCD, command, plan.ports[ETCD], "etcd")


def _api_server(plan: PairPlan, folder: Path) -> Part:
    key = folder / "kube" / "service-account.key"
    command = (
        _program(plan, API_SERVER),
        f"--etcd-servers=http://{plan.address(ETCD)}",
        f"--bind-address={plan.host}",
        # Without it, kube-apiserver picks an address of the machine that is not loopback.
        f"--advertise-address={plan.host}",
        f"--secure-port={plan.ports[API_SERVER]}",
        f"--cert-dir={folder / 'kube' / API_SERVER}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--service-account-issuer={ISSUER}",
        f"--token-auth-file={folder / 'kube' / 'tokens.csv'}",
        "--profiling=false",
        *(_for_kubelets(folder) if plan.node else _WITHOUT_KUBELETS),
    )
    return Part(API_SERVER, command, plan.ports[API_SERVER], "kubernetes")


_WITHOUT_KUBELETS = ("--authorization-mode=RBAC", "--endpoint-reconciler-type=none")


def _for_kubelets(folder: Path) -> tuple[str, ...]:
    """It connects to the kubelet for `exec` and logs, and pods find it as `kubernetes.default`."""
    kube = folder / "kube"
    return (
        "--authorization-mode=Node,RBAC",
        # The two others let a namespace say that its pods run on the real node.
        "--enable-admission-plugins=NodeRestriction,PodNodeSelector,PodTolerationRestriction",
        f"--kubelet-certificate-authority={kube / AUTHORITY}.crt",
        f"--kubelet-client-certificate={kube / KUBELET_CLIENT}.crt",
        f"--kubelet-client-key={kube / KUBELET_CLIENT}.key",
        "--kubelet-preferred-address-types=InternalIP",
    )


def _controller_manager(plan: PairPlan, folder: Path) -> Part:
    kubeconfig = folder / "kube" / f"{CONTROLLER_MANAGER}.kubeconfig"
    command = (
        _program(plan, CONTROLLER_MANAGER),
        *_secure(plan, folder, CONTROLLER_MANAGER, kubeconfig),
        f"--service-account-private-key-file={folder / 'kube' / 'service-account.key'}",
        "--use-service-account-credentials",
        "--horizontal-pod-autoscaler-sync-period=2s",  # the default is 15 s; tests wait for it
        # Or the ConfigMap kube-root-ca.crt, which every pod with a token mounts, is never made.
        *((f"--root-ca-file={api_server_certificate(folder)}",) if plan.node else ()),
    )
    return Part(CONTROLLER_MANAGER, command, plan.ports[CONTROLLER_MANAGER], "kubernetes")


def _scheduler(plan: PairPlan, folder: Path) -> Part:
    kubeconfig = folder / "kube" / f"{SCHEDULER}.kubeconfig"
    command = (_program(plan, SCHEDULER), *_secure(plan, folder, SCHEDULER, kubeconfig))
    return Part(SCHEDULER, command, plan.ports[SCHEDULER], "kubernetes")


def _secure(plan: PairPlan, folder: Path, name: str, kubeconfig: Path) -> tuple[str, ...]:
    return (
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={plan.ports[name]}",
        f"--cert-dir={folder / 'kube' / name}",
        "--leader-elect=false",  # there is no other instance, and a paused one must not end itself
        "--profiling=false",
    )


def _kwok(plan: PairPlan, folder: Path) -> Part:
    command = (
        _program(plan, KWOK),
        f"--kubeconfig={folder / 'kube' / 'kwok.kubeconfig'}",
        f"--server-address={plan.address(KWOK)}",
        *(f"--config={file}" for file in sorted(STAGES.glob("*.yaml"))),
    )
    return Part(KWOK, command, plan.ports[KWOK], "kwok")


def api_server_certificate(folder: Path) -> Path:
    """The certificate that the API server has signed for itself; it holds the authority too."""
    return folder / "kube" / API_SERVER / "apiserver.crt"


def _node_parts(node: NodePlan, folder: Path) -> tuple[Part, ...]:
    holder = Part(NODE, holding_command(node), 0, "kubernetes")
    return (
        holder,
        *(
            Part(name, command, NODE_PORTS[name], _product(name), in_node=True)
            for name, command in node_commands(node, folder).items()
        ),
    )


def _product(name: str) -> str:
    return CONTAINERD if name == CONTAINERD else "kubernetes"


def _broker(plan: PairPlan, folder: Path, name: str) -> Part:
    own = folder / name
    command = (*java_command(plan, folder), "kafka.Kafka", str(own / "server.properties"))
    return Part(name, command, plan.ports[name], "kafka")


def java_command(plan: PairPlan, folder: Path) -> tuple[str, ...]:
    """java with Kafka's jars; logs to stdout, and writes only below the folder."""
    return (
        plan.java,
        f"-Xmx{HEAP_MB_MAX}m",
        # A broker of a pair lives for minutes: compiled a second time, and collected in threads of
        # its own, it takes more of the cores than it ever saves.
        *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        f"-XX:ErrorFile={folder / 'logs'}/java-%p.log",
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        "-cp",
        f"{Path(plan.build) / 'libs'}/*",
    )


def format_command(plan: PairPlan, folder: Path, name: str, *more: str) -> tuple[str, ...]:
    """The command that formats the folder of a broker before its first start."""
    properties = str(folder / name / "server.properties")
    tool = ("kafka.tools.StorageTool", "format", "-t", plan.cluster_id, "-c", properties)
    return (*java_command(plan, folder), *tool, *more)
