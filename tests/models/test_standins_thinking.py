"""The stand-ins of Amazon Bedrock bind a model's thinking to what came before it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.raw import Json, blocks, converse, make_message, tool_config
from tests.models.standins import StandIns

HAIKU = "eu.anthropic.claude-haiku-4-5"
POINT = {"cachePoint": {"type": "default"}}
HI = make_message("Hi.", role="assistant")
CONFIG = tool_config()
ADD = make_message('use the tool add with {"x": 1} 3 times')


def thinking_turn(stand_ins: StandIns, rounds: int, **fields: Any) -> list[Json]:
    """Play rounds of a turn with thinking; returns its messages."""
    messages = [ADD]
    for _ in range(rounds):
        answer = blocks(converse(stand_ins, messages, toolConfig=CONFIG, **fields))
        call_id = answer[-1]["toolUse"]["toolUseId"]
        output = {"toolResult": {"toolUseId": call_id, "content": [{"text": "2"}]}}
        messages += [{"role": "assistant", "content": answer}, make_message("", output)]
    return messages


def test_thinking_is_bound_to_all_that_came_before_it(stand_ins: StandIns) -> None:
    system = [{"text": "Be kind."}]
    turn = thinking_turn(stand_ins, 2, system=system)
    unchanged = converse(stand_ins, turn, system=[*system, POINT], toolConfig=CONFIG)
    assert unchanged.status_code == 200  # a cache point is not a change
    without_first = [turn[0], {"role": "assistant", "content": turn[1]["content"][1:]}, *turn[2:]]
    for messages, fields in (
        (turn, {"system": [{"text": "Be rude."}], "toolConfig": CONFIG}),
        (turn, {"system": system, "toolConfig": tool_config("add", "other")}),
        ([make_message("Other words."), *turn[1:]], {"system": system, "toolConfig": CONFIG}),
        (without_first, {"system": system, "toolConfig": CONFIG}),
    ):
        response = converse(stand_ins, messages, **fields)
        assert "The block is bound to a different conversation" in response.json()["message"]


@pytest.mark.parametrize("display", ["summarized", "omitted"])
def test_thinking_has_text_only_if_it_is_asked_for(stand_ins: StandIns, display: str) -> None:
    fields = {"thinking": {"type": "adaptive", "display": display}}
    turn = thinking_turn(stand_ins, 1, additionalModelRequestFields=fields)
    text = turn[1]["content"][0]["reasoningContent"]["reasoningText"]["text"]
    assert bool(text) is (display == "summarized")
    assert converse(stand_ins, turn, toolConfig=CONFIG, additionalModelRequestFields=fields).status_code == 200


def test_redacted_thinking_must_come_back_byte_by_byte(stand_ins: StandIns) -> None:
    request = make_message("think secretly")
    answer = blocks(converse(stand_ins, [request]))
    for change in ("", "AAAA"):
        changed = {"reasoningContent": {"redactedContent": change or answer[0]["reasoningContent"]["redactedContent"]}}
        messages = [request, {"role": "assistant", "content": [changed, answer[1]]}, make_message()]
        assert converse(stand_ins, messages).status_code == (400 if change else 200)


def test_older_models_want_their_thinking_within_a_turn(stand_ins: StandIns) -> None:
    fields = {"toolConfig": CONFIG, "additionalModelRequestFields": {"thinking": {"type": "enabled"}}}
    request = make_message('think and use the tool add with {"x": 1}')
    answer = blocks(converse(stand_ins, [request], HAIKU, **fields))
    output = {"toolResult": {"toolUseId": answer[1]["toolUse"]["toolUseId"], "content": [{"text": "2"}]}}
    for stored, status in ((answer, 200), (answer[1:], 400)):
        messages = [request, {"role": "assistant", "content": stored}, make_message("", output)]
        assert converse(stand_ins, messages, HAIKU, **fields).status_code == status
    later = [request, {"role": "assistant", "content": answer[1:]}, make_message("", output), HI, make_message()]
    assert converse(stand_ins, later, HAIKU, **fields).status_code == 200
