"""The choice of found items for a prompt, by relevance, duplicates, the history, numbers and tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from baton.domain.agents.agent_settings import MemorySettings
from baton.domain.agents.guardrail import Origin
from baton.domain.documents.numbered_passages import PassageNumbers
from baton.domain.memory.found_item import NO_SOURCE, PROCEDURE, FoundItem, ItemSource
from baton.domain.memory.procedure import Procedure, ProcedureScope, ProcedureStatus
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.times import DEFAULT_ZONE
from baton.memory.episodes.episode_index import FACT, MESSAGE, SUMMARY
from baton.memory.prompt import quoting
from baton.memory.prompt.message_prompts import CONTEXT_FRAME_TOKENS, count_prompt_tokens
from baton.memory.recall import relevance
from baton.memory.recalled import BlockKind, Findings, ProcedureMatch, RecalledBlock, RecalledBlocks, Retrieval
from baton.ports.agents.chat_model import Prompt, TokenCounter

LEAST_SHARE = 0.5
"""The share of the best relevant chunk's score that a chunk needs, unless it is about as similar to the message.

Measured with Baton's own documentation (``benchmarks.knowledge``; docs/reference/benchmarks.md): half loses nothing of
the references and saves 6 % of the tokens; 0.6 loses 0.9 points.
"""
LEAST_LIKENESS = 0.75
"""The share of the best similarity from which a chunk is kept whatever its score.

Scores are relative to the weakest candidate, so that one of two about equally good chunks may have a score near 0. The
value was chosen and not measured.
"""
MAX_PROCEDURE_TOKENS = 4_000
"""Tokens of a procedure's steps. A larger procedure is left out."""
CLOSE = 0.03
"""The largest difference of cosine similarities at which two procedures count as equally likely, and as ambiguous.

The value was chosen and not measured. It only decides whether approved procedures come before private skills.
"""

MAX_CHARS = {BlockKind.KNOWLEDGE: quoting.MAX_KNOWLEDGE_CHARS, BlockKind.EPISODES: quoting.MAX_SNIPPET_CHARS}

_Line = Callable[[FoundItem, str], str]


@dataclass(frozen=True, slots=True)
class SentHistory:
    """The messages of the history in a prompt, which need not be recalled."""

    thread_id: str = ""
    message_ids: Collection[str] = field(default_factory=frozenset)
    since: datetime | None = None
    """The time of the oldest message; None if there are none."""

    @classmethod
    def of(cls, thread_id: str, messages: Sequence[StoredMessage]) -> SentHistory:
        """Return the history of a prompt in a thread."""
        since = min((message.timestamp for message in messages), default=None)
        return cls(thread_id, frozenset(message.shown_id for message in messages), since)

    def covers(self, item: FoundItem) -> bool:
        """Return whether the prompt contains all messages of which the item consists or from which it was taken."""
        if item.source.thread_id != self.thread_id:
            return False
        if item.kind == SUMMARY:
            return self.since is not None and self.since <= item.at  # the time at which its session began
        ids = item.source.message_ids
        return bool(ids) and all(message_id in self.message_ids for message_id in ids)


def select(
    findings: Findings,
    memory: MemorySettings,
    counter: TokenCounter,
    *,
    zone: str = DEFAULT_ZONE,
    sent: SentHistory = SentHistory(),
    follows_procedures: bool = True,
    least_share: float = LEAST_SHARE,
) -> RecalledBlocks:
    """Choose the found items for a prompt, by the agent's settings.

    ``sent`` is the history of that prompt, and ``zone`` the time zone of its user. ``follows_procedures`` is False for
    a specialist, whose prompt has no procedure. Knowledge and episodes together have at most ``retrieved_tokens``
    tokens, their headings and frames included; the items with the best scores come first. Only relevant items are
    chosen, each text once, at most ``semantic_top_k`` and ``episodic_top_k``.

    Knowledge is left out if its score is below ``least_share`` of the best score, its similarity is below
    ``LEAST_LIKENESS`` of the best similarity, and it has no ``terms`` of the message. Such a chunk costs tokens, and
    would be listed as a source that the answer did not use. A block lists its items by date, the latest last. An empty
    block has no prompt.
    """
    words = frozenset(relevance.find_content_words(findings.query)[: relevance.MAX_QUERY_WORDS])
    judge = partial(_judge, memory=memory, words=words, query=findings.query, sent=sent)
    judged = {
        BlockKind.KNOWLEDGE: judge(findings.knowledge.items, memory.semantic_top_k, least_share=least_share),
        BlockKind.EPISODES: judge(findings.episodes.items, memory.episodic_top_k),
    }
    heads = {BlockKind.KNOWLEDGE: quoting.KNOWLEDGE_HEAD, BlockKind.EPISODES: quoting.EPISODES_HEAD}
    lines: dict[BlockKind, _Line] = {
        BlockKind.KNOWLEDGE: quoting.write_knowledge_line,
        BlockKind.EPISODES: partial(quoting.write_episode_line, zone=zone),
    }
    fitting = _fit(judged, heads, lines, memory.retrieved_tokens, words, counter)
    procedure, procedures = _select_procedure(
        findings.procedure, memory, counter, follows_procedures=follows_procedures
    )
    retrievals = {BlockKind.KNOWLEDGE: findings.knowledge, BlockKind.EPISODES: findings.episodes}
    knowledge, episodes = (
        _make_block(kind, retrieval, fitting[kind], heads[kind], counter) for kind, retrieval in retrievals.items()
    )
    return RecalledBlocks(procedure, knowledge, episodes, procedures)


