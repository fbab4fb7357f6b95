"""The AWS account and region of a deployment, and its clients, which have short timeouts and few retries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ProfileNotFound, TokenRetrievalError
from botocore.parsers import ResponseParserError

from baton_deployment.errors import DeploymentError
from baton_deployment.regions import choose_region
from baton_deployment.stages import Stage

_DENIED = frozenset(
    {"AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation", "UnauthorizedException"}
)
AWS_ERRORS = (BotoCoreError, ClientError, ResponseParserError)
"""Errors of a request to AWS. ``ResponseParserError``, which is no ``BotoCoreError``, means that AWS did not answer."""
A_PAGE = "the answer is a page, not AWS's: it comes from a proxy or another server"
SIGN_IN = (
    "set AWS_PROFILE (and `aws sso login` if it needs that), or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and "
    "AWS_SESSION_TOKEN)"
)
NO_CREDENTIALS = f"There are no credentials of AWS: {SIGN_IN}."
_CONFIG = Config(connect_timeout=3, read_timeout=15, retries={"total_max_attempts": 2, "mode": "standard"})
_PATIENT = Config(max_pool_connections=64, retries={"total_max_attempts": 10, "mode": "standard"})


class Account:
    """The account that the environment's credentials belong to, in one region."""

    def __init__(self, region: str, profile: str | None = None) -> None:
        self.region = region
        self._session = _make_session(region, profile)

    @classmethod
    def of(cls, stage: Stage) -> Account:
        """Return the account and region of a stage. Raises ``DeploymentError`` as ``of_environment`` does."""
        return cls.of_environment(stage.region, stage.profile)

    @classmethod
    def of_environment(cls, region: str | None = None, profile: str | None = None) -> Account:
        """Return the account of the environment. ``region`` and ``profile`` are those of samconfig.toml.

        Raises ``DeploymentError`` if the profile cannot be used, or if there is no region or there are several.
        """
        with problems_explained("The profile cannot be used"):
            session = _make_session(None, profile)
            try:
                chosen = choose_region(os.environ, region, session.region_name)
            except DeploymentError as problem:
                if session.get_credentials() is None:
                    raise DeploymentError(f"{problem} {NO_CREDENTIALS}") from None
                raise
        return cls(chosen, profile)

    @property
    def session(self) -> boto3.session.Session:
        """The session that makes the clients."""
        return self._session

    def client(self, service: str, *, wait_seconds: float | None = None, patient: bool = False) -> Any:
        """Return a client of a service, with short timeouts and one retry.

        A client with ``wait_seconds`` waits so long for an answer, and does not retry. A ``patient`` client is for many
        concurrent requests, and retries up to nine times.
        """
        longer = Config(read_timeout=wait_seconds, retries={"total_max_attempts": 1}) if wait_seconds else None
        if patient:
            longer = _PATIENT
        # boto3's stubs overload this by the names of services.
        make: Any = self._session.client
        return make(service, region_name=self.region, config=_CONFIG.merge(longer) if longer else _CONFIG)


def _make_session(region: str | None, profile: str | None) -> boto3.session.Session:
    return boto3.session.Session(region_name=region, profile_name=profile)


@contextmanager
def problems_explained(what: str) -> Iterator[None]:
    """Turn errors of AWS into a ``DeploymentError``.

    It begins with ``what``, such as "The stack cannot be read", unless credentials or the profile are the problem.
    """
    try:
        yield
    except NoCredentialsError:
        raise DeploymentError(NO_CREDENTIALS) from None
    except ProfileNotFound as problem:
        raise DeploymentError(
            f"{_to_line(problem)}: is AWS_PROFILE right? `aws configure list-profiles` lists those that there are."
        ) from None
    except TokenRetrievalError as problem:
        raise DeploymentError(_to_line(problem)) from None
    except AWS_ERRORS as problem:
        raise DeploymentError(f"{what}: {explain(problem)}") from problem


def explain(problem: Exception) -> str:
    """Return one line about an error of ``AWS_ERRORS``."""
    if isinstance(problem, ResponseParserError):
        return A_PAGE
    if isinstance(problem, ClientError):
        error = problem.response.get("Error", {})
        message = " ".join(str(error.get("Message", "")).split())
        if message.startswith("<"):
            message = A_PAGE
        return f"{error.get('Code', 'error')}: {message} ({problem.operation_name})"
    return _to_line(problem)


def read_code(problem: ClientError) -> str:
    """Return AWS's code of an error, such as ``AccessDenied``."""
    return str(problem.response.get("Error", {}).get("Code", ""))


def is_denied(problem: Exception) -> bool:
    """Return whether AWS has refused a request because the caller lacks a permission."""
    return isinstance(problem, ClientError) and read_code(problem) in _DENIED


def _to_line(problem: Exception) -> str:
    """Return the text of an error without line breaks."""
    return " ".join(str(problem).split())
