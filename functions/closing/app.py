"""The steps of the state machine ``close_session``."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition import event_loop
from baton.composition.metrics import counted
from baton.domain.identity import Scope

logger = Logger()
closing = composition.closing()  # built once per execution environment


@logger.inject_lambda_context(clear_state=True)
@counted
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Store the episode of the session that ``event`` refers to, or mark it as failed.

    Returns what the state machine keeps of it beside its input: no content.
    """
    logger.append_keys(tenant_id=event["tenantId"], thread_id=event["threadId"], episode=event["episode"])
    scope = Scope(event["tenantId"], event["userId"])
    if event.get("failed"):
        event_loop.run(closing.give_up(scope, event["threadId"], event["episode"]))
        return {"status": "failed"}
    episode = event_loop.run(closing.write(scope, event["threadId"], event["episode"]))
    return {"status": episode.status.value, "messageCount": episode.message_count}
