"""Which images run here, and what the paths in them mean."""

from __future__ import annotations

import pytest

from sandbox.containers.programs import Programs, matches

PATTERN = "millrace/runtime*"


@pytest.mark.parametrize(
    "image",
    [
        "millrace/runtime",
        "localhost/millrace/runtime:dev",
        "registry.test:5000/a/b/millrace/runtime@sha256:0a",
        "millrace/runtime-debug:6.debug",
    ],
)
def test_registry_prefix_tag_and_digest_do_not_count(image: str) -> None:
    assert matches(PATTERN, image)


@pytest.mark.parametrize(
    "image", ["runtime", "millrace/other", "notmillrace/runtime", "millrace/runtime/deeper", ""]
)
def test_an_image_of_another_repository_does_not_run(image: str) -> None:
    assert not matches(PATTERN, image)


def test_a_pod_runs_only_if_the_images_of_all_its_containers_do() -> None:
    programs = Programs((PATTERN, "tools"))
    ours, tool, other = ({"image": each} for each in ("millrace/runtime:1", "tools", "nginx"))
    assert programs.runs({"spec": {"containers": [ours], "initContainers": [tool]}})
    assert not programs.runs({"spec": {"containers": [ours, other]}})
    assert not programs.runs({"spec": {"containers": [ours], "initContainers": [other]}})
    assert not programs.runs({"spec": {}})


def test_the_first_word_of_a_command_may_be_a_path_that_means_a_command_here() -> None:
    programs = Programs((), {"/bin/boot": ("python", "-m", "it")})
    assert programs.command_of({"args": ["/bin/boot", "-x"]}) == ("python", "-m", "it", "-x")
    assert programs.command_of({"command": ["sh"], "args": ["/bin/boot"]}) == ("sh", "/bin/boot")
    assert programs.command_of({}) == ()
