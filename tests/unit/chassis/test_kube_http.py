"""The transport's credentials; its requests are the contract suite's business."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from services.chassis.clock import LoopClock
from services.chassis.kube_http import TOKEN_REREAD_S, load_configuration
from tests.virtual_time import virtually


def write_kubeconfig(folder: Path, user: dict[str, str]) -> Path:
    file = folder / "kubeconfig"
    content = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "other", "user": {}}, {"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(yaml.safe_dump(content))
    return file


@virtually
async def test_a_token_in_a_file_is_read_again_every_minute(tmp_path: Path) -> None:
    """Whoever runs us renews it before it ends; nobody starts us again for that."""
    clock, token = LoopClock(), tmp_path / "token"
    token.write_text("first\n")
    configuration = await load_configuration(
        str(write_kubeconfig(tmp_path, {"tokenFile": "token"}))
    )
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer first"
    token.write_text("second")
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer first"
    await clock.sleep(TOKEN_REREAD_S)
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer second"
    token.unlink()
    await clock.sleep(TOKEN_REREAD_S)
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer second"


@pytest.mark.parametrize(
    ("user", "header"), [({"token": "fixed"}, "Bearer fixed"), ({}, None)], ids=["token", "none"]
)
async def test_a_kubeconfig_without_a_token_file_is_as_it_was(
    tmp_path: Path, user: dict[str, str], header: str | None
) -> None:
    configuration = await load_configuration(str(write_kubeconfig(tmp_path, user)))
    assert await configuration.get_api_key_with_prefix("BearerToken") == header
