"""Refusals, status and messages of `millrace real`, without starting anything."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import pytest

from cli.failing import Failure, Misused, TimedOut
from cli.ports import PORTS, free_ports
from tools.real import building
from tools.real.building import build_of, checked_java, linker_flags
from tools.real.commands import status_table
from tools.real.pair import Pair, PartStatus, existing_pair, kafka_cluster_id
from tools.real.pins import Pins
from tools.real.preparing import node_object, node_problem
from tools.real.probing import broker_count, kafka_problem, metadata_request, until
from tools.real.progress import Progress
from tools.real.state import PairFolder, PairPlan, locked

PINS = Pins("no-such-build", {"go": "1.26.0", "kubernetes": "1.36.3"})


def program(folder: Path, name: str, says: str, code: int = 0) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    file.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with Java alone on it, and an empty cache."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder, "java", 'openjdk version "21.0.4" 2024-07-16')
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


async def test_without_go_one_sentence_names_what_to_install(path: Path) -> None:
    with pytest.raises(Misused, match=r"Go 1\.26\.0 or newer .* not found: install it"):
        await build_of(PINS, Progress())


async def test_an_older_go_is_named(path: Path) -> None:
    program(path, "go", "go1.22.1")
    with pytest.raises(Misused, match=r"`go` is go1\.22\.1"):
        await build_of(PINS, Progress())


async def test_a_go_that_refuses_the_pins_is_too_old(path: Path) -> None:
    program(path, "go", "go: go.mod requires go >= 1.26.0", code=1)
    with pytest.raises(Misused, match="`go` is older"):
        await build_of(PINS, Progress())


async def test_without_maven_one_sentence_names_what_to_install(path: Path) -> None:
    program(path, "go", "go1.26.8")
    with pytest.raises(Misused, match=r"Maven is needed .* not found: install it"):
        await build_of(PINS, Progress())


async def test_a_java_that_is_too_old_is_named(path: Path) -> None:
    program(path, "java", 'openjdk version "11.0.2"')
    with pytest.raises(Misused, match=r"Java 17 or newer .* `java` is 11"):
        await checked_java()


async def test_without_java_one_sentence_names_what_to_install(path: Path) -> None:
    (path / "java").unlink()
    with pytest.raises(Misused, match="`java` was not found: install it"):
        await checked_java()


async def test_a_build_that_fails_leaves_nothing_behind(path: Path) -> None:
    """A half build is never used."""
    program(path, "go", "go1.26.8")
    program(path, "mvn", "no route", code=1)
    with pytest.raises(Failure, match="no route"):
        await build_of(PINS, Progress())
    assert [entry.name for entry in building.cache_folder().iterdir()] == [".no-such-build.lock"]


def test_the_version_is_linked_into_the_programs() -> None:
    assert "component-base/version.gitVersion=v1.36.3" in linker_flags("1.36.3")
    assert "component-base/version.gitMinor=36" in linker_flags("1.36.3")


def test_settings_name_an_existing_pair_only_together(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch()
    both = {"MILLRACE_KUBECONFIG": str(kubeconfig), "MILLRACE_BOOTSTRAP_SERVERS": "a:1,b:2"}
    assert existing_pair({}) is None
    assert existing_pair(both) == Pair(kubeconfig, "a:1,b:2")
    for name in both:
        with pytest.raises(Misused, match="set both"):
            existing_pair({name: both[name]})


def test_settings_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    with pytest.raises(Misused, match="no file /nowhere"):
        existing_pair({"MILLRACE_KUBECONFIG": "/nowhere", "MILLRACE_BOOTSTRAP_SERVERS": "a:1"})
    file = {"MILLRACE_KUBECONFIG": __file__}
    for brokers in ("a", "a:b", "a:99999"):
        with pytest.raises(Misused, match="HOST:PORT"):
            existing_pair({**file, "MILLRACE_BOOTSTRAP_SERVERS": brokers})


def test_the_last_line_can_be_evaluated_by_a_shell() -> None:
    assert Pair(Path("/a/k"), "h:1,h:2").line == "KUBECONFIG=/a/k BOOTSTRAP_SERVERS=h:1,h:2"
    assert Pair(Path("/a b/k"), "h:1").line == "KUBECONFIG='/a b/k' BOOTSTRAP_SERVERS=h:1"


def test_a_folder_that_holds_something_else_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(Misused, match="holds no pair"):
        PairFolder(tmp_path).remove()
    assert (tmp_path / "thesis.tex").exists()


async def test_a_file_in_the_place_of_the_folder_is_refused_and_stays(tmp_path: Path) -> None:
    """Nor can a pair lie inside of it: the message names it, in one sentence."""
    file = tmp_path / "thesis.tex"
    file.touch()
    assert PairFolder(file).plan() is None
    with pytest.raises(Misused, match=r"thesis\.tex is not a folder"):
        PairFolder(file).remove()
    with pytest.raises(Misused, match=r"thesis\.tex/pair cannot be made: .*another --state"):
        async with locked(file / "pair", print):
            pass
    assert file.exists()


def test_a_folder_remembers_its_plan_and_goes_with_all_it_holds(tmp_path: Path) -> None:
    folder = PairFolder(tmp_path / "pair")
    plan = PairPlan("d", "/b", "/j", 1, {"kafka-1": 20_001}, "c")
    folder.prepare(plan)
    assert folder.plan() == plan
    assert plan.bootstrap_servers == "127.0.0.1:20001"
    folder.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_plan_of_another_version_is_no_plan(tmp_path: Path) -> None:
    (tmp_path / "pair.json").write_text('{"digest": "d"}')
    assert PairFolder(tmp_path).plan() is None


async def test_one_command_at_a_time_works_on_a_pair(tmp_path: Path) -> None:
    lines: list[str] = []
    order: list[str] = []

    async def second() -> None:
        async with locked(tmp_path / "pair", lines.append):
            order.append("second")

    async with locked(tmp_path / "pair", lines.append):
        other = asyncio.create_task(second())
        await asyncio.sleep(0)
        assert len(lines) == 1
        order.append("first")
    await other
    assert order == ["first", "second"]


class FirstPorts:
    """Draws the same port again and again, then the next."""

    def __init__(self) -> None:
        self.draws = 0

    def choice(self, ports: range) -> int:
        self.draws += 1
        return ports[self.draws // 3]


def test_ports_are_all_different_and_below_those_of_outgoing_connections() -> None:
    ports = free_ports(5, FirstPorts())  # type: ignore[arg-type]
    assert len(set(ports)) == 5
    assert all(port in PORTS for port in ports)
    assert PORTS.stop <= 32_768


def test_nodes_are_usable_when_ready_and_untainted() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    tainted = {"spec": {"taints": [{"key": "not-ready"}]}, "status": ready}
    assert node_problem([{"spec": {}, "status": ready}], 1) == ""
    assert node_problem([tainted], 1) == "0 of 1 are ready and untainted"
    assert node_problem([node_object(0) | {"spec": {}}], 1) != ""


def test_every_node_has_an_address_of_its_own() -> None:
    addresses = {node_object(number)["status"]["addresses"][0]["address"] for number in range(300)}
    assert len(addresses) == 300


def test_a_metadata_request_begins_with_its_length() -> None:
    request = metadata_request(correlation=7)
    assert struct.unpack(">i", request[:4])[0] == len(request) - 4
    assert struct.unpack(">hhi", request[4:12]) == (3, 1, 7)


def test_the_answer_to_another_request_is_refused() -> None:
    assert broker_count(struct.pack(">ii", 7, 3), correlation=7) == 3
    with pytest.raises(ValueError, match="another request"):
        broker_count(struct.pack(">ii", 8, 3), correlation=7)


async def test_a_broker_has_to_know_of_the_others() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(4), "big")
        await reader.readexactly(size)
        writer.write(struct.pack(">iii", 8, 1, 2))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        assert await kafka_problem(f"{host}:{port}", 2) == ""
        assert await kafka_problem(f"{host}:{port}", 3) == "knows 2 of 3 brokers"


async def test_a_port_without_a_listener_is_no_broker() -> None:
    [port] = free_ports(1, FirstPorts())  # type: ignore[arg-type]
    assert "does not answer" in await kafka_problem(f"127.0.0.1:{port}", 1)


async def test_a_time_out_reports_the_last_problem_and_the_log() -> None:
    async def problem() -> str:
        return "asleep"

    with pytest.raises(TimedOut, match="etcd is not ready after 0 s: asleep\nits log"):
        await until(problem, "etcd is not ready", 0.0, lambda: ["its log"])


def test_the_table_has_the_problem_of_an_unhealthy_part() -> None:
    parts = [PartStatus("etcd", 1, "3.6.8", "", 7, 50_000_000, 3.0), PartStatus("kwok", 2, "", "x")]
    table = status_table(parts, 1000.0)
    columns = {str(column.header): list(map(str, column.cells)) for column in table.columns}
    assert columns["health"] == ["healthy", "x"]
    assert columns["memory"] == ["50 MB", ""]


def test_no_cluster_id_of_kafka_looks_like_an_option() -> None:
    """One in 64 would, and its formatting tool refused it."""
    ids = {kafka_cluster_id(bytes([first]) + bytes(15)) for first in range(256)}
    assert not any(each.startswith("-") for each in ids)
    assert {len(each) for each in ids} == {22}
