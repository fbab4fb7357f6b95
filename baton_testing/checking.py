"""Compare observations with expectations. No model decides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from baton_testing.conversation_test import Expectation
from baton_testing.matching import holds
from baton_testing.observation import Called, Observation


@dataclass(frozen=True, slots=True)
class Unmet:
    """An expectation that does not hold."""

    expected: str
    happened: str


def find_unmet(wanted: Expectation, seen: Observation) -> Iterator[Unmet]:
    """Yield the parts of an expectation that do not hold."""
    yield from _calls(wanted, seen)
    yield from _agents(wanted, seen)
    yield from _words(wanted, seen)
    if wanted.workflow is not None and wanted.workflow not in seen.workflow_states:
        yield Unmet(f"the workflow reaches {wanted.workflow}", f"it was in {_list(seen.workflow_states)}")
    if wanted.approval is not None and wanted.approval not in seen.approvals:
        yield Unmet(f"a person is asked about {wanted.approval}", f"asked about {_list(seen.approvals)}")
    if wanted.error is not None and wanted.error != seen.error:
        yield Unmet(f"the error {wanted.error}", f"{seen.error or 'no error'}")
    if wanted.closed is not None and wanted.closed is not bool(seen.closings):
        outcomes = ("it is not closed", "the conversation is closed")
        yield Unmet(outcomes[wanted.closed], outcomes[not wanted.closed])
    if wanted.max_tokens is not None and seen.tokens > wanted.max_tokens:
        yield Unmet(f"at most {wanted.max_tokens} tokens", f"{seen.tokens}")
    if wanted.max_milliseconds is not None and seen.milliseconds > wanted.max_milliseconds:
        yield Unmet(f"at most {wanted.max_milliseconds:g} ms of Baton's own", f"{seen.milliseconds:.1f} ms")


def _calls(wanted: Expectation, seen: Observation) -> Iterator[Unmet]:
    if wanted.tool is not None:
        found = [call for call in seen.calls if _fits(call, wanted)]
        expected = f"{wanted.tool} is called" + (f" by {wanted.by}" if wanted.by else "")
        if wanted.arguments is not None:
            expected += f" with {_json(wanted.arguments)}"
        if wanted.times is not None and len(found) != wanted.times:
            yield Unmet(f"{expected}, {wanted.times} times", f"{len(found)} times: {_list_calls(seen.calls)}")
        elif wanted.times is None and not found:
            yield Unmet(expected, _list_calls(seen.calls))
    for name in wanted.no_tool:
        if called := [call for call in seen.calls if call.tool == name]:
            yield Unmet(f"{name} is not called", _list_calls(tuple(called)))


def _fits(call: Called, wanted: Expectation) -> bool:
    if call.tool != wanted.tool or (wanted.by is not None and call.agent_id != wanted.by):
        return False
    return wanted.arguments is None or holds(call.arguments, wanted.arguments)


def _agents(wanted: Expectation, seen: Observation) -> Iterator[Unmet]:
    for agent in wanted.consulted:
        if agent not in seen.consulted:
            yield Unmet(f"{agent} is consulted", f"consulted: {_list(seen.consulted)}")
    for agent in wanted.not_consulted:
        if agent in seen.consulted:
            yield Unmet(f"{agent} is not consulted", f"consulted: {_list(seen.consulted)}")
    if wanted.handoff is not None and wanted.handoff not in seen.handoffs:
        yield Unmet(f"a handoff to {wanted.handoff}", f"handed over to {_list(seen.handoffs)}")
    if wanted.no_handoff and seen.handoffs:
        yield Unmet("no handoff", f"handed over to {_list(seen.handoffs)}")
    if wanted.returned and not seen.returns:
        yield Unmet("the specialist returns", "no handoff ended")
    if wanted.answered_by is not None:
        last = seen.said[-1].agent_id if seen.said else None
        if last != wanted.answered_by:
            yield Unmet(f"{wanted.answered_by} answers", f"{last or 'nobody'} did")


def _words(wanted: Expectation, seen: Observation) -> Iterator[Unmet]:
    said = _plain(seen.text)
    for words in wanted.says:
        if _plain(words) not in said:
            yield Unmet(f"agents say {words!r}", f"they said {seen.text!r}" if seen.text else "they said nothing")
    for words in wanted.says_not:
        if _plain(words) in said:
            yield Unmet(f"agents do not say {words!r}", f"they said {seen.text!r}")
    if wanted.matches is not None and not re.search(wanted.matches, seen.text):
        yield Unmet(f"what agents say matches {wanted.matches!r}", f"they said {seen.text!r}")
    if wanted.result is not None and not holds(seen.result, wanted.result):
        happened = (
            "no structured answer was given to the user" if seen.result is None else f"it is {_json(seen.result)}"
        )
        yield Unmet(f"the result holds {_json(wanted.result)}", happened)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _list_calls(calls: tuple[Called, ...]) -> str:
    return "; ".join(map(str, calls)) or "no tool was called"


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"
