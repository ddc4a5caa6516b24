"""Imports the configuration of kubernetes_asyncio without its 800 models, which take a second.

`import kubernetes_asyncio` imports every API group and model. millrace sends and reads raw JSON, so
that second would be lost at each start of a service and at each command of `millrace`. While the
configuration is imported, empty packages stand in for the three that import everything; afterwards
all of it leaves `sys.modules`, so that code which wants the whole client gets the whole client.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from services.chassis.kube.kubeconfig_files import Access, Json
from services.chassis.process.errors import Misconfigured

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

CLIENT: Final = "kubernetes_asyncio"


def _imported() -> tuple[Any, Any]:
    """(the class Configuration, the module `kubernetes_asyncio.config`)."""
    found = importlib.util.find_spec(CLIENT)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"{CLIENT} is a dependency of millrace", name=CLIENT)
    root = Path(found.origin).parent
    before = {name: module for name, module in sys.modules.items() if _is_of_client(name)}
    for name in before:
        del sys.modules[name]
    try:
        client = _empty_package(f"{CLIENT}.client", root / "client")
        _empty_package(CLIENT, root).client = client  # type: ignore[attr-defined]
        _empty_package(f"{CLIENT}.client.models", root / "client" / "models")
        configuration = importlib.import_module(f"{CLIENT}.client.configuration").Configuration
        vars(client)["Configuration"] = configuration
        vars(client)["ApiClient"] = importlib.import_module(f"{CLIENT}.client.api_client").ApiClient
        return configuration, importlib.import_module(f"{CLIENT}.config")
    finally:
        for name in [name for name in sys.modules if _is_of_client(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def _empty_package(name: str, folder: Path) -> ModuleType:
    """A package whose submodules can be imported, and whose `__init__` has not run."""
    package = ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
    return package


def _is_of_client(name: str) -> bool:
    return name == CLIENT or name.startswith(f"{CLIENT}.")


_configuration, _config = _imported()
SERVICE_TOKEN_FILENAME: Final[str] = _config.incluster_config.SERVICE_TOKEN_FILENAME


async def configuration_of(access: Access, credential: Json) -> Configuration:
    """The configuration of a context; raises Misconfigured.

    `credential` has fields of a user, and takes the place of `exec`. The loader looks for the files
    of a user beside that of the cluster, and lets the last current-context win; so it gets
    one cluster, one user and whole paths.
    """
    configuration: Configuration = _configuration()
    user = {name: value for name, value in access.user.items() if name != "exec"} | credential
    document = {
        "current-context": access.context,
        "contexts": [{"name": access.context, "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": access.cluster}],
        "users": [{"name": "u", "user": user}],
    }
    try:
        await _config.load_kube_config_from_dict(document, client_configuration=configuration)
    except (_config.ConfigException, OSError) as problem:
        raise Misconfigured(f"the kubeconfig {access.file} cannot be used: {problem}") from problem
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise Misconfigured(
            f"{access.file} is not a kubeconfig: its values are not those of one ({problem})"
        ) from problem
    return configuration


def read_service_account() -> Configuration:
    """The configuration of the pod that this process runs in; raises Misconfigured."""
    configuration: Configuration = _configuration()
    try:
        _config.load_incluster_config(configuration)
    except _config.ConfigException as problem:
        raise Misconfigured(
            "MILLRACE_KUBECONFIG is not set, and this is no pod with an account of its own: "
            f"{problem}"
        ) from problem
    return configuration


def runs_in_pod() -> bool:
    """Whether this process has the service account of a pod."""
    of = _config.incluster_config
    names = (of.SERVICE_HOST_ENV_NAME, of.SERVICE_PORT_ENV_NAME)
    return all(map(os.environ.get, names)) and Path(SERVICE_TOKEN_FILENAME).is_file()


def namespace_of_pod() -> str:
    """The namespace of the pod that we run in; empty if it is not known."""
    try:
        file = Path(SERVICE_TOKEN_FILENAME).with_name("namespace")
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
