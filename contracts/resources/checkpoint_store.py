"""Where the PEs of a job keep their checkpoints: a file system, or redis."""

from __future__ import annotations

from typing import Final

from pydantic import ConfigDict, Field

from .fields import INT32_MAX, NOT_NULLABLE, Fields, ObjectName, Text, VolumeClaim, rules

CHECKPOINT_PATH: Final = "/checkpoint"
"""Where checkpoints are in a PE whose spec names no path."""
CHECKPOINT_PATH_PATTERN: Final = "^/[^:]*$"
"""An absolute path; the API server allows no colon in a mount path."""


class FileSystemStore(Fields):
    """Checkpoints in a file system."""

    path: Text | None = Field(
        default=None,
        pattern=CHECKPOINT_PATH_PATTERN,
        description="Where checkpoints are mounted in the PE; absent: /checkpoint.",
    )
    volume_claim: VolumeClaim | None = Field(
        default=None, description="Claim on which checkpoints are kept."
    )

    @property
    def mount_path(self) -> str:
        """Where checkpoints are in the PE."""
        return self.path or CHECKPOINT_PATH


class RedisStore(Fields):
    """Checkpoints in a replicated, sharded set of redis servers."""

    service: ObjectName = Field(description="Name of the headless Service of the redis servers.")
    replica_count: int = Field(
        ge=1, le=INT32_MAX, description="Number of replicas of each shard; odd."
    )
    shard_count: int = Field(ge=1, le=INT32_MAX, description="Number of shards in each replica.")
    restricted_property: Text | None = Field(
        default=None, description="Name of the restricted property that holds the password."
    )
    shuffle: bool = Field(
        default=False, description="Whether servers are assigned to shards in random order."
    )


class CheckpointStore(Fields):
    """Where PEs keep checkpoints: fileSystem or redis."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "has(self.fileSystem) != has(self.redis)",
                "give one of fileSystem and redis",
            )
        )
    )

    file_system: FileSystemStore | None = Field(
        default=None,
        description="Keep checkpoints in a file system.",
        json_schema_extra=NOT_NULLABLE,
    )
    redis: RedisStore | None = Field(
        default=None,
        description="Keep checkpoints in redis.",
        json_schema_extra=NOT_NULLABLE,
    )
