"""The steps of the state machine ``close_session``."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition.metrics import observed
from baton.composition.startup import event_loop

logger = Logger(use_rfc3339=True)
closing = composition.deployed().closing_events  # built once per execution environment


@logger.inject_lambda_context(clear_state=True)
@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Carry out the ``step`` that ``event`` names for its ``session``, or all of them.

    Return the values that the state machine adds to its input. They have no content.
    """
    session = event["session"]
    logger.append_keys(
        tenant_id=session["tenantId"], thread_id=session["threadId"], episode=session["episode"], step=event["step"]
    )
    seconds = context.get_remaining_time_in_millis() / 1000
    return event_loop.run(closing.run_step(event, seconds=seconds))
