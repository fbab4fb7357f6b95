"""The steps of the state machine ``capture_procedure``."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition.metrics import observed
from baton.composition.startup import event_loop
from baton.domain.documents.pipelines import Pipeline
from baton.domain.memory.capture import CaptureRef, CaptureStatus, CaptureStep
from baton.domain.tenants.identity import Scope

logger = Logger(use_rfc3339=True)
app = composition.deployed()  # built once per execution environment
learning = app.procedures.capture
admission = app.ports.admission


@logger.inject_lambda_context(clear_state=True)
@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Carry out the ``step`` that ``event`` names for its ``task``, or mark the task's capture as failed.

    Return the values that the state machine adds to its input: the progress of the capture without content, and whether
    another step follows.
    """
    task = event["task"]
    logger.append_keys(tenant_id=task["tenantId"], thread_id=task["threadId"], step=event["step"])
    scope = Scope(task["tenantId"], task["userId"])
    ref = CaptureRef(task["threadId"], task["agentId"], task["firstOrdinal"], task["endOrdinal"])
    if event["step"] == "fail":
        event_loop.run(learning.give_up(scope, ref))
        event_loop.run(admission.note_end(Pipeline.CAPTURE, task["subject"]))
        return {"status": CaptureStatus.FAILED.value, "goesOn": False}
    capture = event_loop.run(learning.run(CaptureStep(event["step"]), scope, ref))
    goes_on = capture is not None and not capture.is_settled
    if not goes_on:
        event_loop.run(admission.note_end(Pipeline.CAPTURE, task["subject"]))
    return {"status": capture.status.value if capture is not None else "deleted", "goesOn": goes_on}
