"""Which bundle somebody gets who asks for it by name, without a token: the image of the original.

Its bootstrap sends `HGET apps NAME` to port 6379 of `streams-api`, once, and ends the PE if that
fails. So a question whose answer comes soon waits for it (docs/adr/0072).

The first that holds:

1. A pod that runs has the address that asks: the bundle of its job, if it has the name.
2. Anybody is believed (MILLRACE_ANONYMOUS): the bundle of the Jobs that name it, if it is the same
   for all of them.
3. Nothing, after a wait: the pod, or the digest of its bundle, may be known soon.

Properties: with 1 a PE gets the bundle that its plan is made of, whatever else has its name, and
no other one. With 2 a wrong bundle is never given, since an ambiguous name gets none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NamedTuple

from contracts.showing import shown
from services.pe_gateway.core.answers import Refused, not_found, unavailable
from services.pe_gateway.core.effects import AnnounceNoBundle

POD_S_MAX: Final = 20.0
"""How long after a question its pod may be seen to run: a kubelet takes 1 to 3 s to say so."""
DIGEST_S_MAX: Final = 300.0
"""How long the job of a pod that runs may take until its status has the digest of its bundle: that
is when all of its pods exist, and the time-out of a submission is as long."""
NAME_CHARS_MAX: Final = 255
_JOBS_SHOWN_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class BundleUse:
    """A bundle that a Job uses; `digest` is its SHA-256, empty until the status has it.

    `pe`, `pe_uid` and `launch` are those of a pod that runs; empty where only the Job is known.
    """

    namespace: str
    job: str
    name: str
    digest: str
    pe: str = ""
    pe_uid: str = ""
    launch: int = 0


class Awaited(NamedTuple):
    """A question whose answer may come until `until_s` after it; then it is refused."""

    until_s: float
    refusal: Refused


def bundle_for(
    name: str, address: str, here: Sequence[BundleUse], named: Sequence[BundleUse] | None
) -> BundleUse | Awaited:
    """What a name means for an address.

    `here`: of the pods that run at the address. `named`: of all Jobs that name the bundle; None:
    an unknown address gets nothing. Raises Refused: 404 where it is another bundle for sure.
    """
    if here:
        own = [each for each in here if each.name == name]
        if not own:
            raise not_found(f"{here[0].pe} has the bundle {here[0].name}, not {_shown(name)}")
        return _same(own) or Awaited(DIGEST_S_MAX, _undecided(own))
    if named is None:
        return Awaited(POD_S_MAX, _unknown(address))
    if not named:
        return Awaited(POD_S_MAX, not_found(f"no Job names the bundle {_shown(name)}"))
    return _same(named) or Awaited(POD_S_MAX, _undecided(named))


def _same(uses: Sequence[BundleUse]) -> BundleUse | None:
    """The use, if all of them are of one bundle."""
    digests = {each.digest for each in uses}
    return uses[0] if len(digests) == 1 and uses[0].digest else None


def _undecided(uses: Sequence[BundleUse]) -> Refused:
    jobs = sorted({f"{each.namespace}/{each.job}" for each in uses})
    without = sorted({f"{each.namespace}/{each.job}" for each in uses if not each.digest})
    if without:
        return unavailable(f"the status of job {without[0]} names no bundle yet")
    listed = ", ".join(jobs[:_JOBS_SHOWN_MAX]) + (", …" if len(jobs) > _JOBS_SHOWN_MAX else "")
    return Refused(
        HTTPStatus.CONFLICT,
        f"jobs have several bundles called {uses[0].name} ({listed}), and the address does not"
        " show which one is meant",
    )


def _unknown(address: str) -> Refused:
    return Refused(
        HTTPStatus.FORBIDDEN,
        f"no PE that runs has the address {address}; if the network hides the addresses of pods,"
        " MILLRACE_ANONYMOUS=true gives a bundle by its name alone",
    )


def not_reached(use: BundleUse, places: str) -> Refused:
    """The refusal of a bundle whose file is not found."""
    return unavailable(
        f"the bundle {use.name} of job {use.job} (SHA-256 {use.digest}) is not where pe-gateway"
        f" looks: {places}"
    )


def no_bundle_event(use: BundleUse, refusal: Refused) -> AnnounceNoBundle | None:
    """The Event of a PE whose question is refused; None where no PE is known."""
    return AnnounceNoBundle(use.pe, use.pe_uid, use.launch, f"{refusal}.") if use.pe else None


def _shown(name: str) -> str:
    return shown(name, NAME_CHARS_MAX)
