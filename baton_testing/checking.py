"""Compare observations with expectations. No model decides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from baton_testing.conversation_test import Expectation
from baton_testing.matching import matches_partly
from baton_testing.observation import Called, Observation


@dataclass(frozen=True, slots=True)
class Unmet:
    """An expectation that does not hold."""

    expected: str
    happened: str


def find_unmet(expectation: Expectation, seen: Observation) -> Iterator[Unmet]:
    """Yield the parts of an expectation that do not hold."""
    yield from _check_calls(expectation, seen)
    yield from _check_agents(expectation, seen)
    yield from _check_words(expectation, seen)
    if expectation.workflow is not None and expectation.workflow not in (*seen.workflow_states, seen.workflow):
        yield Unmet(f"the workflow is in {expectation.workflow}", _describe_workflow(seen))
    if expectation.approval is not None and expectation.approval not in seen.approvals:
        yield Unmet(f"a person is asked about {expectation.approval}", f"asked about {_list(seen.approvals)}")
    for words in expectation.asks:
        if _normalize(words) not in _normalize("\n".join(seen.questions)):
            yield Unmet(f"a person is asked {words!r}", f"asked {_list(seen.questions)}")
    if expectation.error is not None and expectation.error != seen.error:
        yield Unmet(f"the error {expectation.error}", f"{seen.error or 'no error'}")
    if expectation.closed is not None and expectation.closed is not bool(seen.closings):
        outcomes = ("it is not closed", "the conversation is closed")
        yield Unmet(outcomes[expectation.closed], outcomes[not expectation.closed])
    if "desk" in expectation.model_fields_set and expectation.desk != seen.desk:
        yield Unmet(f"the conversation is {_describe_desk(expectation.desk)}", f"it is {_describe_desk(seen.desk)}")
    if expectation.delivered is not None and expectation.delivered is not seen.delivered:
        outcomes = ("no message goes to a desk", "a message goes to a desk")
        yield Unmet(outcomes[expectation.delivered], outcomes[not expectation.delivered])
    if "begun_by" in expectation.model_fields_set and not (
        expectation.begun_by in seen.begun_by if expectation.begun_by else not seen.begun_by
    ):
        yield Unmet(f"begun by itself: {expectation.begun_by or 'nothing'}", f"begun by itself: {_list(seen.begun_by)}")
    for name, text in _OUTCOMES.items():
        expected, happened = getattr(expectation, name), bool(getattr(seen, name))
        if expected is not None and expected is not happened:
            yield Unmet(text if expected else f"not: {text}", text if happened else f"not: {text}")
    if expectation.spoken_by is not None and expectation.spoken_by not in seen.people:
        yield Unmet(f"{expectation.spoken_by} writes to the user", f"people who wrote: {_list(seen.people)}")
    if expectation.max_tokens is not None and seen.tokens > expectation.max_tokens:
        yield Unmet(f"at most {expectation.max_tokens} tokens", f"{seen.tokens}")
    if expectation.max_milliseconds is not None and seen.milliseconds > expectation.max_milliseconds:
        yield Unmet(f"at most {expectation.max_milliseconds:g} ms of Baton's own", f"{seen.milliseconds:.1f} ms")


_OUTCOMES = {
    "steered": "a message enters the run",
    "interrupted": "the run is stopped",
    "withdrawn": "a message is withdrawn",
}


def _describe_desk(status: str | None) -> str:
    return f"{status} at a desk" if status is not None else "at no desk"


def _check_calls(expectation: Expectation, seen: Observation) -> Iterator[Unmet]:
    if expectation.tool is not None:
        fitting = [call for call in seen.calls if _fits(call, expectation)]
        expected = f"{expectation.tool} is called" + (f" by {expectation.by}" if expectation.by else "")
        if expectation.arguments is not None:
            expected += f" with {_write_json(expectation.arguments)}"
        if expectation.times is not None and len(fitting) != expectation.times:
            yield Unmet(f"{expected}, {expectation.times} times", f"{len(fitting)} times: {_list_calls(seen.calls)}")
        elif expectation.times is None and not fitting:
            yield Unmet(expected, _list_calls(seen.calls))
    for name in expectation.no_tool:
        if called := [call for call in seen.calls if call.tool == name]:
            yield Unmet(f"{name} is not called", _list_calls(tuple(called)))


def _fits(call: Called, expectation: Expectation) -> bool:
    if call.tool != expectation.tool or (expectation.by is not None and call.agent_id != expectation.by):
        return False
    return expectation.arguments is None or matches_partly(call.arguments, expectation.arguments)


def _check_agents(expectation: Expectation, seen: Observation) -> Iterator[Unmet]:
    for agent in expectation.consulted:
        if agent not in seen.consulted:
            yield Unmet(f"{agent} is consulted", f"consulted: {_list(seen.consulted)}")
    for agent in expectation.not_consulted:
        if agent in seen.consulted:
            yield Unmet(f"{agent} is not consulted", f"consulted: {_list(seen.consulted)}")
    if expectation.handoff is not None and expectation.handoff not in seen.handoffs:
        yield Unmet(f"a handoff to {expectation.handoff}", f"handed over to {_list(seen.handoffs)}")
    if expectation.no_handoff and seen.handoffs:
        yield Unmet("no handoff", f"handed over to {_list(seen.handoffs)}")
    if expectation.returned and not seen.returns:
        yield Unmet("the specialist returns", "no handoff ended")
    if expectation.answered_by is not None and seen.answered_by != expectation.answered_by:
        nobody = f"{seen.said[-1].name}, a person," if seen.said else "nobody"
        yield Unmet(f"{expectation.answered_by} answers", f"{seen.answered_by or nobody} did")


def _check_words(expectation: Expectation, seen: Observation) -> Iterator[Unmet]:
    text = _normalize(seen.text)
    for words in expectation.says:
        if _normalize(words) not in text:
            yield Unmet(f"agents say {words!r}", f"they said {seen.text!r}" if seen.text else "they said nothing")
    for words in expectation.says_not:
        if _normalize(words) in text:
            yield Unmet(f"agents do not say {words!r}", f"they said {seen.text!r}")
    if expectation.matches is not None and not re.search(expectation.matches, seen.text):
        yield Unmet(f"what agents say matches {expectation.matches!r}", f"they said {seen.text!r}")
    if expectation.result is not None and not matches_partly(seen.result, expectation.result):
        happened = (
            "no structured answer was given to the user" if seen.result is None else f"it is {_write_json(seen.result)}"
        )
        yield Unmet(f"the result holds {_write_json(expectation.result)}", happened)


def _describe_workflow(seen: Observation) -> str:
    if seen.workflow is None:
        return "no workflow has begun"
    return f"it was in {_list(seen.workflow_states)}" if seen.workflow_states else f"it stayed in {seen.workflow}"


def _write_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())


def _list_calls(calls: tuple[Called, ...]) -> str:
    return "; ".join(map(str, calls)) or "no tool was called"


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"
