"""An API on an empty store under a clock that stands still."""

from __future__ import annotations

import itertools

import pytest

from sandbox.http.api import Api
from sandbox.store.store import Store
from tests.unit.sandbox.http.asking import NOW_S, WIDGET_DEFINITION, Asker


@pytest.fixture
def store() -> Store:
    numbers = itertools.count(1)
    return Store(now=lambda: NOW_S, new_uid=lambda: f"uid-{next(numbers)}")


@pytest.fixture
def api(store: Store) -> Api:
    return Api(store, now=lambda: NOW_S + 90)


@pytest.fixture
def asker(api: Api) -> Asker:
    return Asker(api)


@pytest.fixture
def with_widgets(asker: Asker) -> Asker:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    answer = asker.ask("POST", path, WIDGET_DEFINITION)
    assert answer.status == 201, answer.body
    return asker
