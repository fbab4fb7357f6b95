"""Working memory: the order and the budget of a prompt (M1, M2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ag_ui.core import DataSource, ImagePart, TextPart
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.message import Role, StoredMessage
from baton.memory.context import (
    IMAGE_TOKENS,
    MESSAGE_FRAME_TOKENS,
    REPLY_TOKENS,
    Exchange,
    assemble,
    exchanges,
    history_budget,
    message_tokens,
    prune,
)
from tests.fakes.agent_catalog import agent
from tests.fakes.clock import NOON


class WordCounter:
    """A token a word."""

    def count(self, text: str) -> int:
        return len(text.split())


COUNTER = WordCounter()
ROLES = (Role.USER, Role.ASSISTANT, Role.TOOL)

run_sizes = st.lists(st.lists(st.integers(0, 400), min_size=1, max_size=4), max_size=12)


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
    found = exchanges(history)
    assert [message for exchange in found for message in exchange.messages] == history
    assert [[message.tokens for message in exchange.messages] for exchange in found] == runs


@given(run_sizes, st.integers(0, 3_000))
def test_pruning_keeps_a_suffix_within_budget(runs: list[list[int]], budget: int) -> None:
    history = exchanges(conversation(runs))
    kept = prune(history, budget)
    assert kept == history[len(history) - len(kept) :]
    assert sum(exchange.tokens for exchange in kept) <= budget
    if len(kept) < len(history):
        oldest_lost = history[len(history) - len(kept) - 1]
        assert oldest_lost.tokens + sum(exchange.tokens for exchange in kept) > budget


@given(run_sizes, st.integers(500, 2_000), st.integers(1, 3_000))
def test_a_prompt_is_in_its_order_and_within_its_budget(runs: list[list[int]], budget: int, asked: int) -> None:
    speaker = agent(system_prompt="You help.", memory={"max_working_memory_tokens": budget})
    history, current = conversation(runs), question(asked)
    context = assemble(speaker, history, (current,), COUNTER)

    assert context.prompts[0].role is Role.SYSTEM
    assert context.prompts[0].content == "You help."
    assert (context.prompts[-1].role, context.prompts[-1].content) == (Role.USER, "What now?")
    shown = [message for exchange in context.included for message in exchange.messages]
    assert shown == history[len(history) - len(shown) :]
    assert [(p.role, p.content) for p in context.prompts[1:-1]] == [
        (m.role, m.content)
        for m in shown
        if m.role is not Role.TOOL  # nobody called them
    ]

    fixed = message_tokens("You help.", COUNTER) + asked + REPLY_TOKENS
    assert context.tokens == fixed + sum(message.tokens for message in shown)
    assert context.tokens <= max(budget, fixed)
    assert [*context.pruned, *context.included] == exchanges(history)


@given(st.integers(0, 5_000))
def test_the_system_prompt_and_the_question_are_never_pruned(asked: int) -> None:
    speaker = agent(system_prompt="word " * 600, memory={"max_working_memory_tokens": 500})
    context = assemble(speaker, conversation([[1, 1]]), (question(asked),), COUNTER)
    assert [prompt.role for prompt in context.prompts] == [Role.SYSTEM, Role.USER]
    assert context.tokens == 600 + MESSAGE_FRAME_TOKENS + asked + REPLY_TOKENS


@given(run_sizes, st.integers(500, 2_000))
def test_what_the_store_reads_for_the_budget_is_enough(runs: list[list[int]], budget: int) -> None:
    speaker = agent(memory={"max_working_memory_tokens": budget})
    history, current = conversation(runs), question()
    room = history_budget(speaker, current.tokens, COUNTER)
    read: list[StoredMessage] = []
    for message in reversed(history):
        read.insert(0, message)
        if sum(known.tokens for known in read) > room:
            break
    assert (
        assemble(speaker, read, (current,), COUNTER).prompts == assemble(speaker, history, (current,), COUNTER).prompts
    )


def test_a_question_is_never_parted_from_its_answer() -> None:
    history = [Exchange(tuple(conversation([[10, 500]]))), Exchange(tuple(conversation([[10, 10]])))]
    assert prune(history, 100) == history[1:]
    assert prune(history, 19) == []


def test_an_older_exchange_does_not_take_the_room_of_one_that_did_not_fit() -> None:
    history = exchanges(conversation([[5], [1_000], [5]]))
    assert prune(history, 100) == history[2:]


def test_a_message_costs_its_text_its_parts_and_its_frame() -> None:
    image = ImagePart(source=DataSource(value="aGk=", mime_type="image/png"))
    assert message_tokens("one two", COUNTER) == 2 + MESSAGE_FRAME_TOKENS
    assert message_tokens((TextPart(text="one two"), image), COUNTER) == 2 + IMAGE_TOKENS + MESSAGE_FRAME_TOKENS


def test_the_question_in_the_prompt_is_the_one_asked_now() -> None:
    repeated = replace(conversation([[5, 5]])[0], content="What now?")
    context = assemble(agent(), [repeated], (question(),), COUNTER)
    assert [prompt.content for prompt in context.prompts] == ["You help.", "What now?", "What now?"]
