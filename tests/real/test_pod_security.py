"""Pod Security admission of a real API server refuses what our table refuses, and nothing else.

Each case of `tests/pod_security_cases.py` is asked of a namespace that enforces its level, as a pod
that is never stored. What no pod can be in any namespace (status 422) cannot be compared.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from services.chassis.kube.http import HttpTransport, load_configuration
from services.fusion_backend.core.spec.pod_security import CONTROLS, Level, excesses
from tests.pod_security_cases import CASES, Case

COVERS = ("services/fusion_backend/core/spec/pod_security.py", "sandbox/controllers/admission.py")

SETTING = "MILLRACE_KUBECONFIG"
NEVER_VALID = {"HostProcess", "/proc mount type", "privileged containers"}
"""Controls whose field no valid pod can have by itself: on Windows, without `hostUsers`, or because
the API server itself is started without `--allow-privileged`."""
LEVELS = (Level.BASELINE, Level.RESTRICTED)
CREATED, FORBIDDEN, INVALID = 201, 403, 422

Json = dict[str, Any]


@pytest.mark.real
def test_pod_security_admission_decides_as_our_table_does() -> None:
    if SETTING not in os.environ:
        pytest.skip(f"{SETTING} is not set: `make real-up` brings up a real API server")
    answers = asyncio.run(_asked(os.environ[SETTING]))
    wrong = [
        f"{case} = {value!r} at {level}: {status}"
        for case, value, level, status in answers
        if (status == FORBIDDEN) != bool(excesses(_pod(case, value), level, "pod"))
        and status != INVALID
    ]
    assert wrong == []
    seen = {(case.control, status) for case, value, _, status in answers}
    for status in (CREATED, FORBIDDEN):
        compared = {control for control, each in seen if each == status}
        ours = {case.control for case in CASES if not case.of_standards}
        assert compared | NEVER_VALID | ours == {each.name for each in CONTROLS}


def _pod(case: Case, value: Any) -> Json:
    """A pod of its template; ephemeral containers come later than a pod."""
    template = case.template(value)
    del template["spec"]["ephemeralContainers"]
    return template


def _questions() -> Iterator[tuple[Case, Any, Level]]:
    for case in CASES:
        if case.of_standards and not case.path.startswith("spec/ephemeralContainers"):
            for value in (case.refused, *case.allowed):
                yield case, value, case.level


async def _asked(kubeconfig: str) -> list[tuple[Case, Any, Level, int]]:
    transport = HttpTransport(await load_configuration(kubeconfig))
    run = f"pss-{secrets.token_hex(3)}"
    try:
        for level in LEVELS:
            await _begin_namespace(transport, f"{run}-{level}", level)
        return [
            (case, value, level, await _created(transport, f"{run}-{level}", _pod(case, value)))
            for case, value, level in _questions()
        ]
    finally:
        for level in LEVELS:
            await _request(transport, "DELETE", f"/api/v1/namespaces/{run}-{level}")
        await transport.close()


async def _begin_namespace(transport: HttpTransport, name: str, level: Level) -> None:
    marks = {"pod-security.kubernetes.io/enforce": level.value}
    namespace = {"metadata": {"name": name, "labels": marks}}
    assert await _request(transport, "POST", "/api/v1/namespaces", namespace) == CREATED
    account = {"metadata": {"name": "default"}}
    # The account may be there already; without one no pod is taken.
    path = f"/api/v1/namespaces/{name}/serviceaccounts"
    assert await _request(transport, "POST", path, account) in (CREATED, 409)


async def _created(transport: HttpTransport, namespace: str, pod: Json) -> int:
    body = {**pod, "metadata": {**pod["metadata"], "name": "asked"}}
    return await _request(
        transport, "POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", body
    )


async def _request(
    transport: HttpTransport, method: str, path: str, body: Json | None = None
) -> int:
    answer = await transport.request(
        method,
        path,
        body=None if body is None else orjson.dumps(body),
        headers={"accept": "application/json", "content-type": "application/json"},
    )
    return answer.status
