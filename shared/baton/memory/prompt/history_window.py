"""The window of the history in a prompt. It moves in strides, so that prompts keep their beginning for many turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.message import Role, StoredMessage
from baton.memory.prompt.message_prompts import MESSAGE_FRAME_TOKENS, is_masked

KEPT_SHARE = 0.6
"""The share of the room that the history takes after a stride."""
DUE_SHARE = 0.9
"""The share of the room from which a stride is prepared, so that its summary is written before the room is used up."""
WORTH_SHARE = 0.75
"""The largest share of the room in use after a prepared stride. A smaller stride would soon be followed by another."""
RAW_FACTOR = 3
"""The multiple of its room that a history may take up with its results unmasked, because unmasked results are read."""
FILTERED_NOTE = "[A message of the user, which the model's content filter stopped.]"
"""The text in place of a filtered question for which tools were called."""
MASK_TOKENS = MESSAGE_FRAME_TOKENS + 12
"""Tokens of a masked result: ``make_mask_note`` and its frame."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's message and everything that answered it, in one or more runs. It leaves the window as a whole."""

    messages: tuple[StoredMessage, ...]

    @property
    def is_left_out(self) -> bool:
        """True if prompts leave it out: it is only a question whose run failed, which could fail later prompts too."""
        return len(self.messages) == 1 and self.messages[0].is_unanswered

    @property
    def shown(self) -> tuple[StoredMessage, ...]:
        """The messages for prompts. Of a filtered exchange only the calls stay, because they had effects."""
        if self.is_left_out:
            return ()
        first, last = self.messages[0], self.messages[-1]
        if not last.ends_filtered or first.role is not Role.USER:
            return self.messages
        messages = [
            replace(message, content="") if message.tool_calls else message
            for message in self.messages[1:]
            if message.tool_calls or message.role is Role.TOOL
        ]
        return (replace(first, content=FILTERED_NOTE), *messages) if messages else ()

    @property
    def first_ordinal(self) -> int:
        return self.messages[0].ordinal

    def count_tokens(self, masked_below: int = 0) -> int:
        """Return the tokens in a prompt that masks the tool results below an ordinal; by default it masks none."""
        if self.is_left_out:
            return 0
        return sum(
            min(message.tokens, MASK_TOKENS) if is_masked(message, masked_below) else message.tokens
            for message in self.messages
        )


@dataclass(frozen=True, slots=True)
class WindowRules:
    """The rules by which an agent's window moves."""

    room: int
    """Tokens for the history."""
    whole_results: int | None = None
    """The number of the newest tool results that a stride leaves unmasked; None to mask none."""
    summarises: bool = True
    """True if a summary replaces the messages that leave the window."""
    since: int = 0
    """The first ordinal of the agent's session. Summaries from earlier sessions of the agent are not used."""
    is_cut: bool = False
    """True if missing messages at the beginning were cut by the reader's budget, and not hidden from the agent."""


@dataclass(frozen=True, slots=True)
class WindowedHistory:
    """The exchanges in a window, after the window has moved if necessary."""

    window: HistoryWindow
    included: tuple[Exchange, ...]
    pruned: tuple[Exchange, ...]
    """Exchanges that were read but are not in the window. Older exchanges were not read."""
    tokens: int
    """Tokens of the included exchanges as they are shown."""
    rules: WindowRules

    def drop_oldest(self, count: int) -> WindowedHistory:
        """Return the history without its ``count`` oldest exchanges, to make room for a growing turn."""
        if not count:
            return self
        exchanges, newer = self.included[:count], self.included[count:]
        start = newer[0].first_ordinal if newer else exchanges[-1].messages[-1].ordinal + 1
        window = replace(self.window, first_ordinal=start)
        return replace(
            self,
            window=window,
            included=newer,
            pruned=(*self.pruned, *exchanges),
            tokens=_count_tokens(newer, window.masked_below),
        )


def split_exchanges(history: Sequence[StoredMessage], *, is_cut: bool = True) -> list[Exchange]:
    """Split the history into exchanges, each beginning with a user's message.

    Messages before the first user's message are dropped if the history ``is_cut`` at the reader's budget. Otherwise
    they form a separate exchange.
    """
    groups: list[list[StoredMessage]] = []
    for message in history:
        if message.is_question or not (groups or is_cut):
            groups.append([])
        if groups:
            groups[-1].append(message)
    return [Exchange(tuple(group)) for group in groups]


