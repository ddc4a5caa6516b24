"""Pods are processes of this machine: with files, variables, addresses, logs and exit codes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.store.resources import CONFIG_MAP
from tests.unit.sandbox.containers.running import (
    BOOTSTRAP,
    IMAGE,
    container,
    pod,
    processes_of,
    running,
)


async def test_a_pod_runs_its_program_with_files_variables_and_an_address_of_its_own(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        data = {"metadata": {"name": "conf"}, "data": {"aadl.xml": "<pe/>"}}
        cluster.create(data, CONFIG_MAP)
        script = 'cat "$MILLRACE_ROOT/etc/config/pe/aadl.xml"; echo; env | sort; exit 7'
        body = pod(
            "p",
            container(
                script,
                env=[
                    {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "LONG", "value": "$(NAME)-x"},
                ],
                volumeMounts=[{"name": "c", "mountPath": "/etc/config/pe"}],
            ),
            volumes=[{"name": "c", "configMap": {"name": "conf"}}],
        )
        cluster.create(body)
        await cluster.until_over("p")
        assert cluster.phase("p") == "Failed"
        assert (cluster.ended("p")["exitCode"], cluster.ended("p")["reason"]) == (7, "Error")
        lines = cluster.log("p").splitlines()
        assert lines[0] == "<pe/>"
        address = cluster.status("p")["podIP"]
        assert address.startswith("127.64.")
        assert {"NAME=p", "LONG=p-x", "GIVEN=yes", f"MILLRACE_POD_IP={address}"} <= set(lines)
        assert not any(line.startswith("SECRET") for line in lines)


async def test_the_path_of_a_program_in_an_image_is_a_command_of_this_machine(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        script = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
        words = [BOOTSTRAP, script]
        cluster.create(pod("p", {"name": "pe", "image": IMAGE, "args": words}))
        await cluster.until(lambda: cluster.phase("p") == "Running" and cluster.log("p"))
        pid = int(cluster.log("p"))
        assert cluster.container("p")["ready"]
        cluster.delete("p")
        await cluster.until(lambda: cluster.find("p") is None)
        assert not processes_of(pid)


async def test_a_followed_log_ends_with_the_container(tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.create(pod("p", container("echo one; sleep 0.2; echo two >&2")))
        await cluster.until(lambda: cluster.phase("p") == "Running")
        parts = [part async for part in cluster.followed("p").parts]
        assert b"".join(parts) == b"one\ntwo\n"


async def test_what_runs_ends_with_the_sandbox(tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.create(pod("p", container("echo $$$$; trap '' TERM; sleep 60 & wait")))
        await cluster.until(lambda: cluster.phase("p") == "Running" and cluster.log("p"))
        group = int(cluster.log("p"))
        assert processes_of(group)
    assert not processes_of(group)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts of its own need root")
async def test_what_a_container_mounts_to_read_only_it_cannot_write(tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        mounts = [
            {"name": "v", "mountPath": "/read", "readOnly": True},
            {"name": "w", "mountPath": "/write"},
            {"name": "w", "mountPath": "/both", "readOnly": True},
        ]
        script = "cd $MILLRACE_ROOT; for d in read write both; do touch $d/x && echo $d; done"
        volumes = [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]
        cluster.create(pod("p", container(script, volumeMounts=mounts), volumes=volumes))
        await cluster.until_over("p")
        lines = cluster.log("p").splitlines()
        assert "Read-only file system" in lines[0]
        assert lines[1:] == ["write", "both"]


async def test_a_program_may_be_a_file_of_a_volume_or_a_word_that_means_a_command(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        script = {"metadata": {"name": "c"}, "data": {"run": "#!/bin/sh\necho $1; exit 4\n"}}
        cluster.create(script, CONFIG_MAP)
        command = {
            "command": ["/opt/app/run", "/opt/app"],
            "volumeMounts": [{"name": "c", "mountPath": "/opt/app"}],
        }
        volumes = [{"name": "c", "configMap": {"name": "c", "defaultMode": 0o755}}]
        cluster.create(pod("p", {**container(""), **command}, volumes=volumes))
        missing = {**container(""), "command": ["no-such-program"]}
        cluster.create(pod("q", missing))
        await cluster.until_over("p")
        await cluster.until_over("q")
        assert (cluster.ended("p")["exitCode"], cluster.log("p")) == (4, "/opt/app\n")
        ended = cluster.ended("q")
        assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
        assert ended["message"] == 'exec: "no-such-program": not found in $PATH'


async def test_what_a_process_started_ends_with_it(tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.create(pod("p", container("echo $$$$; sleep 60 & sleep 60 & exit 0")))
        await cluster.until_over("p")
        assert cluster.phase("p") == "Succeeded"
        assert not processes_of(int(cluster.log("p")))
