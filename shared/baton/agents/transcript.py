"""The messages of a run in progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.desks.desk_session import Person
from baton.domain.documents.numbered_passages import name_cited, split_consulted
from baton.domain.runs.provider_parts import ProviderParts, Replay
from baton.domain.runs.tool_call import DESK_NOTE, CallEnd, ToolCall
from baton.domain.tenants.identity import derive_message_id
from baton.domain.threads.content import Content
from baton.domain.threads.message import MessageStatus, Role, StoredMessage
from baton.domain.threads.thread import Run
from baton.memory.prompt.message_prompts import CUT_NOTE, STOPPED_NOTE, count_answer_tokens, count_message_tokens
from baton.ports.agents.chat_model import TokenCounter
from baton.ports.clock import Clock


class Transcript:
    """The messages of agents and tools in one attempt at a run, in order, ready to be stored.

    Each attempt has different message ids, so that clients can distinguish its messages from those of a dead attempt.
    """

    def __init__(
        self,
        thread_id: str,
        run: Run,
        *,
        first_ordinal: int,
        clock: Clock,
        counter: TokenCounter,
        key: str = "",
        first_id: str | None = None,
    ) -> None:
        """``key`` distinguishes the transcripts of one run: that of a sub-task has its id.

        ``first_id`` is the id of the first message if the caller has chosen it.
        """
        self._thread_id = thread_id
        self._run = run
        self._first_ordinal = first_ordinal
        self._clock = clock
        self._counter = counter
        self._key = key
        self._first_id = first_id
        self._numbers = Counter[str]()
        """The number of ids so far, by kind."""
        self.messages: list[StoredMessage] = []

    def new_id(self) -> str:
        """Return the id of the next message."""
        if self._first_id is not None:
            first, self._first_id = self._first_id, None
            return first
        return self._derive_id("")

    def new_activity_id(self) -> str:
        """Return the id of the next activity, which clients show among the messages."""
        return self._derive_id("\0activity")

    def new_reasoning_id(self) -> str:
        """Return the id of the next block of visible thinking, which is shown before an answer and never stored."""
        return self._derive_id("\0reasoning")

    def _derive_id(self, kind: str) -> str:
        self._numbers[kind] += 1
        name = f"{self._run.message_id}{self._key}{kind}"
        return derive_message_id(self._thread_id, name, self._run.attempt, self._numbers[kind])

    def take_back(self, count: int) -> list[StoredMessage]:
        """Remove the last ``count`` messages, which clients must not have seen yet, and return them."""
        length = len(self.messages) - count
        messages, self.messages[length:] = self.messages[length:], []
        return messages

    def add_answer(
        self,
        message_id: str,
        agent: AgentDefinition,
        text: str,
        *,
        calls: Sequence[ToolCall] = (),
        is_whole: bool = True,
        is_cut: bool = False,
        is_structured: bool = False,
        refused_by: str | None = None,
        sources: Sequence[Mapping[str, Any]] = (),
        source: str | None = None,
        provider_parts: ProviderParts | None = None,
    ) -> StoredMessage:
        """Add an agent's text and calls, and return the message.

        ``is_cut`` says that the text was cut at the length limit, ``is_whole`` that the answer was not broken off, and
        ``is_structured`` that the text is JSON by the agent's answer schema. ``refused_by`` is the name of the
        guardrail whose sentence the text is. ``source`` is the kind of sender if no model has written the text.
        ``provider_parts`` are sent back to the model's provider with the message.
        """
        cited_sources, consulted_sources = split_consulted(sources)
        note = CUT_NOTE if is_cut else "" if is_whole else STOPPED_NOTE
        counted_text = f"{name_cited(text, sources)}{note}"
        always = provider_parts is not None and provider_parts.replay is Replay.ALWAYS
        return self._add(
            message_id,
            Role.ASSISTANT,
            text,
            count_answer_tokens(counted_text, calls, self._counter)
            + (provider_parts.tokens if provider_parts and always else 0),
            status=MessageStatus.COMPLETE if is_whole else MessageStatus.CANCELLED,
            agent_id=agent.id,
            agent_name=agent.name,
            tool_calls=tuple(calls),
            sources=cited_sources,
            consulted=consulted_sources,
            source=source,
            is_cut=is_cut,
            is_structured=is_structured,
            refused_by=refused_by,
            provider_parts=provider_parts,
        )

    def add_message_of(
        self, message_id: str, agent: AgentDefinition, content: Content, author: Person
    ) -> StoredMessage:
        """Add a message that a person of a desk has written to the user."""
        tokens = count_message_tokens(content, self._counter)
        return self._add(
            message_id, Role.ASSISTANT, content, tokens, agent_id=agent.id, agent_name=agent.name, author=author
        )

    def add_note_of(self, message_id: str, agent: AgentDefinition, text: str, author: Person) -> StoredMessage:
        """Add a note that a person of a desk leaves for colleagues, and for the agent after the return."""
        return self._add(
            message_id,
            Role.TOOL,
            text,
            count_message_tokens(text, self._counter),
            agent_id=agent.id,
            agent_name=agent.name,
            is_handoff_summary=True,
            tool_name=DESK_NOTE,
            tool_call_id=message_id,
            author=author,
        )

    def add_steered(self, message: StoredMessage) -> StoredMessage:
        """Add a user's message that enters the run here, and return it with its ordinal and attempt."""
        ordinal = self._first_ordinal + len(self.messages)
        self.messages.append(replace(message, ordinal=ordinal, attempt=self._run.attempt))
        return self.messages[-1]

    @property
    def result_count(self) -> int:
        """The number of messages with the role ``TOOL``."""
        return sum(message.role is Role.TOOL for message in self.messages)

    def add_result(
        self,
        message_id: str,
        agent: AgentDefinition,
        call: ToolCall,
        content: str,
        *,
        end: CallEnd = CallEnd.SUCCEEDED,
        is_handoff_summary: bool = False,
        sources: Sequence[Mapping[str, Any]] = (),
    ) -> StoredMessage:
        """Add a call's result in the form for the model, and return the message.

        ``is_handoff_summary`` marks a specialist's report. Of ``sources``, the sources of the call, only numbered
        passages are kept with the result.
        """
        return self._add(
            message_id,
            Role.TOOL,
            content,
            count_message_tokens(name_cited(content, sources), self._counter),
            agent_id=agent.id,
            agent_name=agent.name,
            is_tool_result=True,
            is_handoff_summary=is_handoff_summary,
            tool_name=call.name,
            tool_call_id=call.id,
            call_end=end,
            sources=tuple(dict(source) for source in sources if source.get("number") is not None),
        )

    def _add(self, message_id: str, role: Role, content: Content, tokens: int, **fields: Any) -> StoredMessage:
        message = StoredMessage(
            id=message_id,
            role=role,
            content=content,
            ordinal=self._first_ordinal + len(self.messages),
            run_id=self._run.run_id,
            timestamp=self._clock.now(),
            tokens=tokens,
            attempt=self._run.attempt,
            **fields,
        )
        self.messages.append(message)
        return message