def slide(history: Sequence[Exchange], window: HistoryWindow, rules: WindowRules, *, end: int = 0) -> WindowedHistory:
    """Return the exchanges in the window, which moves only if a stride is due.

    If the history takes more than its room, the window moves so that about ``KEPT_SHARE`` of the room is used. It moves
    earlier, near that limit, if a summary of the rest is stored or if masking old results is enough. The newest
    exchange stays as long as it fits the room, with masked results if necessary. ``end`` is the ordinal after the last
    message that was read. If no whole exchange was read, the window begins there.
    """
    inside = [exchange for exchange in history if exchange.first_ordinal >= window.first_ordinal]
    pruned = list(history[: len(history) - len(inside)])
    moved = window
    used = _count_tokens(inside, window.masked_below)
    is_incomplete = rules.is_cut and bool(inside) and inside[0].first_ordinal > window.first_ordinal
    is_full = used > rules.room or _count_tokens(inside) > RAW_FACTOR * rules.room or is_incomplete
    if is_full or used > DUE_SHARE * rules.room:
        prepared = _find_prepared_window(inside, window, rules) if not is_incomplete else None
        moved = prepared or (_find_forced_window(inside, window, rules) if is_full else window)
        while inside and inside[0].first_ordinal < moved.first_ordinal:
            pruned.append(inside.pop(0))
        if is_full and _count_tokens(inside, moved.masked_below) > rules.room:
            pruned, inside = [*pruned, *inside], []  # the newest exchange alone is too long
    if moved is not window or not inside:
        used = _count_tokens(inside, moved.masked_below)
    if not inside:
        moved = replace(moved, first_ordinal=max(moved.first_ordinal, end))
    elif _is_summarised(inside[0], window, rules):
        moved = replace(moved, summary_at=inside[0].first_ordinal)
    return WindowedHistory(moved, tuple(inside), tuple(pruned), used, rules)


def find_next_start(windowed: WindowedHistory, current: Exchange) -> int | None:
    """Return the first ordinal of the history after the next stride, for a summary of the rest; None if not yet due.

    ``current`` is the exchange that has just been added.
    """
    window, rules = windowed.window, windowed.rules
    inside = [*windowed.included, current]
    used = windowed.tokens + current.count_tokens(window.masked_below)
    if used <= DUE_SHARE * rules.room or _find_prepared_window(inside, window, rules) is not None:
        return None
    masked_below = _find_mask_limit(inside, window, rules.whole_results)
    count = max(1, _count_fitting(inside, masked_below, rules.room))
    return inside[-count].first_ordinal if count < len(inside) else None


def _find_prepared_window(
    inside: Sequence[Exchange], window: HistoryWindow, rules: WindowRules
) -> HistoryWindow | None:
    """Return the window after a stride that only masks results or drops summarised messages; None if none is enough."""
    masked_below = _find_mask_limit(inside, window, rules.whole_results)
    enough = WORTH_SHARE * rules.room
    if masked_below > window.masked_below and _fits(inside, masked_below, enough, rules):
        return replace(window, masked_below=masked_below)
    for start in range(len(inside) - 1, 0, -1):
        if _is_summarised(inside[start], window, rules) and _fits(inside[start:], masked_below, enough, rules):
            first = inside[start].first_ordinal
            return replace(window, first_ordinal=first, masked_below=masked_below, summary_at=first)
    return None


def _find_forced_window(inside: Sequence[Exchange], window: HistoryWindow, rules: WindowRules) -> HistoryWindow:
    """Return the window after a stride that depends on the room only. Dropped messages are summarised later."""
    masked_below = _find_mask_limit(inside, window, rules.whole_results)
    fitting = _count_fitting(inside, masked_below, rules.room)
    if not fitting and rules.whole_results is not None and inside:
        masked_below = inside[-1].messages[-1].ordinal + 1
        fitting = _count_fitting(inside, masked_below, rules.room)
    first = inside[len(inside) - fitting] if fitting else None
    end = inside[-1].messages[-1].ordinal + 1 if inside else window.first_ordinal
    return replace(window, first_ordinal=first.first_ordinal if first else end, masked_below=masked_below)


def _count_fitting(inside: Sequence[Exchange], masked_below: int, room: int) -> int:
    """Return the number of newest exchanges that a stride keeps."""
    count, tokens, raw = 0, 0, 0
    for exchange in reversed(inside):
        tokens += exchange.count_tokens(masked_below)
        raw += exchange.count_tokens()
        share = KEPT_SHARE if count else 1.0
        if tokens > share * room or raw > share * RAW_FACTOR * room:
            break
        count += 1
    return count


def _fits(inside: Sequence[Exchange], masked_below: int, room: float, rules: WindowRules) -> bool:
    return _count_tokens(inside, masked_below) <= room and _count_tokens(inside) <= RAW_FACTOR * rules.room


def _find_mask_limit(inside: Sequence[Exchange], window: HistoryWindow, whole: int | None) -> int:
    """Return the ordinal below which a stride masks results, so that the newest ``whole`` results stay unmasked."""
    if whole is None:
        return window.masked_below
    results = [message.ordinal for exchange in inside for message in exchange.messages if message.role is Role.TOOL]
    if len(results) <= whole:
        return window.masked_below
    return max(window.masked_below, results[-whole] if whole else results[-1] + 1)


def _is_summarised(exchange: Exchange, window: HistoryWindow, rules: WindowRules) -> bool:
    """Return whether a summary of the agent's earlier messages is stored with the exchange's first message."""
    is_own = not rules.since or exchange.first_ordinal > rules.since
    return rules.summarises and is_own and window.agent_id in exchange.messages[0].summaries


def _count_tokens(inside: Sequence[Exchange], masked_below: int = 0) -> int:
    return sum(exchange.count_tokens(masked_below) for exchange in inside)
