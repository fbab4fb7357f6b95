"""Choosing what of the found items a prompt gets: relevance, duplicates, the history, numbers and tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from baton.domain.agent import MemorySettings
from baton.domain.message import Role, StoredMessage
from baton.domain.procedure import Procedure, ProcedureStatus
from baton.domain.time_zone import UNKNOWN
from baton.memory.episodes.episode_documents import FACT, MESSAGE, SUMMARY
from baton.memory.prompt.quoting import (
    EPISODES_HEAD,
    KNOWLEDGE_HEAD,
    MAX_KNOWLEDGE_CHARS,
    MAX_SNIPPET_CHARS,
    episode_line,
    excerpt,
    knowledge_line,
    private_skill_steps,
    procedure_steps,
)
from baton.memory.prompt.token_estimates import CONTEXT_FRAME_TOKENS, prompt_tokens
from baton.memory.recall.relevance import (
    MAX_QUERY_WORDS,
    content_words,
    irrelevance,
    is_echo,
    quoted_key,
    quotes,
    same_text_key,
)
from baton.memory.recalled import (
    BlockKind,
    Found,
    FoundItem,
    ItemSource,
    ProcedureMatch,
    ProcedureRetrieval,
    Recalled,
    RecalledBlock,
    RecalledItem,
    Retrieval,
)
from baton.ports.chat_model import Prompt, TokenCounter

MAX_PROCEDURE_TOKENS = 4_000
"""Tokens of a procedure's steps. A larger procedure is left out."""

LEAST_SHARE = 0.5
"""The share of the best relevant chunk's score that a chunk of a document needs, unless it is about as similar."""
LEAST_LIKENESS = 0.75
"""The share of the best similarity with which a chunk is kept whatever its score. Scores are relative to the weakest
candidate: of two chunks that fit about equally, one has a score near 0."""

MAX_CHARS = {BlockKind.KNOWLEDGE: MAX_KNOWLEDGE_CHARS, BlockKind.EPISODES: MAX_SNIPPET_CHARS}

_Line = Callable[[FoundItem, str], str]


@dataclass(frozen=True, slots=True)
class SentHistory:
    """The messages that a prompt contains anyway."""

    thread_id: str = ""
    message_ids: Collection[str] = field(default_factory=frozenset)
    since: datetime | None = None
    """When the oldest of them was said; None if there are none."""

    @classmethod
    def of(cls, thread_id: str, messages: Sequence[StoredMessage]) -> SentHistory:
        """Return the history of a prompt in a thread."""
        since = min((message.timestamp for message in messages), default=None)
        return cls(thread_id, frozenset(message.shown_id for message in messages), since)

    def covers(self, item: FoundItem) -> bool:
        """Return whether everything that the item consists of, or was taken from, is in the prompt."""
        if item.thread_id != self.thread_id:
            return False
        if item.kind == SUMMARY:
            return self.since is not None and self.since <= item.at  # the time at which its session began
        if not item.message_ids:
            return False
        return all(message_id in self.message_ids for message_id in item.message_ids)


@dataclass(slots=True)
class _Judged:
    """An item on its way into a block."""

    item: FoundItem
    line: str = ""
    tokens: int = 0
    reason: str | None = None

    def shown(self) -> RecalledItem:
        item = self.item
        tokens = self.tokens if self.reason is None else 0
        return RecalledItem(
            item.id,
            item.title,
            item.text,
            item.at,
            item.score,
            item.signals,
            tokens,
            self.reason,
            item.kind,
            item.role,
            item.source,
            item.passage,
            day=item.day,
        )


def select(
    found: Found,
    memory: MemorySettings,
    counter: TokenCounter,
    *,
    zone: str = UNKNOWN,
    sent: SentHistory = SentHistory(),
    follows_procedures: bool = True,
    least_share: float = LEAST_SHARE,
) -> Recalled:
    """Choose what a prompt gets of what was found, by the agent's settings.

    ``sent`` is the history of that prompt, and ``zone`` the time zone of its user. Knowledge and episodes together have
    at most ``retrieved_tokens`` tokens, their headings and frames included; the items with the best scores come first.
    Only relevant items are chosen, each text once, at most ``semantic_top_k`` and ``episodic_top_k``. Knowledge with
    less than ``least_share`` of the best one's score, and of its similarity to the message, is left out: it costs
    tokens, and would be listed as a source of an answer that owes it nothing. A block lists its items by date, so that
    the later word stands last; an empty block has no prompt.
    """
    words = frozenset(content_words(found.query)[:MAX_QUERY_WORDS])
    knowledge = _judged(found.knowledge, memory.semantic_top_k, memory, words, found.query, sent, least_share)
    episodes = _judged(found.episodes, memory.episodic_top_k, memory, words, found.query, sent)
    heads = {BlockKind.KNOWLEDGE: KNOWLEDGE_HEAD, BlockKind.EPISODES: EPISODES_HEAD}
    lines: dict[BlockKind, _Line] = {
        BlockKind.KNOWLEDGE: knowledge_line,
        BlockKind.EPISODES: partial(episode_line, zone=zone),
    }
    judged = {BlockKind.KNOWLEDGE: knowledge, BlockKind.EPISODES: episodes}
    _fit(judged, heads, lines, memory.retrieved_tokens, words, counter)
    procedure, procedures = _procedure(found.procedure, memory, counter, follows_procedures=follows_procedures)
    return Recalled(
        procedure=procedure,
        knowledge=_block(BlockKind.KNOWLEDGE, found.knowledge, knowledge, heads[BlockKind.KNOWLEDGE], counter),
        episodes=_block(BlockKind.EPISODES, found.episodes, episodes, heads[BlockKind.EPISODES], counter),
        procedures=procedures,
    )


