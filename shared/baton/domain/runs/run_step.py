"""Steps of agents whose ``run`` is a coroutine, as the run's journal stores them."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from baton.domain.runs.conversation_data import DataChange
from baton.domain.runs.usage import Usage
from baton.domain.text import count_bytes

MAX_STEPS = 500
"""Steps of one exchange, of all its agents together."""
MAX_STEP_BYTES = 256 * 1024
"""Bytes of a step's result in UTF-8, and characters of its arguments."""
MAX_JOURNAL_BYTES = 4 * 1024 * 1024
"""Bytes of the steps of one exchange together: a worker that takes over reads all of them."""
MAX_AT_ONCE = 16
"""Steps of an exchange that run at the same time. Further steps wait."""
MAX_BRANCHES = 100
"""Branches of one ``gather``."""
MAX_DEPTH = 3
"""The longest chain of agents with ``run`` in which each agent asks the next."""


class StepKind(StrEnum):
    """The operation of a step."""

    INPUT = "input"
    """The question, as guardrails have left it."""
    ASK = "ask"
    BEGIN = "begin"
    """A question to an agent that works on it in the background."""
    CALL = "call"
    MODEL = "model"
    ANSWER = "answer"
    """An answer that the model has written to the user."""
    SAY = "say"
    INCOMING = "incoming"
    """Messages of the user that have entered the run, as guardrails have left them."""


@dataclass(frozen=True, slots=True)
class RunStep:
    """One step and its result. It is stored before the coroutine gets the result."""

    id: str
    """The id, which is the same in every attempt and in every run of the exchange: see ``derive_step_id``."""
    message_id: str
    """The first message of the exchange."""
    run_id: str
    """The run that made the step."""
    place: str
    """The position in the coroutine: ``3``, or ``4.0.1``, which is the first step in the first branch of step 4."""
    kind: StepKind
    digest: str
    """The digest of its arguments: see ``derive_step_digest``."""
    ended_at: datetime
    value: str = ""
    """The result, as text or JSON."""
    error: str | None = None
    """The reason why it failed; None if it succeeded."""
    is_refused: bool = False
    """True if it was not carried out."""
    is_outage: bool = False
    """True if the tool or agent did not answer or could not be reached."""
    waits: bool = False
    """True if it waits for an approval; nothing was done yet."""
    tool_name: str | None = None
    """The tool that was called; ``ask_...`` if an agent was asked, also in the background."""
    arguments: str | None = None
    """Its arguments as JSON."""
    data: DataChange | None = None
    """The call's change of the conversation's data."""
    sources: tuple[Mapping[str, Any], ...] = ()
    task_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None

    @property
    def size(self) -> int:
        """The bytes of its result."""
        return count_bytes(self.value)

    @property
    def recorded_size(self) -> int:
        """The bytes that count towards ``MAX_JOURNAL_BYTES``, about the size of its record."""
        texts = (self.arguments or "", self.error or "", "" if self.data is None else str(self.data))
        return self.size + sum(map(count_bytes, texts)) + sum(count_bytes(str(source)) for source in self.sources)


def derive_step_id(thread_id: str, message_id: str, caller: str, place: str) -> str:
    """Return the id of a step. ``caller`` is the id of the agent or, within a sub-task, of the task."""
    return uuid.uuid5(uuid.UUID(thread_id), "\0".join(("step", message_id, caller, place))).hex


def derive_step_digest(kind: StepKind, arguments: object) -> str:
    """Return the digest of a step's kind and ``arguments``, a JSON value."""
    text = json.dumps([kind.value, arguments], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
