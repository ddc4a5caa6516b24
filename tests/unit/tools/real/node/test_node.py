"""The real node of a pair: what it needs, where it listens, what it is made of."""

from __future__ import annotations

import io
import random
import re
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
import yaml
from cryptography import x509

from cli.failing import Failure, Misused
from tools.real.files import users_of
from tools.real.node import requiring
from tools.real.node.archives import image_name, write_image
from tools.real.node.certificates import (
    AUTHORITY,
    KUBELET_CLIENT,
    KUBELET_SERVER,
    write_certificates,
)
from tools.real.node.dns import DEPLOYMENT, dns_objects
from tools.real.node.namespaces import hierarchies, setup_commands
from tools.real.node.parts import (
    NODE_PROCESSES,
    cni_settings,
    containerd_settings,
    kubelet_settings,
    proxy_settings,
)
from tools.real.node.plan import KEY, NUMBERS, NodePlan, free_number
from tools.real.node.requiring import PACKAGES, missing_controllers, missing_packages
from tools.real.pair import Pair, PairOptions, check_node_options
from tools.real.parts import API_SERVER, CONTROLLER_MANAGER, SCHEDULER, parts_of, port_names
from tools.real.pins import STAGES, node_digest
from tools.real.processes import ProcessId
from tools.real.state import PairFolder, PairPlan

NODE = NodePlan(7, "1.6.20", "/node-build")
NOW = datetime(2026, 11, 26, tzinfo=UTC)


def plan(node: NodePlan | None = NODE) -> PairPlan:
    ports = {name: 20_000 + number for number, name in enumerate(port_names(1))}
    return PairPlan("digest", "/build", "/usr/bin/java", 1, ports, "cluster", node)


async def test_a_user_who_is_not_root_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(Misused, match="--node needs root") as refused:
        await requiring.checked_containerd()
    assert refused.value.exit_code == 2


def test_packages_that_are_missing_are_named_for_apt() -> None:
    everything = missing_packages(lambda _name: False, [])
    assert everything == sorted({*PACKAGES.values(), "containernetworking-plugins"})
    assert missing_packages(lambda _name: True, requiring.CNI_PLUGINS) == []
    assert missing_packages(lambda name: name != "runc", requiring.CNI_PLUGINS) == ["runc"]
    assert missing_packages(lambda _name: True, ["bridge"]) == ["containernetworking-plugins"]


async def test_the_sentence_about_packages_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(requiring, "_found", lambda name: name != "iptables")
    monkeypatch.setattr(requiring, "_plugins", lambda: requiring.CNI_PLUGINS)
    with pytest.raises(Misused, match=r"apt-get install -y --no-install-recommends iptables$"):
        await requiring.checked_containerd()


def test_controllers_that_a_kernel_lacks_are_named() -> None:
    rows = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t5\t1\nmemory\t2\t5\t0\n"
    assert missing_controllers(rows) == "no cgroup controller memory, pids"
    assert missing_controllers(rows.replace("5\t0", "5\t1") + "pids\t3\t1\t1\n") == ""


def test_options_of_a_node_need_a_node_and_a_pair_of_ours(tmp_path: Path) -> None:
    image = tmp_path / "image.tar"
    with pytest.raises(Misused, match="say --node too"):
        check_node_options(PairOptions(images=(image,)), None)
    with pytest.raises(Misused, match="there is no such file"):
        check_node_options(PairOptions(node=True, images=(image,)), None)
    image.touch()
    check_node_options(PairOptions(tmp_path, node=True, images=(image,)), None)
    with pytest.raises(Misused, match="for a pair that we start"):
        check_node_options(PairOptions(node=True), Pair(tmp_path, "broker:9092"))


def test_a_folder_that_the_node_cannot_see_is_refused() -> None:
    with pytest.raises(Misused, match="a real node has a /run of its own"):
        check_node_options(PairOptions(Path("/run/pair"), node=True), None)


def test_numbers_in_use_are_not_taken_again() -> None:
    taken = {f"millrace{number}" for number in NUMBERS if number != 9}
    assert free_number(taken, random.Random(1)) == 9
    with pytest.raises(Failure, match="in use"):
        free_number(taken | {"millrace9"}, random.Random(1))


def test_servers_listen_where_pods_reach_them_and_nobody_outside() -> None:
    assert plan().address(API_SERVER).startswith("10.200.7.1:")
    assert plan().address("kafka-1").startswith("10.200.7.1:")
    for name in (CONTROLLER_MANAGER, SCHEDULER, "etcd", "kafka-1-controller"):
        assert plan().address(name).startswith("127.0.0.1:")
    commands = [" ".join(part.command) for part in parts_of(plan(), Path("/pair")).values()]
    files = [
        yaml.safe_dump(make(NODE, Path("/pair"))) for make in (kubelet_settings, proxy_settings)
    ]
    assert not re.search(r"(?<![\d.])0\.0\.0\.0(?!/)", " ".join([*commands, *files]))


def test_a_pair_without_a_node_is_as_before() -> None:
    bare, with_node = (parts_of(plan(node), Path("/pair")) for node in (None, NODE))
    assert set(with_node) - set(bare) == {"node", *NODE_PROCESSES}
    server = bare[API_SERVER].command
    assert "--authorization-mode=RBAC" in server
    assert "--bind-address=127.0.0.1" in server
    assert not [word for word in server if "kubelet" in word]