def number_knowledge(recalled: RecalledBlocks, numbers: PassageNumbers) -> RecalledBlocks:
    """Return ``recalled`` with its passages of knowledge numbered, in the order of the prompt."""
    block = recalled.knowledge
    found_items = sorted(block.included, key=_make_date_key)
    numbered: dict[str, FoundItem] = {}
    for item in found_items:
        citation = item.source.citation
        number = numbers.assign_number(citation.as_source(None)) if citation is not None else None
        line = quoting.add_number(item.line, number) if number is not None else item.line
        numbered[item.id] = replace(item, number=number, line=line)
    if not numbered:
        return recalled
    items = tuple(numbered.get(item.id, item) if item.included else item for item in block.items)
    text = "\n".join([quoting.KNOWLEDGE_HEAD, *(numbered[item.id].line for item in found_items)])
    return replace(recalled, knowledge=replace(block, items=items, prompts=(Prompt(Role.CONTEXT, text),)))


def _judge(
    found_items: Sequence[FoundItem],
    top_k: int,
    *,
    memory: MemorySettings,
    words: frozenset[str],
    query: str,
    sent: SentHistory,
    least_share: float = 0.0,
) -> list[FoundItem]:
    """Return all items, best first, with the reasons of those that are left out for other causes than tokens."""

    def find_reason(item: FoundItem) -> str | None:
        if irrelevant := relevance.find_irrelevance(item, words, memory.relevance_floor):
            return irrelevant
        if sent.covers(item):
            return "already in the message history"
        return (
            "repeats the message"
            if relevance.make_same_text_key(item.shown) == relevance.make_same_text_key(query)
            else None
        )

    items = _merge_duplicates(
        [_leave_out(found_item, find_reason(found_item)) for found_item in _sort_by_score(found_items)]
    )
    relevant = {found_item.id for found_item in items if found_item.included}
    for position, found_item in enumerate(items):
        if found_item.superseded_by in relevant:
            items[position] = _leave_out(found_item, f"superseded by {found_item.superseded_by}")
    items = _leave_out_far_below(_leave_out_echoes(items), least_share)
    for position in [index for index, found_item in enumerate(items) if found_item.included][top_k:]:
        items[position] = _leave_out(items[position], f"beyond the best {top_k}")
    return items


def _leave_out(item: FoundItem, reason: str | None) -> FoundItem:
    """Return the item, left out for ``reason`` unless it is left out already; None leaves it as it is."""
    return replace(item, reason=reason) if reason is not None and item.included else item


def _sort_by_score(items: Iterable[FoundItem]) -> list[FoundItem]:
    return sorted(items, key=lambda item: (-item.score, item.id))


def _merge_duplicates(items: Sequence[FoundItem]) -> list[FoundItem]:
    """Leave out all but one of the items with the same content, and give it the best score among them.

    The latest item stays; a superseded fact only if all are superseded.
    """
    merged, alike = list(items), dict[tuple[str, ...], list[int]]()
    for index, found_item in enumerate(items):
        if found_item.included:
            alike.setdefault(relevance.make_same_text_key(found_item.shown), []).append(index)
    for indices in alike.values():
        best = max(indices, key=lambda index: (items[index].superseded_at is None, items[index].at, items[index].id))
        for index in indices:
            merged[index] = _leave_out(items[index], f"duplicate of {items[best].id}")
        merged[best] = replace(items[best], score=max(items[index].score for index in indices))
    return _sort_by_score(merged)


