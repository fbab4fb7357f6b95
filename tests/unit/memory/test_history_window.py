"""The window of the message history: prompts keep their beginning, exchanges stay whole, strides are rare."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.history_window import HistoryWindow, find_window
from baton.domain.threads.message import Role, StoredMessage
from baton.memory.prompt.context import AgentHistory, AssembledContext, Assembly, compute_reading_budget
from baton.memory.prompt.history_window import (
    DUE_SHARE,
    KEPT_SHARE,
    MASK_TOKENS,
    Exchange,
    WindowRules,
    find_next_start,
    slide,
    split_exchanges,
)
from baton.memory.prompt.message_prompts import make_mask_note
from baton.memory.recalled import BlockKind, RecalledBlock, RecalledBlocks
from baton.ports.agents.chat_model import Prompt
from baton_testing.fakes.agents.shipped_agents import agent
from baton_testing.fakes.clock import NOON
from tests.examples import examples
from tests.fakes.token_counter import WordCounter

COUNTER = WordCounter()
AGENT = "assistant"


@dataclass(frozen=True)
class Turn:
    """The texts of one turn: the words of the question, of each call's result, and of the answer."""

    question: int
    results: tuple[int, ...]
    answer: int
    retrieved: int = 0


turn_strategy = st.builds(
    Turn,
    question=st.integers(1, 40),
    results=st.lists(st.integers(1, 300), max_size=2).map(tuple),
    answer=st.integers(1, 60),
    retrieved=st.integers(0, 40),
)


def messages_of(turn: Turn, first: int) -> list[StoredMessage]:
    """The stored messages of a turn; a token is a word."""

    def message(role: Role, words: int, **fields: object) -> StoredMessage:
        ordinal = first + len(messages)
        text = f"{ordinal} " + "word " * words
        plain = StoredMessage(f"m{ordinal}", role, text, ordinal, f"r{first}", NOON, words + 5, agent_id=AGENT)
        return replace(plain, **fields)  # type: ignore[arg-type]

    messages: list[StoredMessage] = []
    messages.append(message(Role.USER, turn.question))
    if turn.results:
        calls = tuple(ToolCall(f"c{first}.{number}", "look", "{}") for number, _ in enumerate(turn.results))
        messages.append(message(Role.ASSISTANT, 0, content="", tool_calls=calls))
        for call, words in zip(calls, turn.results, strict=True):
            messages.append(message(Role.TOOL, words, is_tool_result=True, tool_call_id=call.id))
    messages.append(message(Role.ASSISTANT, turn.answer))
    return messages


@dataclass
class Played:
    """One turn of a conversation that was played."""

    context: AssembledContext
    window: HistoryWindow


def play(speaker: AgentDefinition, text: Sequence[Turn], *, summarised: bool = False) -> list[Played]:
    """Assemble the prompt of each turn, with the window that the previous turn has left; ``summarised`` in time."""
    stored: list[StoredMessage] = []
    window, played = HistoryWindow(AGENT), []
    for turn in text:
        question, *rest = messages_of(turn, len(stored))
        read = read_from(stored, window, compute_reading_budget(speaker, question.tokens, COUNTER))
        results = (Prompt(Role.SYSTEM, f"found {'thing ' * turn.retrieved}"),) if turn.retrieved else ()
        recalled = RecalledBlocks(RecalledBlock(BlockKind.PROCEDURE, prompts=results))
        summary = stored[window.summary_at].summaries[AGENT] if window.summary_at is not None else None
        history = AgentHistory("thread", read, (question,), summary, window)
        context = Assembly(speaker, history, COUNTER).make_prompt(recalled)
        assert context.history is not None
        window = context.history.window
        played.append(Played(context, window))
        stored += [question, *rest]
        below = find_next_start(context.history, Exchange((question, *rest)))
        if summarised and below is not None:
            stored[below] = replace(stored[below], summaries={AGENT: f"summary before {below}"})
    return played