def test_the_kubelet_is_a_user_of_its_own_that_the_server_limits() -> None:
    assert users_of(plan())["kubelet"] == ("system:node:real-node", "system:nodes")
    assert "kubelet" not in users_of(plan(None))
    server = parts_of(plan(), Path("/pair"))[API_SERVER].command
    assert "--authorization-mode=Node,RBAC" in server
    (plugins,) = (word for word in server if word.startswith("--enable-admission-plugins="))
    assert "NodeRestriction" in plugins


def test_kwok_plays_every_node_but_the_real_one() -> None:
    (configuration,) = yaml.safe_load_all((STAGES / "configuration.yaml").read_text())
    options = configuration["options"]
    assert options["manageAllNodes"] is False
    assert options["manageNodesWithLabelSelector"] == f"!{KEY}"
    command = parts_of(plan(), Path("/pair"))["kubelet"].command
    assert f"--node-labels={KEY}=true" in command


def test_pods_of_pes_stay_away_and_the_dns_does_not() -> None:
    (taint,) = kubelet_settings(NODE, Path("/pair"))["registerWithTaints"]
    assert taint == {"key": KEY, "effect": "NoSchedule"}
    pod = dns_objects()[DEPLOYMENT]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {KEY: "true"}
    assert pod["tolerations"] == [{"key": KEY, "operator": "Exists"}]


def test_nothing_is_written_outside_of_the_pairs_folder() -> None:
    own = Path("/pair/node")
    assert cni_settings(NODE, own)["plugins"][0]["ipam"]["dataDir"] == "/pair/node/addresses"
    assert "root = '/pair/node/containerd'" in containerd_settings(own)
    kubelet = kubelet_settings(NODE, Path("/pair"))
    assert {kubelet["volumePluginDir"], kubelet["podLogsDir"]} == {
        "/pair/node/plugins",
        "/pair/node/pod-logs",
    }
    assert kubelet["cgroupRoot"] == "/millrace-node-7"


def test_settings_of_the_kernel_are_files_and_folders_are_empty_within() -> None:
    commands = setup_commands(NODE, Path("/pair"), ProcessId(4711, 1, "boot"))
    within = [command for command in commands if "--target=4711" in command]
    assert [command[-1] for command in within if "tmpfs" in command] == [
        "/run",
        "/var/lib",
        "/var/log",
    ]
    for name in ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops"):
        (bound,) = (each for each in within if each[-1] == f"/proc/sys/{name}")
        assert bound[-3:-1] == ("--bind", f"/pair/node/kernel/{name.replace('/', '.')}")
    outside = [command for command in commands if command not in within]
    assert all(command[0] == "ip" for command in outside), "only the link is the machine's"


def test_cgroups_of_both_versions_are_found() -> None:
    text = (
        "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\ntmpfs /run tmpfs rw 0 0\nc /c2 cgroup2 rw 0 0\n"
    )
    assert hierarchies(text) == [Path("/sys/fs/cgroup/cpu"), Path("/c2")]


def test_an_image_holds_the_program_and_is_the_same_each_time(tmp_path: Path) -> None:
    program = tmp_path / "pause"
    program.write_bytes(b"ELF")
    for name in ("a.tar", "b.tar"):
        write_image(tmp_path / name, program, "pause")
    content = (tmp_path / "a.tar").read_bytes()
    assert content == (tmp_path / "b.tar").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        read = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        files = {name: file.read() for name, file in read.items() if file}
    (manifest,) = orjson.loads(files["manifest.json"])
    assert manifest["RepoTags"] == [image_name("pause")] == ["localhost/pause:1"]
    assert orjson.loads(files[manifest["Config"]])["config"]["Entrypoint"] == ["/pause"]
    with tarfile.open(fileobj=io.BytesIO(files["layer.tar"])) as layer:
        (entry,) = layer.getmembers()
        assert (entry.name, entry.mode) == ("pause", 0o755)


def test_the_server_and_the_kubelet_trust_one_authority(tmp_path: Path) -> None:
    write_certificates(tmp_path, NODE, NOW)
    authority, server, client = (
        x509.load_pem_x509_certificate((tmp_path / f"{name}.crt").read_bytes())
        for name in (AUTHORITY, KUBELET_SERVER, KUBELET_CLIENT)
    )
    for each in (server, client):
        each.verify_directly_issued_by(authority)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["10.200.7.2"]
    assert (tmp_path / f"{KUBELET_CLIENT}.key").stat().st_mode & 0o077 == 0


def test_a_plan_with_a_node_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = PairFolder(tmp_path / "pair")
    for each in (plan(), plan(None)):
        folder.prepare(each)
        assert folder.plan() == each


def test_another_dns_is_another_build_of_the_node(tmp_path: Path) -> None:
    (tmp_path / "node" / "dns").mkdir(parents=True)
    for name in ("go.mod", "go.sum", "node/go.mod", "node/dns/main.go"):
        (tmp_path / name).write_text(name)
    before = node_digest(tmp_path)
    (tmp_path / "node/dns/main.go").write_text("another")
    assert node_digest(tmp_path) != before
