"""Calls whose work continues after their result: agents in the background, and tools that report later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from baton.agents.agent_work import AgentWork
from baton.agents.call_outcome import CallOutcome
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import BackgroundRules
from baton.domain.runs.task import TaskStatus
from baton.domain.runs.tool_call import ToolCall
from baton.domain.schedules.background_task import MAX_INPUT_BYTES, BackgroundTask
from baton.domain.text import count_bytes
from baton.ports.agents.tools import TaskCallback, ToolResult
from baton.threads.background.background_work import MAX_OPEN, BackgroundWork

TOO_MANY = f"Error: {MAX_OPEN} tasks of this conversation are open already. Wait for one of them, or cancel one."
TOO_LONG = (
    f"Error: the message has more than {MAX_INPUT_BYTES // 1024} KB, which is too long for the background. "
    "Send less, or an address where the rest can be read."
)
BEGUN = (
    "The task {id} has begun in the background. Its result comes by itself, as a new message to you: do not wait for "
    "it and do not ask again. Tell the user that it is being worked on, and that they can go on meanwhile."
)
"""The result, for the model, of a call that has begun a task."""


async def begin_agent(
    work: AgentWork,
    background: BackgroundWork,
    call: ToolCall,
    agent: AgentDefinition,
    message: str,
    data: Mapping[str, Any] | None = None,
) -> CallOutcome:
    """Begin the work of an agent on a message in the background, and return the outcome of ``call``.

    The call is refused if the message is too large or too many tasks are open. Only remote agents take ``data``.
    """
    size = count_bytes(message) + count_bytes(json.dumps(dict(data or {}), ensure_ascii=False))
    if size > MAX_INPUT_BYTES:
        return CallOutcome.refused(TOO_LONG)
    scope, thread_id, asked_by = work.context.scope, work.context.thread_id, work.agent
    async with work.beginning:
        task = await background.begin_agent(
            scope, thread_id, call.id, message, agent=agent, asked_by=asked_by, data=data
        )
    return _make_begun_outcome(task) if task is not None else CallOutcome.refused(TOO_MANY)


class LaterAnswer:
    """The answer to one call of a tool that may report later. Its task is stored before the call is made."""

    def __init__(self, work: AgentWork, call: ToolCall, rules: BackgroundRules | None) -> None:
        """Without ``rules``, in a dry run, in a fork and for a consulted agent, the tool must answer at once."""
        self._work = work
        self._call = call
        context = work.context
        is_in_fork = context.facts.thread.parent_thread_id is not None
        may_begin = rules is not None and work.task_id is None and not is_in_fork
        self._background = context.services.background() if may_begin and context.services.background else None
        self._rules = rules
        self._task: BackgroundTask | None = None
        self._is_kept = False

    async def begin(self) -> CallOutcome | None:
        """Store the task. Return the refusal of the call if too many tasks are open, otherwise None."""
        if self._background is None or self._rules is None:
            return None
        context = self._work.context
        async with self._work.beginning:
            self._task = await self._background.begin_tool(
                context.scope, context.thread_id, self._call, self._rules, asked_by=self._work.agent.id
            )
        return CallOutcome.refused(TOO_MANY) if self._task is None else None

    @property
    def is_possible(self) -> bool:
        """True if the tool may answer later."""
        return self._task is not None

    @property
    def callback(self) -> TaskCallback | None:
        """The address to which the tool may report; None if it must answer now."""
        context = self._work.context
        if self._background is None or self._task is None:
            return None
        return self._background.callbacks.make_address(context.scope, context.thread_id, self._task)

    async def take(self, result: ToolResult) -> CallOutcome | None:
        """Keep the task of a call whose work continues in the background, and return the outcome of the call.

        Return None for a final result, and for a tool that had to answer at once.
        """
        if self._background is None or self._task is None or not result.is_pending:
            return None
        self._is_kept, context = True, self._work.context
        await self._background.keep_tool(context.scope, context.thread_id, self._task, result)
        return _make_begun_outcome(self._task)

    async def end(self) -> None:
        """Remove the task of a call that was answered at once or has failed.

        The task stays if the run was stopped, because then the call may still be answered later.
        """
        context = self._work.context
        is_over = not self._is_kept and not context.stop.is_set()
        if self._background is not None and self._task is not None and is_over:
            await self._background.drop_tool(context.scope, context.thread_id, self._task)


def _make_begun_outcome(task: BackgroundTask) -> CallOutcome:
    return CallOutcome(BEGUN.format(id=task.id), task_id=task.id, task_status=TaskStatus.WORKING.value)
