"""What the roots of the images have beside their wheels and programs, and what of wheels they lack.

`assembling.py` reads it in the build stages, so nothing but the standard library is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SERVICES_USER: Final = 65532
PE_USER: Final = 2098
PE_GROUP: Final = 2015
"""As pod-state-machine runs the pod of a PE."""
PYTHON: Final = "/opt/millrace/bin/python"
BOOTSTRAP: Final = "usr/local/streams/system/impl/bin/streams-k8s-bootstrap"

_NEVER_USED = (
    # Tests, headers and build tools of wheels.
    "**/tests",
    "**/*.pyi",
    "**/*.pxd",
    "**/*.pyx",
)
_NAMES = "passwd: files\ngroup: files\nhosts: files dns\n"


@dataclass(frozen=True, slots=True)
class Contents:
    """What is particular to one root; paths are relative to it.

    `unused` are patterns below site-packages, `files` texts by path (a text that begins with `#!`
    is executable), `owned` folders that the image's user may write, as far as nothing is mounted
    over them. `programs` and `libraries` are those of the base that no wheel asks for.
    """

    unused: tuple[str, ...]
    files: Mapping[str, str]
    owned: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    libraries: frozenset[str] = frozenset()
    aws_services: frozenset[str] = frozenset()


def _accounts(name: str, user: int, group: int) -> dict[str, str]:
    return {
        "etc/passwd": f"root:x:0:0::/root:/nologin\n{name}:x:{user}:{group}::/tmp:/nologin\n",
        "etc/group": f"root:x:0:\n{name}:x:{group}:\n",
        "etc/nsswitch.conf": _NAMES,
    }


SERVICES: Final = Contents(
    unused=(
        # Clients of Kubernetes that services/chassis/kube/client_config.py keeps from being
        # imported.
        "kubernetes_asyncio/client/api",
        "kubernetes_asyncio/client/models",
        *_NEVER_USED,
        "numpy/_core/include",
        "numpy/_core/lib",
        "lxml/includes",
        # Of scipy, `placement/` uses the integer programs of scipy.optimize.
        "scipy/datasets",
        "scipy/io",
        "scipy/ndimage",
        "scipy/signal",
        "scipy/stats",
    ),
    files=_accounts("millrace", SERVICES_USER, SERVICES_USER),
    owned=("var/lib/millrace/bundles", "var/lib/millrace/store", "run/millrace"),
    # The descriptions of AWS services that botocore reads to find credentials. It signs our
    # requests (`services/fusion_backend/adapters/bundles/root_urls.py`), and makes none itself.
    aws_services=frozenset({"signin", "sso", "sso-oidc", "sts"}),
)

RUNTIME: Final = Contents(
    unused=(*_NEVER_USED, "**/*.c", "**/*.h"),
    files={
        **_accounts("streams", PE_USER, PE_GROUP),
        # Process 1 of the pod: no shell between it and the signals. The kernel drops those that
        # process 1 neither handles nor blocks, so they are blocked until `millrace.runtime`
        # handles them: imports take seconds on a busy node. -P: nothing is imported from the
        # folder of this file.
        BOOTSTRAP: f"#!{PYTHON} -P\n"
        "import signal\n\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))\n\n"
        "import runpy\n\n"
        'runpy.run_module("millrace.runtime", run_name="__main__", alter_sys=True)\n',
    },
    # The liveness probe of a PE runs it.
    programs=("cat",),
    # What wheels of a bundle (PEP 600) may load from the system, but for graphics and GLib. Other
    # libraries, such as libgomp, are carried by the wheels that need them.
    libraries=frozenset(
        {
            "libc.so.6",
            "libdl.so.2",
            "libgcc_s.so.1",
            "libm.so.6",
            "libnsl.so.1",
            "libpthread.so.0",
            "libresolv.so.2",
            "librt.so.1",
            "libstdc++.so.6",
            "libutil.so.1",
            "libz.so.1",
        }
    ),
)

CONTENTS: Final[Mapping[str, Contents]] = {"services": SERVICES, "runtime": RUNTIME}
