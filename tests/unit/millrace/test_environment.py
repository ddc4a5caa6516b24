"""A PE reads its environment once; what is missing or wrong is named all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.runtime.endings import Ending
from millrace.runtime.environment import EnvironmentRefused, Repository, read_environment
from millrace.runtime.tracing import TraceLevel

LEAST = {
    "STREAMS_JOB_NAME": "shop",
    "STREAMS_INSTANCE_ID": "team",
    "STREAMS_PE_ID": "4",
    "STREAMS_PE_LAUNCH_COUNT": "3",
    "STREAMS_SAB_NAME": "shop.sab",
    "MILLRACE_JOB_UID": "3b0e4a2c-0000-4000-8000-000000000001",
    "MILLRACE_POD_IP": "10.0.0.7",
}


def test_the_least_environment_has_the_defaults_of_the_contract() -> None:
    found = read_environment(LEAST)
    assert (found.job, found.pe, found.launch, found.pod_ip) == ("shop", 4, 3, "10.0.0.7")
    assert found.gateway_url == "http://streams-api.team:10000"
    assert found.domain == "team"
    assert (found.runtime_trace, found.app_trace) == (TraceLevel.INFO, None)
    assert (found.transport_security, found.is_secure) == ("none", False)
    assert found.checkpoints is None
    assert found.hand_over_s == 30
    assert found.generation == 0
    assert found.paths.aadl == Path("/etc/config/pe/aadl.xml")
    assert found.paths.token == Path("/var/run/secrets/streams-api/token")
    assert found.paths.checkpoints("/checkpoint") == Path("/checkpoint")


def test_each_variable_that_is_given_counts() -> None:
    found = read_environment(
        LEAST
        | {
            "MILLRACE_GATEWAY_URL": "https://127.0.0.1:8443/",
            "MILLRACE_GENERATION": "4",
            "MILLRACE_HAND_OVER_SECONDS": "0",
            "MILLRACE_ROOT": "/var/pods/a",
            "STREAMS_PE_DOMAIN": "shop-pes.team.svc",
            "STREAMS_INITIAL_TRACE_LEVEL": "DEBUG",
            "STREAMS_APP_TRACE_LEVEL": "off",
            "STREAMS_TRANSPORT_SECURITY_TYPE": "TLSv1.2",
            "STREAMS_CHECKPOINT_REPOSITORY": "fileSystem",
            "STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION": '{ "Dir" : "/checkpoint" }',
        }
    )
    assert found.gateway_url == "https://127.0.0.1:8443"
    assert found.hand_over_s == 0
    assert found.generation == 4
    assert found.domain == "shop-pes.team.svc"
    assert (found.runtime_trace, found.app_trace) == (TraceLevel.DEBUG, TraceLevel.OFF)
    assert found.is_secure
    assert found.checkpoints == Repository("fileSystem", '{ "Dir" : "/checkpoint" }')


def test_a_root_is_the_prefix_of_every_path() -> None:
    paths = read_environment(LEAST | {"MILLRACE_ROOT": "/var/pods/a"}).paths
    every = [
        getattr(paths, name)
        for name, value in vars(type(paths)).items()
        if isinstance(value, property)
    ]
    assert len(every) == 11
    assert all(path.is_relative_to("/var/pods/a") for path in every)
    assert paths.checkpoints("/checkpoint") == Path("/var/pods/a/checkpoint")


def test_every_wrong_variable_is_named_in_one_error() -> None:
    wrong = {
        "STREAMS_JOB_NAME": "../shop",
        "STREAMS_PE_ID": "-1",
        "STREAMS_PE_LAUNCH_COUNT": "٣",
        "MILLRACE_JOB_UID": "a/b",
        "MILLRACE_POD_IP": "pod",
        "MILLRACE_GATEWAY_URL": "file:///etc/passwd",
        "MILLRACE_HAND_OVER_SECONDS": "nan",
        "STREAMS_INITIAL_TRACE_LEVEL": "loud",
        "STREAMS_TRANSPORT_SECURITY_TYPE": "rot13",
        "STREAMS_CHECKPOINT_REPOSITORY": "floppy",
        "STREAMS_SAB_NAME": "",
    }
    with pytest.raises(EnvironmentRefused) as caught:
        read_environment(LEAST | wrong)
    assert caught.value.ending is Ending.ENVIRONMENT_REFUSED
    for name in wrong:
        assert name in str(caught.value)
    assert "STREAMS_SAB_NAME is missing" in str(caught.value)
    assert "STREAMS_INSTANCE_ID" not in str(caught.value)


def test_an_empty_environment_names_all_that_is_required() -> None:
    with pytest.raises(EnvironmentRefused) as caught:
        read_environment({})
    for name in LEAST:
        assert f"{name} is missing" in str(caught.value)


def test_a_repository_without_its_configuration_is_refused() -> None:
    with pytest.raises(EnvironmentRefused, match="REPOSITORY_CONFIGURATION is missing"):
        read_environment(LEAST | {"STREAMS_CHECKPOINT_REPOSITORY": "redis"})