def _judged(
    retrieval: Retrieval,
    top_k: int,
    memory: MemorySettings,
    words: frozenset[str],
    query: str,
    sent: SentHistory,
    least_share: float = 0.0,
) -> list[_Judged]:
    """Return all items, best first, with the reasons of those that are left out whatever their tokens."""
    judged = [_Judged(item) for item in sorted(retrieval.items, key=lambda item: (-item.score, item.id))]
    for each in judged:
        each.reason = irrelevance(each.item, words, memory.relevance_floor)
        if each.reason is None and sent.covers(each.item):
            each.reason = "already in the message history"
        if each.reason is None and same_text_key(each.item.text) == same_text_key(query):
            each.reason = "repeats the message"
    _merge(judged)
    relevant = {each.item.id: each for each in judged if each.reason is None}
    for each in judged:
        if each.reason is None and each.item.superseded_by in relevant:
            each.reason = f"superseded by {each.item.superseded_by}"
    _drop_echoes(judged)
    best = max((each.item.score for each in judged if each.reason is None), default=0.0)
    likest = max((each.item.cosine or 0.0 for each in judged if each.reason is None), default=0.0)
    for each in judged:
        is_alike = each.item.cosine is not None and each.item.cosine >= LEAST_LIKENESS * likest
        is_alike = is_alike or bool(each.item.terms)
        if each.reason is None and each.item.score < least_share * best and not is_alike:
            each.reason = f"far below the best: {each.item.score:.3f} < {least_share:g} of {best:.3f}"
    chosen = [each for each in judged if each.reason is None]
    for each in chosen[top_k:]:
        each.reason = f"beyond the best {top_k}"
    return judged


def _merge(judged: list[_Judged]) -> None:
    """Drop all but one of the items that say the same. The latest stays, with the best score among them."""
    alike: dict[tuple[str, ...], list[_Judged]] = {}
    for each in judged:
        if each.reason is None:
            alike.setdefault(same_text_key(each.item.text), []).append(each)
    for group in alike.values():
        kept = max(group, key=lambda each: (each.item.superseded_at is None, each.item.at, each.item.id))
        best = max(each.item.score for each in group)
        kept.item = replace(kept.item, score=best)
        for each in group:
            if each is not kept:
                each.reason = f"duplicate of {kept.item.id}"
    judged.sort(key=lambda each: (-each.item.score, each.item.id))


def _drop_echoes(judged: list[_Judged]) -> None:
    """Drop the answers and facts that only quote another item. What they quote stays, with the best of their scores.

    Otherwise one sentence of a user comes several times, and an answer that recalls it quotes the quotes. A fact that
    does not hold any more stays, because its line says so.
    """
    kept: list[tuple[tuple[str, ...], _Judged]] = []
    chosen = [(quoted_key(each.item.text), each) for each in judged if each.reason is None]
    # The shortest first: nothing quotes a longer text than itself.
    for key, each in sorted(chosen, key=lambda pair: (len(pair[0]), _may_echo(pair[1].item), pair[1].item.id)):
        quoted = [(words, other) for words, other in kept if _may_echo(each.item) and quotes(key, words)]
        may_add = each.item.kind != FACT  # a fact is no talk: each of its words counts
        if not quoted or not is_echo(key, [words for words, _ in quoted], may_add=may_add):
            kept.append((key, each))
            continue
        each.reason = f"duplicate of {quoted[-1][1].item.id}"
        for _, other in quoted:
            other.item = replace(other.item, score=max(other.item.score, each.item.score))
    judged.sort(key=lambda each: (-each.item.score, each.item.id))


def _may_echo(item: FoundItem) -> bool:
    """Return whether the item may be made of another one's words."""
    if item.kind == FACT:
        return item.superseded_at is None
    return item.kind == MESSAGE and item.role == Role.ASSISTANT


