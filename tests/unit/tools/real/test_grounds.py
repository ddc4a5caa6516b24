"""The ground of `up --real`: accounts of the services, and the end of the pair."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.children import Crew
from cli.grounds import Ground, server_of
from deploy.roles import NAMESPACE
from services.roster import NAMES
from tools.real import grounds
from tools.real.accounts import accounts_in, kubeconfig_of, path_of_document
from tools.real.pair import Pair, PairOptions, PartStatus
from tools.real.state import PairFolder

ADMIN: dict[str, Any] = {
    "clusters": [
        {"name": "other", "cluster": {"server": "https://other:1"}},
        {"name": "c", "cluster": {"server": "https://c:1", "certificate-authority": "ca.crt"}},
    ],
    "users": [{"name": "admin", "user": {"token": "of the administrator"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "admin"}}],
    "current-context": "x",
}


@pytest.fixture
def admin(tmp_path: Path) -> Path:
    file = tmp_path / "admin"
    file.write_text(yaml.safe_dump(ADMIN))
    return file


def test_every_service_has_an_account_of_its_own(tmp_path: Path) -> None:
    """And private files."""
    accounts = accounts_in(tmp_path / "accounts")
    assert {each.service for each in accounts} == set(NAMES)
    assert {each.namespace for each in accounts} == {NAMESPACE}
    files = {each.token for each in accounts} | {each.kubeconfig for each in accounts}
    assert len(files) == 2 * len(NAMES)
    assert stat.S_IMODE((tmp_path / "accounts").stat().st_mode) == 0o700


def test_every_document_of_an_account_has_its_place(tmp_path: Path) -> None:
    """The namespace comes before what is in it."""
    (account,) = (each for each in accounts_in(tmp_path) if each.service == "watch-ingest")
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    assert [path_of_document(each) for each in account.documents] == [
        "/api/v1/namespaces/millrace",
        "/api/v1/namespaces/millrace/serviceaccounts/watch-ingest",
        f"{rbac}/clusterroles/millrace-watch-ingest",
        f"{rbac}/clusterrolebindings/millrace-watch-ingest",
        f"{rbac}/namespaces/millrace/roles/millrace-watch-ingest",
        f"{rbac}/namespaces/millrace/rolebindings/millrace-watch-ingest",
    ]


def test_a_services_kubeconfig_has_the_cluster_and_nothing_of_the_administrator(
    admin: Path, tmp_path: Path
) -> None:
    account = next(iter(accounts_in(tmp_path / "accounts")))
    text = kubeconfig_of(admin, account)
    config = yaml.safe_load(text)
    assert "of the administrator" not in text
    assert config["users"] == [{"name": account.service, "user": {"tokenFile": str(account.token)}}]
    (cluster,) = config["clusters"]
    assert cluster["cluster"] == {
        "server": "https://c:1",
        "certificate-authority": str(tmp_path / "ca.crt"),
    }
    assert config["current-context"] == config["contexts"][0]["name"]


def test_the_server_is_that_of_the_current_context(admin: Path) -> None:
    (admin.parent / "ca.crt").touch()
    assert server_of(admin) == "https://c:1"


def test_a_service_without_an_account_gets_the_grounds_kubeconfig(admin: Path) -> None:
    """The sandbox does not authenticate."""
    ground = Ground("s", admin, "b", accounts={"watch-ingest": Path("its")})
    assert ground.account_of("watch-ingest") == Path("its")
    assert ground.account_of("fusion-backend") == admin


@pytest.mark.parametrize(
    ("problem", "ended"), [("", []), ("does not run", ["pair"]), (None, ["pair"])]
)
async def test_only_a_pair_that_was_brought_up_for_us_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str | None, ended: list[str]
) -> None:
    """A pair that a person brought up may be in use; `None`: no pair existed."""
    pair = Pair(tmp_path / "kubeconfig", "127.0.0.1:1", PairFolder(tmp_path))
    done: list[str] = []

    async def status(options: PairOptions) -> tuple[Pair | None, list[PartStatus]]:
        return (None, []) if problem is None else (pair, [PartStatus("etcd", 1, "3", problem)])

    async def up(options: PairOptions, progress: object) -> Pair:
        return pair

    async def down(options: PairOptions, progress: object) -> bool:
        done.append("pair")
        return True

    monkeypatch.setattr(grounds, "pair_status", status)
    monkeypatch.setattr(grounds, "pair_up", up)
    monkeypatch.setattr(grounds, "pair_down", down)

    async def use_in_vain() -> None:
        async with grounds.usable_pair(PairOptions(tmp_path)) as found:
            assert (found, done) == (pair, [])
            raise RuntimeError("something ended as it was used")

    with pytest.raises(RuntimeError, match="as it was used"):
        await use_in_vain()
    assert done == ended


async def test_stopping_children_that_never_started_is_no_failure(tmp_path: Path) -> None:
    """`up` can fail before its first service."""
    crew = Crew(tmp_path, None)
    await crew.stop(["watch-ingest"])
    assert crew.first_failure() is None
