"""The record of a completed task for the light model: its messages and calls, without specifics.

Names from tools' results, such as a customer's whom the user knew only by a number, are specifics too. No argument of
a call contains them, and the detector of personal data does not find names.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import BUILTIN_TOOLS, HttpTool, PythonTool
from baton.domain.memory.capture import MAX_MESSAGES, CaptureRef, list_completed_workflows
from baton.domain.runs.tool_call import CallEnd, is_shown
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role, StoredMessage, list_filtered_runs
from baton.domain.threads.thread import Thread
from baton.memory.procedures.specifics import Specifics
from baton.memory.prompt.history_reading import read_messages_between
from baton.memory.prompt.message_prompts import PERSON
from baton.ports.tenants.privacy import PiiDetector
from baton.ports.threads.threads import ThreadStore

MAX_TEXT = 1_500
"""Characters of one message. A longer message is cut."""
MAX_SOURCES = 50
"""Messages that a procedure names as its source: the last ones of the task."""
MAX_RECORD = 24_000
"""Characters of all messages together: about 6,000 tokens. Of a longer record, the entries after the first are left
out, the oldest first."""
MAX_STATES: Final = 30
"""States of a completed workflow in its entry."""
MAX_COLLECTED: Final = 300
"""Characters of the names of a state and its collected fields."""
MAX_RESULT: Final = 50_000
"""Characters of a tool's result that are searched for names."""
_WORD: Final = re.compile(r"[^\W\d_][\w'\u2019&-]*")
_PIECE: Final = re.compile(rf"{_WORD.pattern}|[.!?:\n]|[^\s\w]|\d+")
_ENDS: Final = frozenset(".!?:\n")


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """The messages of a task."""

    messages: Sequence[StoredMessage]
    entries: Sequence[Mapping[str, Any]]
    """The entries that the light model gets, in order."""
    tools: tuple[str, ...]
    """The tools of the agent that were called with success, each once. A procedure may name only these."""
    specifics: Specifics

    @property
    def run_id(self) -> str | None:
        """The run that completed the task; None if there are no messages."""
        return self.messages[-1].run_id if self.messages else None

    @property
    def message_ids(self) -> tuple[str, ...]:
        """The ids of its last ``MAX_SOURCES`` messages that somebody said."""
        return tuple(message.id for message in self.messages if message.is_said)[-MAX_SOURCES:]


@dataclass(frozen=True, slots=True)
class TaskRecords:
    """The records of tasks."""

    store: ThreadStore
    detector: PiiDetector

    async def read(self, scope: Scope, thread: Thread, agent: AgentDefinition, ref: CaptureRef) -> TaskRecord:
        """Return the record of a task. Raises as the store and the detector do."""
        first = max(ref.first_ordinal, ref.end_ordinal - MAX_MESSAGES)
        read = await read_messages_between(
            self.store, scope, thread.continue_from(ref.end_ordinal - 1), first, ref.end_ordinal
        )
        refused = list_filtered_runs(read)
        messages = [message for message in read if message.run_id not in refused]
        # Only schemas in the agent's file are used. Schemas of servers would need requests.
        declared = [tool for tool in agent.tools if isinstance(tool, HttpTool | PythonTool)]
        specifics = Specifics({tool.name: tool.parameters or {} for tool in declared}, self.detector)
        arguments = {call.id: call.parse_arguments() or {} for message in messages for call in message.tool_calls}
        for message in messages:
            for call in message.tool_calls:
                specifics.add_tool_name(call.name)
        for argument in arguments.values():
            specifics.add(argument)
        results = [message.text for message in messages if message.role is Role.TOOL]
        specifics.add_names(
            find_result_names((message.text[:MAX_TEXT] for message in messages if message.is_said), results)
        )
        entries = [entry for message in messages async for entry in _make_entries(message, specifics, arguments)]
        called = dict.fromkeys(
            message.tool_name
            for message in messages
            if message.role is Role.TOOL
            and message.agent_id == agent.id
            and message.call_end is CallEnd.SUCCEEDED
            and message.tool_name is not None
            and not BUILTIN_TOOLS.fullmatch(message.tool_name)
        )
        return TaskRecord(messages, _select_last_entries(entries), tuple(called), specifics)


async def _make_entries(
    message: StoredMessage, specifics: Specifics, arguments: Mapping[str, Mapping[str, Any]]
) -> AsyncIterator[Mapping[str, Any]]:
    """Yield the entries of one message: its text, or a call with its outcome, and the workflows that it completed."""
    if message.role is Role.TOOL:
        if message.tool_name is not None and is_shown(message.tool_name):
            placeholders = specifics.make_placeholders(arguments.get(message.tool_call_id or "", {}))
            outcome = message.call_end.value
            yield {"by": "tool", "tool": message.tool_name, "arguments": placeholders, "outcome": outcome}
    elif message.is_said:
        text = await specifics.generalise(message.plain_text[:MAX_TEXT])
        by = PERSON if message.author is not None else message.shown_role
        yield {"by": by, "text": text}
    for workflow in list_completed_workflows((message,)):
        collected = [
            f"{state}: {', '.join(fields)}"[:MAX_COLLECTED]
            for state, fields in islice(workflow.data.items(), MAX_STATES)
        ]
        yield {"by": "workflow", "completed_with": workflow.agent_id, "collected": collected}


def _select_last_entries(entries: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the first entry, usually the user's request, and the last entries that fit ``MAX_RECORD`` with it."""
    room = MAX_RECORD - len(str(entries[0])) if entries else 0
    last_entries: list[Mapping[str, Any]] = []
    for entry in reversed(entries[1:]):
        room -= len(str(entry))
        if room < 0:
            break
        last_entries.append(entry)
    return [*entries[:1], *reversed(last_entries)]


def find_result_names(texts: Iterable[str], results: Iterable[str]) -> Iterator[str]:
    """Yield the names that messages and tools' results have in common: successive words with capitals.

    A single word at the beginning of a sentence is not a name, because any word has a capital there.
    """
    result_words = {word for result in results for word in _WORD.findall(result[:MAX_RESULT]) if word[0].isupper()}
    for text in texts if result_words else ():
        for words, begins_sentence in _find_runs(text, result_words):
            if len(words) > 1 or not begins_sentence:
                yield " ".join(words)
            if begins_sentence and len(words) > 1:  # the first word may not belong to the name
                yield " ".join(words[1:])


def _find_runs(text: str, words: set[str]) -> Iterator[tuple[Sequence[str], bool]]:
    """Yield the runs of successive words in ``words``, and whether each run begins a sentence."""
    run: list[str] = []
    begins, is_begin = False, True
    for piece in _PIECE.findall(text):
        if piece in words:
            begins = begins if run else is_begin
            run.append(piece)
        elif run:
            yield run, begins
            run = []
        is_begin = piece in _ENDS
    if run:
        yield run, begins
