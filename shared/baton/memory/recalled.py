"""The values of recall: the findings for a message, and the blocks of a prompt."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Generic, TypeVar

from baton.domain.documents.search import Vector
from baton.domain.memory.found_item import FoundItem
from baton.domain.memory.procedure import Procedure
from baton.domain.memory.procedure_set import ProcedureSet
from baton.domain.tenants.identity import Scope
from baton.memory.early_recall import EarlyRecall
from baton.ports.agents.chat_model import Prompt

ReadProcedures = Callable[[], Coroutine[Any, Any, ProcedureSet]]

T = TypeVar("T")


class BlockKind(StrEnum):
    """The parts of a prompt, in their order."""

    SYSTEM = "system"
    PROCEDURE = "procedure"
    KNOWLEDGE = "knowledge"
    EPISODES = "episodes"
    HISTORY = "history"
    CURRENT = "current"


@dataclass(frozen=True, slots=True)
class Retrieval(Generic[T]):
    """The items that one retrieval found, best first: texts, or procedures that were compared with the message."""

    items: tuple[T, ...] = ()
    duration: timedelta = timedelta()
    error: str | None = None
    """The reason why it failed, or searched by words only; None otherwise."""
    is_asked: bool = False
    """True if a search was made; False if the retrieval is switched off, or the message has nothing to search for."""


@dataclass(frozen=True, slots=True)
class ProcedureMatch:
    """A procedure, with the trigger or the similarity by which it fits the message."""

    procedure: Procedure
    trigger: str | None
    """The trigger that the message matches; None if the procedure was compared by meaning."""
    cosine: float | None = None

    @property
    def score(self) -> float:
        """1 for a matching trigger, otherwise the cosine similarity, at least 0."""
        return 1.0 if self.trigger is not None else max(0.0, self.cosine or 0.0)


@dataclass(frozen=True, slots=True)
class Findings:
    """All items that were found for one message, before the choice for a prompt."""

    query: str = ""
    vector: Vector | None = None
    procedure: Retrieval[ProcedureMatch] = Retrieval()
    knowledge: Retrieval[FoundItem] = Retrieval()
    episodes: Retrieval[FoundItem] = Retrieval()


NOTHING_FOUND = Findings()


@dataclass(frozen=True, slots=True)
class MemorySearch:
    """A search of memory for one message.

    ``AgentMemory.search`` may make it before the rest of a prompt is known; otherwise ``AgentMemory.make_prompt`` does.
    """

    scope: Scope
    text: str
    """The message; empty if there is none."""
    procedures: ReadProcedures | None = None
    """Reads the procedures that the agent may follow; None if it may not follow any."""
    with_knowledge: bool = True
    with_episodes: bool = True
    early: EarlyRecall | None = None
    """The early search of ``AgentMemory.begin`` for the message, if any."""
    agent_id: str | None = None
    """The agent for which the search was made; None before the search."""
    found: Findings = NOTHING_FOUND


@dataclass(frozen=True, slots=True)
class RecalledBlock:
    """One block of a prompt: its items, included or left out, and its messages. An empty block has no messages."""

    kind: BlockKind
    items: tuple[FoundItem, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    tokens: int = 0
    duration: timedelta | None = None
    error: str | None = None

    @property
    def included(self) -> Sequence[FoundItem]:
        """The items in the prompt."""
        return [item for item in self.items if item.included]


@dataclass(frozen=True, slots=True)
class RecalledBlocks:
    """The retrieved blocks of a prompt."""

    procedure: RecalledBlock = RecalledBlock(BlockKind.PROCEDURE)
    knowledge: RecalledBlock = RecalledBlock(BlockKind.KNOWLEDGE)
    episodes: RecalledBlock = RecalledBlock(BlockKind.EPISODES)
    procedures: tuple[Procedure, ...] = ()
    """The procedure whose steps are in the prompt, if any."""

    @property
    def blocks(self) -> tuple[RecalledBlock, RecalledBlock, RecalledBlock]:
        """The blocks in the order of the prompt."""
        return self.procedure, self.knowledge, self.episodes

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The messages of all blocks in their order; empty if nothing was recalled."""
        return tuple(prompt for block in self.blocks for prompt in block.prompts)

    @property
    def cited(self) -> Sequence[dict[str, Any]]:
        """The chunks of documents in the prompt, as entries of a message's ``metadata.sources``, best first."""
        items = sorted(self.knowledge.included, key=lambda item: -item.score)
        return [
            {**item.source.citation.as_source(item.score), "number": item.number, "excerpt": item.excerpt}
            for item in items
            if item.source.citation is not None
        ]

    @property
    def tokens(self) -> int:
        """The tokens of all messages."""
        return sum(block.tokens for block in self.blocks)


NOTHING_RECALLED = RecalledBlocks()
