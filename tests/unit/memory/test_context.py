"""Working memory: the order and the budget of a prompt."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ag_ui.core import DataSource, ImagePart, TextPart
from hypothesis import given
from hypothesis import strategies as st

from baton.agents.prompts.turn_prompt import fit_prompts
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.message import Role, StoredMessage
from baton.memory.prompt.context import AgentHistory, AssembledContext, Assembly, compute_reading_budget
from baton.memory.prompt.history_window import KEPT_SHARE, Exchange, WindowRules, slide, split_exchanges
from baton.memory.prompt.message_prompts import (
    IMAGE_TOKENS,
    MESSAGE_FRAME_TOKENS,
    REPLY_TOKENS,
    SHORTENED_CHARS,
    SHORTENED_NOTE,
    count_message_tokens,
    count_prompt_tokens,
)
from baton.ports.agents.chat_model import Prompt
from baton_testing.fakes.agents import shipped_agents
from baton_testing.fakes.clock import NOON


class WordCounter:
    """A token a word."""

    def count(self, text: str) -> int:
        return len(text.split())


COUNTER = WordCounter()
ROLES = (Role.USER, Role.ASSISTANT, Role.TOOL)

run_sizes = st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=4), max_size=12)


def agent(*, memory: dict[str, Any] | None = None, **fields: str) -> AgentDefinition:
    """Return an agent without retrieval, so that its system prompt is its own alone."""
    return shipped_agents.agent(memory={"semantic_top_k": 0, "episodic_top_k": 0, **(memory or {})}, **fields)


def assemble(
    speaker: AgentDefinition, history: Sequence[StoredMessage], current: Sequence[StoredMessage]
) -> AssembledContext:
    return Assembly(speaker, AgentHistory("thread", history, current), COUNTER).make_prompt()


def conversation(runs: Sequence[Sequence[int]]) -> list[StoredMessage]:
    """A message for each number, which is its tokens; each list of numbers is a run."""
    messages: list[StoredMessage] = []
    for number, run in enumerate(runs):
        for index, tokens in enumerate(run):
            ordinal = len(messages)
            role = ROLES[min(index, 2)]
            messages.append(StoredMessage(f"m{ordinal}", role, f"text {ordinal}", ordinal, f"r{number}", NOON, tokens))
    return messages


def question(tokens: int = 10) -> StoredMessage:
    return StoredMessage("now", Role.USER, "What now?", 99, "r-now", NOON, tokens)


@given(run_sizes)
def test_exchanges_are_the_history_by_runs(runs: list[list[int]]) -> None:
    history = conversation(runs)
    result = split_exchanges(history)
    assert [message for exchange in result for message in exchange.messages] == history
    assert [[message.tokens for message in exchange.messages] for exchange in result] == runs


def keep_window(history: Sequence[Exchange], room: int) -> list[Exchange]:
    """The contents of a window that began with the first exchange."""
    return list(slide(history, HistoryWindow("assistant"), WindowRules(room)).included)


@given(run_sizes, st.integers(0, 3_000))
def test_pruning_keeps_a_suffix_within_budget(runs: list[list[int]], room: int) -> None:
    history = split_exchanges(conversation(runs))
    stored = keep_window(history, room)
    assert stored == history[len(history) - len(stored) :]
    assert sum(exchange.count_tokens() for exchange in stored) <= room
    if 0 < len(stored) < len(history):
        oldest_lost = history[len(history) - len(stored) - 1]
        assert oldest_lost.count_tokens() + sum(exchange.count_tokens() for exchange in stored) > KEPT_SHARE * room
    elif history and not stored:
        assert history[-1].count_tokens() > room


@given(run_sizes, st.integers(500, 2_000), st.integers(1, 3_000))
def test_a_prompt_is_in_its_order_and_within_its_budget(
    runs: list[list[int]], budget: int, question_tokens: int
) -> None:
    speaker = agent(system_prompt="You help.", memory={"max_working_memory_tokens": budget})
    history, current = conversation(runs), question(question_tokens)
    context = assemble(speaker, history, (current,))

    assert context.prompts[0].role is Role.SYSTEM
    assert context.prompts[0].content == "You help."
    assert (context.prompts[-1].role, context.prompts[-1].content) == (Role.USER, "What now?")
    visible = [message for exchange in context.included for message in exchange.messages]
    assert visible == history[len(history) - len(visible) :]
    assert [(p.role, p.content) for p in context.prompts[1:-1]] == [
        (m.role, m.content)
        for m in visible
        if m.role is not Role.TOOL  # nobody called them
    ]

    fixed = count_message_tokens("You help.", COUNTER) + question_tokens + REPLY_TOKENS
    assert context.tokens == fixed + sum(message.tokens for message in visible)
    assert context.tokens <= max(budget, fixed)
    assert [*context.pruned, *context.included] == split_exchanges(history)


@given(st.integers(0, 5_000))
def test_the_system_prompt_and_the_question_are_never_pruned(question_tokens: int) -> None:
    speaker = agent(system_prompt="word " * 600, memory={"max_working_memory_tokens": 500})
    context = assemble(speaker, conversation([[1, 1]]), (question(question_tokens),))
    assert [prompt.role for prompt in context.prompts] == [Role.SYSTEM, Role.USER]
    assert context.tokens == 600 + MESSAGE_FRAME_TOKENS + question_tokens + REPLY_TOKENS


@given(run_sizes, st.integers(500, 2_000))
def test_what_the_store_reads_for_the_budget_is_enough(runs: list[list[int]], budget: int) -> None:
    speaker = agent(memory={"max_working_memory_tokens": budget})
    history, current = conversation(runs), question()
    room = compute_reading_budget(speaker, current.tokens, COUNTER)
    read: list[StoredMessage] = []
    for message in reversed(history):
        read.insert(0, message)
        if sum(entry.tokens for entry in read) > room:
            break
    assert assemble(speaker, read, (current,)).prompts == assemble(speaker, history, (current,)).prompts


def test_a_question_is_never_parted_from_its_answer() -> None:
    history = split_exchanges(conversation([[10, 500], [10, 10]]))
    assert keep_window(history, 100) == history[1:]
    assert keep_window(history, 19) == []


def test_an_older_exchange_does_not_take_the_room_of_one_that_did_not_fit() -> None:
    history = split_exchanges(conversation([[5], [1_000], [5]]))
    assert keep_window(history, 100) == history[2:]


def test_a_message_costs_its_text_its_parts_and_its_frame() -> None:
    image = ImagePart(source=DataSource(value="aGk=", mime_type="image/png"))
    assert count_message_tokens("one two", COUNTER) == 2 + MESSAGE_FRAME_TOKENS
    assert count_message_tokens((TextPart(text="one two"), image), COUNTER) == 2 + IMAGE_TOKENS + MESSAGE_FRAME_TOKENS


def test_the_question_in_the_prompt_is_the_one_asked_now() -> None:
    repeated = replace(conversation([[5, 5]])[0], content="What now?")
    context = assemble(agent(), [repeated], (question(),))
    assert [prompt.content for prompt in context.prompts] == ["You help.", "What now?", "What now?"]


@st.composite
def grown_turns(draw: st.DrawFn) -> tuple[list[Prompt], int, int]:
    """The prompts of a turn whose calls have had results; how many stand at its head, and where its question is."""
    numbers = itertools.count()

    def new_prompt(role: Role) -> Prompt:
        return Prompt(role, f"{next(numbers)} " + "word " * draw(st.integers(0, 300)))

    def call_rounds(rounds: int) -> list[Prompt]:
        prompts: list[Prompt] = []
        for _ in range(rounds):
            calls = tuple(ToolCall(f"c{next(numbers)}", "look", "{}") for _ in range(draw(st.integers(1, 3))))
            prompts.append(replace(new_prompt(Role.ASSISTANT), tool_calls=calls))
            prompts += [replace(new_prompt(Role.TOOL), tool_call_id=call.id) for call in calls]
        return prompts

    head = [new_prompt(Role.SYSTEM) for _ in range(draw(st.integers(1, 2)))]
    history: list[Prompt] = []
    for _ in range(draw(st.integers(0, 4))):
        history += [new_prompt(Role.USER), *call_rounds(draw(st.integers(0, 2))), new_prompt(Role.ASSISTANT)]
    current = [new_prompt(Role.USER), *call_rounds(draw(st.integers(0, 4)))]
    return [*head, *history, *current], len(head), len(head) + len(history)


@given(grown_turns(), st.integers(0, 4_000))
def test_a_turn_that_has_grown_is_fitted_into_its_budget(turn: tuple[list[Prompt], int, int], budget: int) -> None:
    prompts, head, current_from = turn
    stored, first = fit_prompts(prompts, head=head, current_from=current_from, budget=budget, counter=COUNTER)

    def tokens(some: Sequence[Prompt]) -> int:
        return sum(count_prompt_tokens(prompt, COUNTER) for prompt in some) + REPLY_TOKENS

    def shortest(prompt: Prompt) -> int:
        short = replace(prompt, content=f"{str(prompt.content)[:SHORTENED_CHARS]}\n{SHORTENED_NOTE}")
        size = count_prompt_tokens(prompt, COUNTER)
        return min(size, count_prompt_tokens(short, COUNTER)) if prompt.role is Role.TOOL else size

    current = prompts[current_from:]
    assert stored[:head] == prompts[:head]
    assert stored[first] == prompts[current_from], "the question stays"
    history = stored[head:first]
    assert history == prompts[current_from - len(history) : current_from], "the newest of the history stays"
    assert [prompt.role for prompt in history[:1]] in ([], [Role.USER]), "and exchanges stay whole"
    assert [(p.role, p.tool_calls, p.tool_call_id) for p in stored[first:]] == [
        (p.role, p.tool_calls, p.tool_call_id) for p in current
    ], "calls keep their results"
    least = tokens(prompts[:head]) + sum(map(shortest, current))
    assert tokens(stored) <= max(budget, least)
    if tokens(prompts) <= budget:
        assert stored == prompts
    if stored[first:] != current:
        assert not history, "results are shortened when nothing older is left"
    assert fit_prompts(stored, head=head, current_from=first, budget=budget, counter=COUNTER) == (stored, first)


@given(st.integers(SHORTENED_CHARS + 1, 2 * SHORTENED_CHARS))
def test_a_result_that_shortening_would_make_longer_stays_as_it_is(chars: int) -> None:
    call = ToolCall("c1", "look", "{}")
    prompts = [
        Prompt(Role.SYSTEM, "You help."),
        Prompt(Role.USER, "Look."),
        Prompt(Role.ASSISTANT, "", tool_calls=(call,)),
        Prompt(Role.TOOL, "x" * chars, tool_call_id="c1"),
    ]
    assert fit_prompts(prompts, head=1, current_from=1, budget=0, counter=COUNTER) == (prompts, 1)