def read_from(stored: Sequence[StoredMessage], window: HistoryWindow, budget: int) -> list[StoredMessage]:
    """The messages that the store reads: from the newest back to the window's start, or until the budget is full."""
    read: list[StoredMessage] = []
    for message in reversed(stored[window.first_ordinal :]):
        read.insert(0, message)
        budget -= message.tokens
        if budget < 0:
            break
    return read


def speaker(tokens: int, **memory: object) -> AgentDefinition:
    no_rules = {"semantic_top_k": 0, "episodic_top_k": 0}
    fields = {"max_working_memory_tokens": tokens, "retrieved": "before_message", **no_rules, **memory}
    return agent(system_prompt="You help.", memory=fields)


budgets = st.integers(500, 1_500)
masks = st.sampled_from([None, 0, 2])


@given(st.lists(turn_strategy, max_size=30), budgets, masks, st.booleans())
def test_each_prompt_begins_with_the_one_before_unless_the_window_has_moved(
    turns: list[Turn], tokens: int, whole: int | None, summarised: bool
) -> None:
    played = play(speaker(tokens, whole_tool_results=whole), turns, summarised=summarised)
    for before, after in itertools.pairwise(played):
        if before.window == after.window:
            stored = before.context.prompts[: before.context.current_from]
            assert after.context.prompts[: len(stored)] == stored
            assert before.context.prompts[-1] in after.context.prompts, "and goes on with its question"


@given(st.lists(turn_strategy, max_size=30), budgets, masks, st.booleans())
def test_a_prompt_stays_within_its_budget_and_holds_whole_exchanges(
    turns: list[Turn], tokens: int, whole: int | None, summarised: bool
) -> None:
    talker = speaker(tokens, whole_tool_results=whole)
    for index, item in enumerate(play(talker, turns, summarised=summarised)):
        context = item.context
        assert context.tokens <= tokens or not context.included
        history = context.prompts[context.head : context.current_from]
        assert [prompt.role for prompt in history[:1]] in ([], [Role.USER])
        called = [call.id for prompt in history for call in prompt.tool_calls]
        answered = [prompt.tool_call_id for prompt in history if prompt.role is Role.TOOL]
        assert called == answered, "calls keep their results"
        ordinals = [message.ordinal for exchange in context.included for message in exchange.messages]
        assert ordinals == list(range(ordinals[0], ordinals[-1] + 1)) if ordinals else index >= 0


@given(st.lists(turn_strategy, max_size=40), budgets, masks, st.booleans())
def test_the_window_moves_forward_only_and_a_stride_makes_room(
    turns: list[Turn], tokens: int, whole: int | None, summarised: bool
) -> None:
    played = play(speaker(tokens, whole_tool_results=whole), turns, summarised=summarised)
    for before, after in itertools.pairwise(played):
        old, new = before.window, after.window
        assert (new.first_ordinal, new.masked_below) >= (old.first_ordinal, old.masked_below)
        assert new.masked_below >= old.masked_below
        history = after.context.history
        assert history is not None
        if new.first_ordinal > old.first_ordinal and len(history.included) > 1:
            assert history.tokens <= DUE_SHARE * history.rules.room


@settings(max_examples=examples(30))  # each is two conversations with some ten strides
@given(st.lists(st.builds(Turn, st.integers(5, 8), st.just(()), st.integers(5, 8)), min_size=100, max_size=150))
def test_strides_are_rare(turns: list[Turn]) -> None:
    """A turn takes up to 27 of about 560 tokens: a stride frees a third of them, for a dozen turns at least."""
    for summarised in (False, True):
        windows = [item.window.first_ordinal for item in play(speaker(600), turns, summarised=summarised)]
        moves = [index for index, (old, new) in enumerate(itertools.pairwise(windows)) if old != new]
        assert moves
        assert all(later - earlier >= 6 for earlier, later in itertools.pairwise(moves))


