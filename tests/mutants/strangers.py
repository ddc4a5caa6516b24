"""Mutants of connections without a token: who comes in, and who is closed."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_SERVING = "services/pe_gateway/adapters/serving.py"
_STRANGERS = "services/pe_gateway/adapters/strangers.py"
_TESTS = ("tests/unit/pe_gateway/test_strangers.py",)

MUTANTS = (
    Mutant(
        "a connection stays open after 401",
        _SERVING,
        "_BoundedServer._handle",
        "response.force_close()",
        "pass",
        _TESTS,
    ),
    Mutant(
        "connections without a token keep new PEs out",
        _SERVING,
        "_BoundedServer._arrived",
        "self._strangers.make_room()",
        "handler.force_close()",
        _TESTS,
    ),
    Mutant(
        "a PE is closed for a newer connection",
        _SERVING,
        "_BoundedServer._answer",
        "partial(self._strangers.forget, request.protocol)",
        "partial(str)",
        _TESTS,
    ),
    Mutant(
        "the address of a stranger does not matter",
        _STRANGERS,
        "Strangers.add",
        "self._of.setdefault(address, {})",
        "self._of.setdefault((address := str(id(handler))), {})",
        _TESTS,
    ),
)
