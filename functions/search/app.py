"""The function that makes the search indices during a deployment, and rebuilds them at an operator's command."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton.composition import search_commands
from baton.composition.metrics import observed
from baton.composition.startup import event_loop
from baton.domain.metrics import Metric, count

logger = Logger(use_rfc3339=True)

CLOUDFORMATION_SECONDS = 30.0
"""The time limit of the answer to CloudFormation."""
MARGIN_SECONDS = 60.0
"""Reserved at the end of the function's time limit, for the answer."""
COMMAND_MARGIN_SECONDS = 180.0
"""Reserved at the end of a rebuild, for the episode in progress, whose texts are embedded."""
MOVE_MARGIN_SECONDS = 420.0
"""Reserved at the end of a move, for the largest owner in progress. A killed move continues, two minutes later."""
MAX_REASON = 1_500
"""The most characters of a reason. CloudFormation takes answers of 4 KB."""


@logger.inject_lambda_context(clear_state=True)
@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Run the command of ``event``, or CloudFormation's request for a ``Custom::SearchIndices``.

    An operator's event has a ``command``, with lists of names:

    - ``migrate``: ``roles``
    - ``reindex``: ``indices``
    - ``verify`` and ``repair``: ``tenants``
    - ``move``: ``tenants``, and ``agents`` or ``users`` of one tenant
    - ``rebuild``: ``indices`` and ``tenants``. It continues at the ``positions`` of its last answer.

    Raises ``ValueError`` for any other command.
    """
    if "RequestType" in event:
        return _deploy(event, context)
    command = event.get("command")
    if command == "migrate":
        return {"indices": event_loop.run(search_commands.migrate(event.get("roles", ())))}
    if command == "reindex":
        return {"indices": event_loop.run(search_commands.reindex(event.get("indices", ())))}
    if command == "rebuild":
        seconds_left = context.get_remaining_time_in_millis() / 1000
        positions = {tenant: (agent, cursor) for tenant, (agent, cursor) in event.get("positions", {}).items()}
        rebuilding = search_commands.rebuild(
            event.get("indices", ()),
            event.get("tenants", ()),
            positions,
            seconds=seconds_left - COMMAND_MARGIN_SECONDS,
            most_seconds=seconds_left - MARGIN_SECONDS,
        )
        return event_loop.run(rebuilding)
    if command == "move":
        moving = search_commands.move(
            event.get("tenants", ()),
            event.get("agents", ()),
            event.get("users", ()),
            seconds=context.get_remaining_time_in_millis() / 1000 - MOVE_MARGIN_SECONDS,
        )
        return event_loop.run(moving)
    if command == "verify":
        return {"tenants": event_loop.run(search_commands.verify(event.get("tenants", ())))}
    if command == "repair":
        return {"tenants": event_loop.run(search_commands.repair(event.get("tenants", ())))}
    raise ValueError(f"There is no command {command!r}: migrate, reindex, rebuild, move, verify, repair.")


def _deploy(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Make the indices, and answer CloudFormation even if they cannot be made. Return the answer.

    The deletion of the resource keeps the indices, because they hold data. Raises httpx's errors if CloudFormation does
    not take the answer.
    """
    answer = {"Status": "SUCCESS", "Reason": ""}
    try:
        if event["RequestType"] != "Delete":
            roles = event["ResourceProperties"].get("Roles", ())
            seconds = context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
            making = search_commands.deploy(roles, seconds=seconds, monotonic=time.monotonic, sleep=asyncio.sleep)
            logger.info("The search indices are there", extra={"indices": event_loop.run(making)})
    except Exception as problem:
        # CloudFormation waits for an answer, and then rolls back.
        count(Metric.SEARCHES_FAILED)
        logger.exception("The search indices could not be made")
        cause = search_commands.explain(problem)[:MAX_REASON]
        answer = {"Status": "FAILED", "Reason": f"{cause} The log stream is {context.log_stream_name}."}
    answer |= {name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    answer["PhysicalResourceId"] = event.get("PhysicalResourceId", "search-indices")
    # The signature is of a request without a content type.
    sent = httpx.put(
        event["ResponseURL"], content=json.dumps(answer), headers={"content-type": ""}, timeout=CLOUDFORMATION_SECONDS
    )
    sent.raise_for_status()
    return answer
