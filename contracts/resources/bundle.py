"""The bundle of a Job: which one, and where it comes from."""

from __future__ import annotations

from enum import StrEnum

from pydantic import ConfigDict, Field

from .fields import NOT_NULLABLE, Fields, ObjectName, Text, rules


class BundlePullPolicy(StrEnum):
    """When a bundle is fetched."""

    IF_NOT_PRESENT = "IfNotPresent"
    ALWAYS = "Always"


class CertificationAuthority(Fields):
    """A root certificate in a ConfigMap."""

    config_map_name: ObjectName = Field(description="ConfigMap that holds the certificate.")
    sub_path: Text | None = Field(
        default=None, description="Key of the certificate in the ConfigMap."
    )


class HttpSource(Fields):
    """A bundle behind an URL."""

    url: Text = Field(min_length=1, description="URL of the bundle.")
    certification_authority: CertificationAuthority | None = Field(
        default=None, description="Root certificate to trust for this URL."
    )


class FileSource(Fields):
    """A bundle in the bundle root."""

    path: Text = Field(
        min_length=1, description="Path of the bundle, relative to the bundle root of millrace."
    )


class GithubSource(Fields):
    """A bundle in a GitHub repository."""

    url: Text = Field(min_length=1, description="URL of the bundle in the GitHub API v3.")
    secret: ObjectName | None = Field(
        default=None, description="Secret whose key `token` holds the access token."
    )
    certification_authority: CertificationAuthority | None = Field(
        default=None, description="Root certificate to trust for this URL, as of a GitHub server."
    )


class Bundle(Fields):
    """Which application bundle (.sab) the job runs, and where it comes from.

    With a name alone it comes from the bundle root.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "[has(self.http), has(self.file), has(self.github), has(self.url)]"
                ".filter(given, given).size() <= 1",
                "file, http, github and url exclude each other",
            )
        )
    )

    name: ObjectName = Field(description="File name of the bundle, such as demo.Main.sab.")
    pull_policy: BundlePullPolicy = Field(
        default=BundlePullPolicy.IF_NOT_PRESENT,
        description="Whether a bundle from an URL is fetched again for each job.",
    )
    file: FileSource | None = Field(
        default=None,
        description="Take the bundle from a path in the bundle root.",
        json_schema_extra=NOT_NULLABLE,
    )
    http: HttpSource | None = Field(
        default=None,
        description="Fetch the bundle from an URL.",
        json_schema_extra=NOT_NULLABLE,
    )
    github: GithubSource | None = Field(
        default=None,
        description="Fetch the bundle from GitHub.",
        json_schema_extra=NOT_NULLABLE,
    )
    url: Text | None = Field(
        default=None,
        description="Fetch the bundle from an URL; the older form of http and github.",
        json_schema_extra=NOT_NULLABLE,
    )
    secret: ObjectName | None = Field(
        default=None, description="Secret whose key `token` holds the access token for url."
    )