def _fit(
    judged: dict[BlockKind, list[_Judged]],
    heads: dict[BlockKind, str],
    lines: dict[BlockKind, _Line],
    cap: int,
    words: frozenset[str],
    counter: TokenCounter,
) -> None:
    """Drop the items that exceed ``cap`` tokens together with the others, the lowest scores first."""
    candidates = [(kind, each) for kind, items in judged.items() for each in items if each.reason is None]
    candidates.sort(key=lambda pair: -pair[1].item.score)
    used, opened = 0, set[BlockKind]()
    for kind, each in candidates:
        each.line = lines[kind](each.item, excerpt(each.item.text, words, MAX_CHARS[kind]))
        # The newline before a line may be a token of its own.
        each.tokens = counter.count(each.line) + 1
        head = 0 if kind in opened else counter.count(heads[kind]) + CONTEXT_FRAME_TOKENS
        if used + head + each.tokens > cap:
            each.reason = f"over the cap of {cap} tokens"
            continue
        used += head + each.tokens
        opened.add(kind)


def _block(
    kind: BlockKind, retrieval: Retrieval, judged: Sequence[_Judged], head: str, counter: TokenCounter
) -> RecalledBlock:
    kept = sorted((each for each in judged if each.reason is None), key=_by_date)
    prompts: tuple[Prompt, ...] = ()
    if kept:
        prompts = (Prompt(Role.CONTEXT, "\n".join([head, *(each.line for each in kept)])),)
    return RecalledBlock(
        kind,
        tuple(each.shown() for each in judged),
        prompts,
        tokens=counter.count(head) + CONTEXT_FRAME_TOKENS + sum(each.tokens for each in kept) if kept else 0,
        duration=retrieval.duration if retrieval.is_asked else None,
        error=retrieval.error,
    )


def _by_date(each: _Judged) -> tuple[datetime, int, str]:
    # Ids of chunks end with their number: the shorter one is the earlier part of a document.
    item = each.item
    return item.at, len(item.id) if item.citation is not None else 0, item.id


def _procedure(
    retrieval: ProcedureRetrieval, memory: MemorySettings, counter: TokenCounter, *, follows_procedures: bool
) -> tuple[RecalledBlock, tuple[Procedure, ...]]:
    """Return the block with the procedure that fits best, and why the others are left out."""
    rivals = retrieval.rivals(memory.procedural_floor) if follows_procedures else ()
    items, prompts, procedures, used = [], [], [], 0
    for match in retrieval.matches:
        tokens, reason = 0, None
        if not follows_procedures:
            reason = "a specialist follows no procedures of the main agent"
        elif match is not next(iter(rivals), None):
            reason = _not_followed(match, rivals, memory)
        else:
            prompt = _steps(match)
            tokens = prompt_tokens(prompt, counter)
            if tokens > MAX_PROCEDURE_TOKENS:
                tokens, reason = 0, f"over the cap of {MAX_PROCEDURE_TOKENS} tokens"
            else:
                used = tokens
                prompts.append(prompt)
                procedures.append(match.procedure)
        is_rival = any(match is rival for rival in rivals)
        items.append(_procedure_item(match, tokens, reason, ambiguous=is_rival and len(rivals) > 1))
    block = RecalledBlock(
        BlockKind.PROCEDURE,
        tuple(items),
        tuple(prompts),
        tokens=used,
        duration=retrieval.duration,
        error=retrieval.error,
    )
    return block, tuple(procedures)


def _steps(match: ProcedureMatch) -> Prompt:
    """Return the message with the steps: an instruction if they were approved, otherwise a quotation."""
    if match.procedure.status is ProcedureStatus.APPROVED:
        return Prompt(Role.SYSTEM, procedure_steps(match.procedure, match.trigger))
    return Prompt(Role.CONTEXT, private_skill_steps(match.procedure, match.trigger))


def _not_followed(match: ProcedureMatch, rivals: Sequence[ProcedureMatch], memory: MemorySettings) -> str:
    best = rivals[0].procedure.id if rivals else ""
    if match.trigger is not None:
        return f"its trigger matches too, but that of {best} comes first"
    if match.score < memory.procedural_floor:
        return f"below the floor for procedures: {match.score:.3f} < {memory.procedural_floor:g}"
    if any(match is rival for rival in rivals):
        return f"nearly as similar as {best}"
    return f"{best} fits better"


def _procedure_item(match: ProcedureMatch, tokens: int, reason: str | None, *, ambiguous: bool) -> RecalledItem:
    procedure = match.procedure
    signals: dict[str, float] = {}
    if match.trigger is not None:
        signals["trigger"] = 1.0
    if match.cosine is not None:
        signals["meaning"] = match.cosine
    name = f"{procedure.draft.name} (version {procedure.version})"
    text = procedure.draft.description
    return RecalledItem(
        procedure.id,
        name,
        f"{text} Trigger: {match.trigger}" if match.trigger else text,
        None,
        match.score,
        signals,
        tokens,
        reason,
        "procedure",
        source=_made_of(procedure),
        ambiguous=ambiguous,
    )


def _made_of(procedure: Procedure) -> ItemSource | None:
    source = procedure.source
    if source is None:
        return None
    return ItemSource(source.thread_id, message_ids=source.message_ids, agent_id=procedure.agent_id)
