"""The calls of a boto3 client as IAM evaluates them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from baton_local.roles.requests import Names, find_listed_bucket, find_requests
from tests.grants.simulator import Asked


@contextmanager
def watch(role: str, *clients: Any, **aliases: str) -> Iterator[list[Asked]]:
    """Collect what ``clients`` ask in the name of ``role``.

    ``aliases`` are the names that tables and buckets have in the template.
    """
    names = Names(socket_api="", partition_key="PK", aliases=aliases)
    questions: list[Asked] = []

    def note(params: dict[str, Any], model: Any, **_: object) -> None:
        service = model.service_model.service_name
        questions.extend(
            Asked("", role, request.action, request.resource, dict(request.context))
            for request in find_requests(service, model.name, params, names)
        )
        bucket = find_listed_bucket(service, model.name, params, names)
        if bucket is not None:  # without it S3 answers 403 for an object that is not there
            questions.append(Asked("", role, "s3:ListBucket", bucket))

    for client in clients:
        client.meta.events.register("before-parameter-build", note)
    try:
        yield questions
    finally:
        for client in clients:
            client.meta.events.unregister("before-parameter-build", note)
