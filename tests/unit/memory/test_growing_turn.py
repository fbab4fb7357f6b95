"""A turn that grows with its calls is fitted in strides: further calls leave its prompts as they are for a while."""

from __future__ import annotations

from baton.agents.prompts.turn_prompt import fit_prompts
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.memory.prompt.message_prompts import SHORTENED_NOTE
from baton.ports.agents.chat_model import Prompt
from tests.fakes.token_counter import WordCounter

BUDGET = 1_000
HEAD = [Prompt(Role.SYSTEM, "You help.")]
HISTORY = [
    prompt
    for number in range(10)
    for prompt in (Prompt(Role.USER, f"question {number}"), Prompt(Role.ASSISTANT, f"{number} " + "word " * 50))
]
QUESTION = [Prompt(Role.USER, "What now?")]


def make_call(number: int, words: int) -> list[Prompt]:
    """A call and its result."""
    call = ToolCall(f"c{number}", "look", "{}")
    return [
        Prompt(Role.ASSISTANT, "", tool_calls=(call,)),
        Prompt(Role.TOOL, f"{number} " + "result " * words, tool_call_id=call.id),
    ]


def grow_turn(rounds: int, words: int) -> list[list[Prompt]]:
    """The prompts of each model call of a turn."""
    prompts, current_from = [*HEAD, *HISTORY, *QUESTION], len(HEAD) + len(HISTORY)
    request = [prompts]
    for number in range(rounds):
        prompts, current_from = fit_prompts(
            [*prompts, *make_call(number, words)],
            head=1,
            current_from=current_from,
            budget=BUDGET,
            counter=WordCounter(),
        )
        request.append(prompts)
    return request


def changes(request: list[list[Prompt]]) -> list[int]:
    """The calls whose prompt does not begin with the previous one."""
    return [
        index for index in range(1, len(request)) if request[index][: len(request[index - 1])] != request[index - 1]
    ]


def test_the_history_gives_way_in_strides() -> None:
    request = grow_turn(5, 100)
    assert changes(request) == [4]
    assert len([prompt for prompt in request[4] if prompt.role is Role.USER]) == 6, "half of the history leaves at once"


def test_results_are_shortened_in_strides_and_the_newest_stay_whole() -> None:
    request = grow_turn(6, 150)
    assert len(changes(request)) <= 3
    assert SHORTENED_NOTE not in str(request[-1][-1].content)
    assert any(SHORTENED_NOTE in str(prompt.content) for prompt in request[-1])