@given(st.lists(turn_strategy, min_size=1, max_size=30), budgets, st.sampled_from([0, 2]))
def test_results_are_masked_with_strides_only_and_the_newest_stay_whole(
    turns: list[Turn], tokens: int, whole: int
) -> None:
    talker = speaker(tokens, whole_tool_results=whole)
    for item in play(talker, turns):
        visible = item.context.prompts[item.context.head : item.context.current_from]
        for prompt, message in zip(
            [prompt for prompt in visible if prompt.role is Role.TOOL],
            [m for exchange in item.context.included for m in exchange.messages if m.role is Role.TOOL],
            strict=True,
        ):
            is_old = message.ordinal < item.window.masked_below and len(message.text) >= 200
            assert prompt.content == (make_mask_note(message.text) if is_old else message.text)


def history(*tokens: int) -> list[Exchange]:
    """An exchange for each number, of one message."""
    return split_exchanges(
        [StoredMessage(f"m{at}", Role.USER, "text", at, f"r{at}", NOON, size) for at, size in enumerate(tokens)]
    )


def test_a_full_history_keeps_three_fifths_of_its_room() -> None:
    moved = slide(history(*[10] * 11), HistoryWindow(AGENT), WindowRules(100))
    assert moved.window.first_ordinal == 5
    assert moved.tokens == KEPT_SHARE * 100


def test_a_summary_that_is_ready_moves_the_window_before_it_is_full() -> None:
    before = history(*[10] * 10)
    message = replace(before[4].messages[0], summaries={AGENT: "What was said."})
    with_summary = [*before[:4], Exchange((message,)), *before[5:]]
    assert slide(before, HistoryWindow(AGENT), WindowRules(105)).window == HistoryWindow(AGENT)
    moved = slide(with_summary, HistoryWindow(AGENT), WindowRules(105)).window
    assert (moved.first_ordinal, moved.summary_at) == (4, 4)
    off = slide(with_summary, HistoryWindow(AGENT), WindowRules(105, summarises=False)).window
    assert off == HistoryWindow(AGENT)


def test_another_agents_summary_does_not_move_the_window() -> None:
    before = history(*[10] * 10)
    message = replace(before[4].messages[0], summaries={"librarian": "What was said."})
    with_summary = [*before[:4], Exchange((message,)), *before[5:]]
    assert slide(with_summary, HistoryWindow(AGENT), WindowRules(105)).window == HistoryWindow(AGENT)


def test_a_stride_without_a_summary_keeps_the_old_one() -> None:
    window = HistoryWindow(AGENT, first_ordinal=2, summary_at=2)
    moved = slide(history(*[10] * 14), window, WindowRules(100)).window
    assert (moved.first_ordinal, moved.summary_at) == (8, 2)


def test_masking_old_results_is_enough_where_they_take_the_room() -> None:
    messages = [message for index in range(6) for message in messages_of(Turn(1, (200,), 1), 4 * index)]
    stored = split_exchanges(messages)
    room = sum(exchange.count_tokens() for exchange in stored) - 1
    moved = slide(stored, HistoryWindow(AGENT), WindowRules(room, whole_results=2))
    assert moved.window.first_ordinal == 0
    assert moved.window.masked_below == messages[4 * 4 + 2].ordinal, "the newest two results stay whole"
    assert moved.tokens == room + 1 - 4 * (205 - MASK_TOKENS)


def test_the_newest_exchange_is_masked_rather_than_left_out() -> None:
    stored = split_exchanges(messages_of(Turn(1, (300, 300), 1), 0))
    moved = slide(stored, HistoryWindow(AGENT), WindowRules(250, whole_results=5))
    assert list(moved.included) == stored
    assert moved.tokens <= 250


def test_a_smaller_budget_moves_the_window_once_and_a_larger_one_not_back() -> None:
    stored = history(*[10] * 20)
    small = slide(stored, HistoryWindow(AGENT), WindowRules(100)).window
    assert slide(stored, small, WindowRules(100)).window == small
    assert slide(stored, small, WindowRules(1_000)).window == small


def test_a_window_belongs_to_one_agent_in_one_session() -> None:
    main, guide = HistoryWindow("assistant", first_ordinal=4), HistoryWindow("guide", "6.0", first_ordinal=6)
    windows = (main, guide)
    assert find_window(windows, "assistant") == main
    assert find_window(windows, "guide", "6.0") == guide
    assert find_window(windows, "guide", "20.0") == HistoryWindow("guide", "20.0")
