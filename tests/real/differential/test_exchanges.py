"""The sandbox answers as kube-apiserver does, exchange by exchange."""

from __future__ import annotations

import pytest

from tests.real.differential.allowed import ALLOWED
from tests.real.differential.catalogue import BY_TOPIC, EXCHANGES
from tests.real.differential.comparing import differences, surprises
from tests.real.differential.conftest import Bout
from tests.real.differential.steps import Exchange

EXCHANGES_MIN = 1000


@pytest.mark.real
@pytest.mark.parametrize(
    "exchange",
    [
        pytest.param(each, id=each.name, marks=pytest.mark.piece(f"comparisons/{topic}"))
        for topic, exchanges in BY_TOPIC.items()
        for each in exchanges
    ],
)
def test_both_sides_answer_alike(bout: Bout, exchange: Exchange) -> None:
    """Status, body and events agree, except in the places where they need not."""
    sandbox, real = bout.play(exchange)
    found = surprises(differences(sandbox, real), ALLOWED.get(exchange.name, ()))
    assert not found, "\n".join([exchange.name, *found])


def test_every_exchange_has_a_name_of_its_own() -> None:
    """Names are what the list of allowed differences goes by."""
    names = [exchange.name for exchange in EXCHANGES]
    assert len(names) == len(set(names))
    assert ALLOWED.keys() <= set(names)


def test_a_difference_beside_the_allowed_place_fails() -> None:
    """An allowed place covers itself and what is in it, and nothing else of the exchange."""
    sandbox = [{"status": 400, "body": {"message": "a", "causes": [1]}}]
    real = [{"status": 422, "body": {"message": "b", "causes": [1, 2]}}]
    found = differences(sandbox, real)
    assert not surprises(found, ["0.status", "0.body"])
    assert not surprises(found, ["0.status", "0.body.message", "0.body.causes.1"])
    assert len(surprises(found, ["0.body"])) == 1
    assert len(surprises(found, ["0.status", "0.body.mess", "0.body.causes"])) == 2


def test_an_allowed_place_that_agrees_fails() -> None:
    """What is repaired has to leave the list."""
    alike = [{"status": 200}]
    (said,) = surprises(differences(alike, alike), ["0.status"])
    assert said == "0.status: agrees, take it out of the list"


def test_there_are_enough_exchanges(capsys: pytest.CaptureFixture[str]) -> None:
    """The number of exchanges is printed and only ever rises."""
    requests = sum(len(exchange.steps) for exchange in EXCHANGES)
    with capsys.disabled():
        print(f"\n{len(EXCHANGES)} exchanges, {requests} requests on each side")  # noqa: T201
    assert len(EXCHANGES) >= EXCHANGES_MIN
