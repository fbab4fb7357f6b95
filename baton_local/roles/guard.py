"""Refuse AWS calls that a function's role does not allow, and record the calls."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from botocore.exceptions import ClientError

from baton.adapters.aws.session import replace_session
from baton.composition.startup.environment import current
from baton_local.account import ACCOUNT
from baton_local.roles.policies import Policies
from baton_local.roles.recorder import Recorder
from baton_local.roles.requests import Names, Request, find_listed_bucket, find_requests
from baton_local.stack.declarations import Stack

logger = logging.getLogger("baton_local.roles")

_BUCKET = "baton_bucket_of_the_object"
"""The key in botocore's context for the data by which the response is checked."""
_REFUSED = {"s3": "AccessDenied", "dynamodb": "AccessDeniedException", "sqs": "AccessDenied"}


@dataclass(frozen=True)
class Guard:
    """A check of boto3 clients' calls. A presigned address counts as a call of the function that signs it."""

    policies: Policies
    roles: Mapping[str, str]
    """The logical ids of roles, by their functions."""
    names: Names
    recorder: Recorder | None = None

    def watch(self, events: Any) -> None:
        """Watch a client, or all clients of a session, by its event emitter."""
        events.register("before-parameter-build", self._check_before)
        events.register("after-call.s3", self._check_after)

    def ask(self, function: str, service: str, request: Request, operation: str) -> None:
        """Raise ``ClientError`` as AWS does unless the function's role allows the request. Record the request.

        ``function`` is empty for other code of this process, which has no role and may do everything.
        """
        role = self.roles.get(function, "")
        if self.recorder:
            self.recorder.note(function, role, request)
        if not role or self.policies.allow(role, request):
            return
        message = (
            f"User: arn:aws:sts::{ACCOUNT}:assumed-role/{role}/{function} is not authorized to perform: "
            f"{request.action} on resource: {request.resource} because no identity-based policy allows it"
        )
        logger.error("%s", message)
        raise ClientError(
            {
                "Error": {"Code": _REFUSED.get(service, "AccessDeniedException"), "Message": message},
                "ResponseMetadata": {"HTTPStatusCode": 403 if service == "s3" else 400},  # type: ignore[typeddict-item]
            },
            operation,
        )

    def _check_before(self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: object) -> None:
        service = model.service_model.service_name
        for request in find_requests(service, model.name, params, self.names):
            self.ask(current.get(), service, request, model.name)
        context[_BUCKET] = find_listed_bucket(service, model.name, params, self.names)

    def _check_after(self, http_response: Any, model: Any, context: dict[str, Any], **_: object) -> None:
        # Without this permission, S3 answers 403 instead of 404 for a missing object.
        bucket = context.get(_BUCKET)
        if bucket and http_response.status_code == 404:
            self.ask(current.get(), "s3", Request("s3:ListBucket", bucket), model.name)


def make_guard(
    stack: Stack, recordings: Path | None, template: Path, aliases: Mapping[str, str] | None = None
) -> Guard:
    """Return the guard of a stack's functions. ``recordings`` is the folder for records of calls; None writes none."""
    [partition_key] = [key["AttributeName"] for key in stack.table["KeySchema"] if key["KeyType"] == "HASH"]
    return Guard(
        policies=Policies(stack.policies),
        roles={function.name: function.role for function in stack.functions.values()},
        names=Names(f"{stack.sockets.api_id}/{stack.sockets.stage}", partition_key, aliases or {}),
        recorder=Recorder(recordings, template) if recordings else None,
    )


@contextmanager
def guarded(guard: Guard) -> Iterator[None]:
    """Watch every client that is created during the block by the session of functions, or by boto3's default session.

    Agents' functions may use the latter. The two sessions are separate, as in a deployment, because boto3 changes the
    session that it gets.
    """
    functions_session, default_session = botocore.session.Session(), botocore.session.Session()
    for session in (functions_session, default_session):
        guard.watch(session.get_component("event_emitter"))
    before, former = boto3.DEFAULT_SESSION, replace_session(functions_session)
    boto3.DEFAULT_SESSION = boto3.Session(botocore_session=default_session)
    try:
        yield
    finally:
        boto3.DEFAULT_SESSION = before
        replace_session(former)
