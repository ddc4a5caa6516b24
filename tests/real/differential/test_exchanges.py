"""The sandbox answers as kube-apiserver does, exchange by exchange."""

from __future__ import annotations

import pytest

from tests.real.differential.allowed import ALLOWED
from tests.real.differential.catalogue import EXCHANGES
from tests.real.differential.comparing import differences
from tests.real.differential.conftest import Bout
from tests.real.differential.steps import Exchange

EXCHANGES_MIN = 300


@pytest.mark.real
@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda exchange: exchange.name)
def test_both_sides_answer_alike(bout: Bout, exchange: Exchange) -> None:
    """Status, headers, body and events agree; what is allowed to differ does differ."""
    sandbox, real = bout.play(exchange)
    found = differences(sandbox, real)
    if exchange.name in ALLOWED:
        assert found, f"nothing differs any more: take {exchange.name!r} out of the list"
        return
    assert not found, "\n".join([exchange.name, *found])


def test_every_exchange_has_a_name_of_its_own() -> None:
    """Names are what the list of allowed differences goes by."""
    names = [exchange.name for exchange in EXCHANGES]
    assert len(names) == len(set(names))
    assert ALLOWED.keys() <= set(names)


def test_there_are_enough_exchanges(capsys: pytest.CaptureFixture[str]) -> None:
    """The number of exchanges is printed and only ever rises."""
    requests = sum(len(exchange.steps) for exchange in EXCHANGES)
    with capsys.disabled():
        print(f"\n{len(EXCHANGES)} exchanges, {requests} requests on each side")  # noqa: T201
    assert len(EXCHANGES) >= EXCHANGES_MIN
