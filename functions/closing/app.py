"""The steps of the state machine ``close_session``."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from baton import composition
from baton.composition import event_loop
from baton.composition.metrics import counted
from baton.domain.identity import Scope
from baton.domain.pipelines import Pipeline
from baton.memory.episodes.session_closing import ClosingStep

logger = Logger()
app = composition.deployed()  # built once per execution environment
closing = app.memory.session_closing
learning = app.procedures.session_learning
admission = app.ports.admission


@logger.inject_lambda_context(clear_state=True)
@counted
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Carry out the ``step`` that ``event`` names for its ``session``, or mark the session's episode as failed.

    Return the values that the state machine adds to its input. They have no content.
    """
    session = event["session"]
    thread_id, number = session["threadId"], session["episode"]
    logger.append_keys(tenant_id=session["tenantId"], thread_id=thread_id, episode=number, step=event["step"])
    scope = Scope(session["tenantId"], session["userId"])
    if event["step"] == "fail":
        event_loop.run(closing.give_up(scope, thread_id, number))
        event_loop.run(admission.note_end(Pipeline.CLOSING, session["subject"]))
        return {"status": "failed"}
    if event["step"] == "learn":
        return {"started": event_loop.run(learning.catch_up(scope, thread_id, number))}
    step = ClosingStep(event["step"])
    episode = event_loop.run(closing.run(step, scope, thread_id, number))
    if step is ClosingStep.COMPLETE:
        event_loop.run(admission.note_end(Pipeline.CLOSING, session["subject"]))
    if episode is None:
        return {"status": "deleted"}
    return {"status": episode.status.value, "missing": [part.value for part in episode.missing]}
