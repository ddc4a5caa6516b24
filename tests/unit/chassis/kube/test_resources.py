"""A kind of fact is served where the API server says."""

from __future__ import annotations

import pytest

from contracts.facts import KINDS
from services.chassis.kube.resources import resource_of
from tests.sandboxed import kind_of, new_cluster


@pytest.mark.parametrize("kind", KINDS)
def test_the_resource_of_a_kind_is_the_one_that_the_api_server_serves(kind: str) -> None:
    """A wrong scope would be found only by the first GET of such an object."""
    resource = resource_of(kind)
    served = kind_of(new_cluster(now=lambda: 0.0, nodes=0).store, resource.plural)
    assert (resource.group, resource.version) == (served.group, served.version)
    assert (resource.kind, resource.namespaced) == (served.kind, served.namespaced)


def test_a_bound_pod_is_read_as_the_pod_that_it_is() -> None:
    """BoundPod is a kind of fact only: two projections, one object."""
    assert resource_of("BoundPod") == resource_of("Pod")


def test_a_kind_that_nobody_watches_has_no_resource() -> None:
    with pytest.raises(KeyError):
        resource_of("Secret")
