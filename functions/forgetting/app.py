"""The steps of the state machine ``forget_user``, which forgets users and removes tenants."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition.metrics import observed
from baton.composition.startup import event_loop
from baton.domain.errors import TenantRemoved
from baton.domain.memory.forgetting import NextStep, StepResult
from baton.domain.tenants.identity import Scope
from baton.tenants.privacy.forgetting import to_state_output

MARGIN_SECONDS = 30
"""Reserved at the end of the function's time limit, to finish the request in progress and store the counts."""

logger = Logger(use_rfc3339=True)
privacy = composition.deployed().privacy  # built once per execution environment


@logger.inject_lambda_context(clear_state=True)
@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Carry out one step of the request that ``event`` names: ``sweep``, ``verify``, or any other to give it up.

    Return the next step and counts, without content.
    """
    request_id: str = event["requestId"]
    logger.append_keys(tenant_id=event["tenantId"], request_id=request_id, step=event["step"])
    scope = Scope(event["tenantId"], event["userId"])
    seconds = context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    work = privacy.select_work(request_id)
    try:
        match event["step"]:
            case "sweep":
                result = event_loop.run(work.sweep(scope, request_id, seconds=seconds))
            case "verify":
                result = event_loop.run(work.verify(scope, request_id, seconds=seconds))
            case _:
                result = event_loop.run(work.give_up(scope, request_id))
    except TenantRemoved:  # the removal of the whole tenant has overtaken the request
        result = StepResult(NextStep.DONE, {})
    logger.info("forgetting", next=result.next.value, counts=dict(result.counts), residue=dict(result.residue))
    return dict(to_state_output(result, work.wait_seconds))
