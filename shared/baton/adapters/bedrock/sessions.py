"""The credentials that sign requests to Amazon Bedrock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import botocore.session

from baton.adapters.bedrock.signing import NoCredentials


def own_session() -> boto3.session.Session:
    """Return the session of this process, whose credentials AWS gives to the function."""
    return boto3.DEFAULT_SESSION or boto3.session.Session()


def profile_session(profile: str, config_file: Path, credentials_file: Path) -> boto3.session.Session:
    """Return the session of a profile of the developer's AWS configuration.

    Neither the credentials nor the endpoints in this process's variables play a part, which are those of the local
    cloud.
    """
    session = botocore.session.Session(profile=profile)
    for name, value in (
        ("config_file", str(config_file.expanduser())),
        ("credentials_file", str(credentials_file.expanduser())),
        ("ignore_configured_endpoint_urls", True),
    ):
        session.set_config_variable(name, value)
    return boto3.session.Session(botocore_session=session)


class NoSession:
    """The session of the local cloud, whose own credentials are invented, until a developer names a profile."""

    @property
    def region_name(self) -> str | None:
        """The region of the local cloud."""
        return own_session().region_name

    def get_credentials(self) -> Any:
        """Raise ``NoCredentials``."""
        raise NoCredentials(
            "The local cloud has no credentials for Amazon Bedrock. Set BATON_BEDROCK_PROFILE to a profile of your AWS "
            "configuration"
        )