def _leave_out_echoes(items: Sequence[FoundItem]) -> list[FoundItem]:
    """Leave out the answers and facts that only quote another item. The quoted item stays, with the best of the scores.

    Otherwise a user's sentence would be recalled several times, in quotes of quotes. A superseded fact stays, because
    its line says that it is no longer valid.
    """
    found_items = list(items)
    keys = {
        index: relevance.make_quoted_key(found_item.shown)
        for index, found_item in enumerate(items)
        if found_item.included
    }
    originals: list[int] = []
    # The shortest first, because no text quotes a longer one.
    for position in sorted(keys, key=lambda key: (len(keys[key]), _may_echo(items[key]), items[key].id)):
        found_item, key = items[position], keys[position]
        quoted = [other for other in originals if _may_echo(found_item) and relevance.quotes(key, keys[other])]
        may_add = found_item.kind != FACT  # facts are short, so every word counts
        if not quoted or not relevance.is_echo(key, [keys[other] for other in quoted], may_add=may_add):
            originals.append(position)
            continue
        found_items[position] = _leave_out(found_item, f"duplicate of {items[quoted[-1]].id}")
        for other in quoted:
            found_items[other] = replace(found_items[other], score=max(found_items[other].score, found_item.score))
    return _sort_by_score(found_items)


def _may_echo(item: FoundItem) -> bool:
    """Return whether the item may consist of another item's words: a valid fact, or an agent's message."""
    if item.kind == FACT:
        return item.superseded_at is None
    return item.kind == MESSAGE and item.role == Role.ASSISTANT


def _leave_out_far_below(items: Sequence[FoundItem], least_share: float) -> list[FoundItem]:
    """Leave out items with less than ``least_share`` of the best score that are not about as similar."""
    best = max((found_item.score for found_item in items if found_item.included), default=0.0)
    best_similarity = max((found_item.cosine or 0.0 for found_item in items if found_item.included), default=0.0)

    def find_reason(item: FoundItem) -> str | None:
        is_alike = item.cosine is not None and item.cosine >= LEAST_LIKENESS * best_similarity
        if is_alike or item.terms or item.score >= least_share * best:
            return None
        return f"far below the best: {item.score:.3f} < {least_share:g} of {best:.3f}"

    return [_leave_out(found_item, find_reason(found_item)) for found_item in items]


def _fit(
    judged: Mapping[BlockKind, Sequence[FoundItem]],
    heads: Mapping[BlockKind, str],
    lines: Mapping[BlockKind, _Line],
    cap: int,
    words: frozenset[str],
    counter: TokenCounter,
) -> dict[BlockKind, list[FoundItem]]:
    """Leave out each item that exceeds ``cap`` tokens together with the included items of better scores.

    The remaining items get their lines and tokens.
    """
    fitting = {kind: list(items) for kind, items in judged.items()}
    candidates = [
        (kind, index, found_item)
        for kind, items in judged.items()
        for index, found_item in enumerate(items)
        if found_item.included
    ]
    used, opened = 0, set[BlockKind]()
    for kind, position, found_item in sorted(candidates, key=lambda candidate: -candidate[2].score):
        quoted = quoting.cut_excerpt(found_item.shown, words, MAX_CHARS[kind])
        line = lines[kind](found_item, quoted)
        tokens = counter.count(line) + 1  # the newline before a line may be a token
        head = 0 if kind in opened else counter.count(heads[kind]) + CONTEXT_FRAME_TOKENS
        if used + head + tokens > cap:
            fitting[kind][position] = _leave_out(found_item, f"over the cap of {cap} tokens")
            continue
        brief = quoting.cut_brief_excerpt(quoted, words) if kind is BlockKind.KNOWLEDGE else ""
        fitting[kind][position] = replace(found_item, line=line, tokens=tokens, excerpt=brief)
        used += head + tokens
        opened.add(kind)
    return fitting


def _make_block(
    kind: BlockKind, retrieval: Retrieval[FoundItem], items: Sequence[FoundItem], head: str, counter: TokenCounter
) -> RecalledBlock:
    found_items = sorted((found_item for found_item in items if found_item.included), key=_make_date_key)
    prompts, tokens = tuple[Prompt, ...](), 0
    if found_items:
        origin = Origin.MEMORY if kind is BlockKind.EPISODES else None
        text = "\n".join([head, *(found_item.line for found_item in found_items)])
        prompts = (Prompt(Role.CONTEXT, text, origin=origin),)
        tokens = counter.count(head) + CONTEXT_FRAME_TOKENS + sum(found_item.tokens for found_item in found_items)
    duration = retrieval.duration if retrieval.is_asked else None
    return RecalledBlock(kind, tuple(items), prompts, tokens, duration, retrieval.error)


