"""Which store the environment of a PE names."""

from __future__ import annotations

import msgspec

from millrace.runtime.endings import StoreFailed
from millrace.runtime.environment import Environment
from millrace.runtime.state_stores import FileStore, NoStore, StateStore


class _Folder(msgspec.Struct, frozen=True, rename={"folder": "Dir"}):
    folder: str


def open_store(environment: Environment) -> StateStore:
    """The store of the job of a PE. Raises StoreFailed if it cannot be used.

    A folder has to exist: without its volume, states would end with the pod, unnoticed.
    """
    repository = environment.checkpoints
    job = f"{environment.namespace}/{environment.job}-{environment.job_uid}"
    if repository is None:
        return NoStore()
    if repository.kind == "redis":
        from millrace.runtime.redis_store import RedisStore

        return RedisStore(repository.configuration, f"millrace/{job}", environment.paths.restricted)
    try:
        found = msgspec.json.decode(repository.configuration.encode(), type=_Folder)
    except msgspec.MsgspecError as problem:
        raise StoreFailed(
            f"STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION names no folder: {problem}"
        ) from None
    folder = environment.paths.checkpoints(found.folder)
    if not folder.is_dir():
        raise StoreFailed(f"{folder} is no folder: the volume of the checkpoint store is not there")
    return FileStore(folder / job)
