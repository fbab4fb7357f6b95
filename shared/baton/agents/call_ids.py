"""The ids of an agent's tool calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from baton.agents.run_context import RunContext
from baton.agents.tool_set import ToolSet
from baton.domain.interrupt import client_call_id
from baton.domain.tool_call import ToolCall, tool_call_id


class CallIds:
    """Ids that are the same in every attempt at a run, whatever ids the model gives."""

    def __init__(self, context: RunContext, tools: ToolSet, caller: str) -> None:
        """``caller`` is the agent's id, or that of its task if it was consulted."""
        self._context = context
        self._tools = tools
        self._caller = caller
        self._occurrences: Counter[str] = Counter()

    def identify(self, call: ToolCall) -> ToolCall:
        """Return the call with its id. Equal calls are counted, so that each has its own."""
        context = self._context
        about = (context.thread_id, context.run.message_id, self._caller, call.name, call.arguments)
        same = tool_call_id(*about, 0)
        named = tool_call_id(*about, self._occurrences[same])
        self._occurrences[same] += 1
        offer = self._tools.offers.get(call.name)
        if offer is not None and offer.is_client:
            named = client_call_id(context.thread_id, context.run.message_id, named)
        return replace(call, id=named)