def _make_date_key(item: FoundItem) -> tuple[datetime, int, str]:
    # Ids of chunks end with their number, so a shorter id is an earlier part of a document.
    return item.at, len(item.id) if item.source.citation is not None else 0, item.id


def _select_procedure(
    retrieval: Retrieval[ProcedureMatch], memory: MemorySettings, counter: TokenCounter, *, follows_procedures: bool
) -> tuple[RecalledBlock, tuple[Procedure, ...]]:
    """Return the block of all matches, with the reasons for omissions, and the procedure in the prompt if any."""
    rivals = _find_rivals(retrieval.items, memory.procedural_floor) if follows_procedures else ()
    items, prompts, procedures, used = [], [], [], 0
    for match in retrieval.items:
        tokens, reason = 0, None
        if not follows_procedures:
            reason = "a specialist follows no procedures of the main agent"
        elif match is not next(iter(rivals), None):
            reason = _explain_omission(match, rivals, memory)
        else:
            prompt = _make_steps_prompt(match)
            tokens = count_prompt_tokens(prompt, counter)
            if tokens > MAX_PROCEDURE_TOKENS:
                tokens, reason = 0, f"over the cap of {MAX_PROCEDURE_TOKENS} tokens"
            else:
                used = tokens
                prompts.append(prompt)
                procedures.append(match.procedure)
        is_rival = any(match is rival for rival in rivals)
        items.append(_make_procedure_item(match, tokens, reason, ambiguous=is_rival and len(rivals) > 1))
    duration, error = retrieval.duration, retrieval.error
    block = RecalledBlock(BlockKind.PROCEDURE, tuple(items), tuple(prompts), used, duration, error)
    return block, tuple(procedures)


def _find_rivals(matches: Sequence[ProcedureMatch], floor: float) -> Sequence[ProcedureMatch]:
    """Return the procedures that fit the message, best first. If there are several, the match is ambiguous.

    They are all procedures whose triggers match. If there are none, they are the most similar procedure, if it reaches
    ``floor``, and others that are nearly as similar; approved procedures then come before private skills.
    """
    triggered = [match for match in matches if match.trigger is not None]
    if triggered:
        return triggered
    least = max(floor, matches[0].score - CLOSE) if matches else floor
    close = [match for match in matches if match.score >= least]
    return sorted(close, key=lambda match: match.procedure.scope is ProcedureScope.USER)


def _make_steps_prompt(match: ProcedureMatch) -> Prompt:
    """Return the prompt with the steps: an instruction if they were approved, otherwise quoted text."""
    if match.procedure.status is ProcedureStatus.APPROVED:
        return Prompt(Role.SYSTEM, quoting.write_procedure_steps(match.procedure, match.trigger))
    return Prompt(Role.CONTEXT, quoting.write_private_skill_steps(match.procedure, match.trigger), origin=Origin.MEMORY)


def _explain_omission(match: ProcedureMatch, rivals: Sequence[ProcedureMatch], memory: MemorySettings) -> str:
    best = rivals[0].procedure.id if rivals else ""
    if match.trigger is not None:
        return f"its trigger matches too, but that of {best} comes first"
    if match.score < memory.procedural_floor:
        return f"below the floor for procedures: {match.score:.3f} < {memory.procedural_floor:g}"
    if any(match is rival for rival in rivals):
        return f"nearly as similar as {best}"
    return f"{best} fits better"


def _make_procedure_item(match: ProcedureMatch, tokens: int, reason: str | None, *, ambiguous: bool) -> FoundItem:
    procedure, source = match.procedure, match.procedure.source
    signals: dict[str, float] = {}
    if match.trigger is not None:
        signals["trigger"] = 1.0
    if match.cosine is not None:
        signals["meaning"] = match.cosine
    text = procedure.draft.description
    return FoundItem(
        procedure.id,
        PROCEDURE,
        f"{procedure.draft.name} (version {procedure.version})",
        f"{text} Trigger: {match.trigger}" if match.trigger else text,
        procedure.created_at,
        match.score,
        signals,
        source=ItemSource(source.thread_id, message_ids=source.message_ids, agent_id=procedure.agent_id)
        if source is not None
        else NO_SOURCE,
        reason=reason,
        tokens=tokens,
        ambiguous=ambiguous,
    )
