"""Make a test of a stored conversation: its steps, stubs of its tools, and the answers of its models."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from baton.adapters.agents.agent_files import AgentFiles
from baton.domain.agents.tool import McpServer
from baton.domain.runs.tool_call import ADVANCE, ASK, BUILTIN_TOOLS, TRANSFER, CallEnd, tool_name
from baton.domain.threads.interrupt import is_client_call
from baton.domain.times import is_time_zone
from baton_testing.recordings.stored_decisions import decisions, waiting_message
from baton_testing.recordings.stored_thread import Json, StoredThread

LONG_PAUSE = timedelta(minutes=5)
"""The shortest pause of the user that is part of the test."""


@dataclass(frozen=True, slots=True)
class ThreadTest:
    """A conversation as a test. ``content`` has the fields of ``ConversationFile``."""

    stored: StoredThread
    agents: AgentFiles

    def content(self, *, with_answers: bool) -> Json:
        """Return the file's content, with the models' answers in its steps or without."""
        permissions = sorted({name for agent in self.agents.all() for name in agent.required_permissions})
        test: Json = {"name": f"Thread {self.stored.id}", "agent": self._main()}
        test["steps"] = list(self._steps(with_answers=with_answers))
        content: Json = {} if with_answers else {"model": "recorded"}
        begins_at = _moment(self.stored.messages[0]) if self.stored.messages else None
        content |= {"begins_at": begins_at.isoformat()} if begins_at is not None else {}
        zone = next(filter(None, (message["metadata"].get("timeZone") for message in self.stored.messages)), None)
        is_named = zone is not None and is_time_zone(zone)
        where = {"time_zone": zone} if is_named else {}
        content |= {"user": {"id": "ada", "tenant": self.stored.tenant_id, "permissions": permissions, **where}}
        stubs = self._stubs()
        return content | ({"tools": stubs} if stubs else {}) | {"conversations": [test]}

    def _main(self) -> str:
        agent_id = self.stored.thread.get("agentId")
        definition = self.agents.get(str(agent_id))
        return definition.id if definition is not None and definition.main else self.agents.default_main().id

    def _steps(self, *, with_answers: bool) -> Iterator[Json]:
        before: datetime | None = None
        for run_id, messages in self._runs().items():
            first = messages[0]
            at = _moment(first)
            if before is not None and at is not None and at - before >= LONG_PAUSE:
                yield {"wait": f"{int((at - before).total_seconds() // 60)} minutes"}
            before = _moment(messages[-1]) or before
            steps = [{"say": _text(first)}] if first["role"] == "user" else self._decisions(messages)
            yield from steps[:-1]
            step: Json = steps[-1]
            if with_answers:
                step["answers"] = list(self._answers(run_id, messages))
            expected = list(self._list_expectations(run_id, messages))
            yield step | ({"expect": expected} if expected else {})

    def _runs(self) -> dict[str, list[Json]]:
        runs: defaultdict[str, list[Json]] = defaultdict(list)
        for message in self.stored.messages:
            runs[str(message["metadata"]["runId"])].append(message)
        return dict(runs)

    def _decisions(self, messages: Sequence[Json]) -> list[Json]:
        """Return the decisions after which a run without a user's message continues, one for each tool."""
        decided = decisions(messages)
        if len({(decision.agrees, decision.comment) for decision in decided}) == 1:
            return [decided[0].step(about=True)]
        return [
            decision.step(about=decision.tool)
            for decision in {decision.tool: decision for decision in decided}.values()
        ] or [{"approve": True}]

    def left_out(self) -> list[str]:
        """Return what the test lacks, a sentence each."""
        parts = [
            f"The file {name} of {_text(message)[:60]!r} may hold personal data: name another one in its `files`."
            for message in self.stored.messages
            for name in _files(message)
        ]
        for messages in self._runs().values():
            if messages[0]["role"] != "tool":
                continue
            decided = decisions(messages)
            if any(is_client_call(decision.call_id) for decision in decided):
                parts.append("Results of the application's own tools cannot be given by a test.")
            if any(decision.is_late for decision in decided):
                parts.append("A call was not decided in time; the test declines it.")
            choices = {(decision.tool, decision.agrees) for decision in decided}
            if len(choices) > len({tool for tool, _ in choices}):
                parts.append("Calls of one tool were decided differently; the test decides all of them like the last.")
        return list(dict.fromkeys(parts))

    def _answers(self, run_id: str, messages: Sequence[Json]) -> Iterator[Json]:
        """Yield the answers of all models of a run, of each agent in its order."""
        recorded = self.stored.contexts.get(run_id)
        yield from self._from_context(recorded, messages) if recorded is not None else self._from_messages(messages)
        for handoff in self._find_handoffs(messages):
            yield {"task": "handoff_summary", "say": handoff["contextSummary"] or "-"}

    def _from_context(self, recorded: Json, messages: Sequence[Json]) -> Iterator[Json]:
        """Yield the answers of the inspector's record: each is in the prompt of the call that came after it."""
        calls = recorded["calls"]
        for index, call in enumerate(calls):
            size = len(call["messages"])
            following = next(
                (
                    later["messages"][size]
                    for later in calls[index + 1 :]
                    if (later["agentId"], later["taskId"]) == (call["agentId"], call["taskId"])
                    and later["messages"][:size] == call["messages"]
                    and len(later["messages"]) > size
                    and later["messages"][size]["role"] == "assistant"
                ),
                None,
            )
            if following is not None:
                yield _answer(call["agentId"], _text(following), following.get("toolCalls") or ())
            else:
                yield self._last_answer(call, messages)

    def _last_answer(self, call: Json, messages: Sequence[Json]) -> Json:
        """Return the answer after which an agent's model was not called again in a run."""
        if call["taskId"] is not None:
            task = next((task for task in self.stored.tasks if task["taskId"] == call["taskId"]), None)
            return _answer(call["agentId"], str((task or {}).get("result") or "-"), ())
        waiting = waiting_message(messages)
        if waiting is not None and waiting["metadata"]["agentId"] == call["agentId"]:
            return _answer(call["agentId"], _text(waiting), waiting["toolCalls"])
        answers = [
            message for message in self._find_spoken(messages) if message["metadata"]["agentId"] == call["agentId"]
        ]
        return _answer(call["agentId"], _text(answers[-1]) if answers else "-", ())

    def _from_messages(self, messages: Sequence[Json]) -> Iterator[Json]:
        """Yield the answers that can be seen without the inspector, without calls of Baton's own tools."""
        run_id = messages[0]["metadata"]["runId"]
        for handoff in self._find_handoffs(messages):
            if not str(handoff["handoffReason"]).startswith("trigger"):
                arguments = {"reason": handoff["handoffReason"], "context_summary": handoff["contextSummary"]}
                transfer = tool_name(TRANSFER, handoff["targetAgentId"])
                yield {"agent": handoff["sourceAgentId"], "call": {transfer: arguments}}
        for message in messages:
            if message["role"] == "assistant" and (message.get("toolCalls") or message in self._find_spoken(messages)):
                yield _answer(message["metadata"]["agentId"], _text(message), message.get("toolCalls") or ())
        for task in self.stored.tasks:
            if task["runId"] == run_id:
                for call in self.stored.tool_calls:
                    if call["taskId"] == task["taskId"] and call["agentId"] == task["agentId"]:
                        yield {"agent": task["agentId"], "call": {call["toolName"]: _arguments(call["input"])}}
                yield _answer(task["agentId"], str(task.get("result") or "-"), ())

    def _find_spoken(self, messages: Sequence[Json]) -> list[Json]:
        """Return the messages of agents, without the sentences that Baton says for them."""
        return [
            message
            for message in messages
            if message["role"] == "assistant" and _text(message) and not self._is_fixed(message)
        ]

    def _is_fixed(self, message: Json) -> bool:
        agent = self.agents.get(str(message["metadata"].get("agentId")))
        sentences = (
            text for agent in self.agents.all() for of_locale in agent.sentences.values() for text in of_locale.values()
        )
        return agent is not None and any(_fits(sentence, _text(message)) for sentence in sentences)

    def _list_expectations(self, run_id: str, messages: Sequence[Json]) -> Iterator[Json]:
        for call in self.stored.tool_calls:
            if call["runId"] == run_id and self._is_outside(call["toolName"]) and call["id"] not in self._refused():
                yield {"tool": call["toolName"], "arguments": _arguments(call["input"])}
        waiting = waiting_message(messages)
        for name in dict.fromkeys(
            tool_call["function"]["name"] for tool_call in (waiting or {}).get("toolCalls") or ()
        ):
            yield {"approval": name}
        consulted = list(dict.fromkeys(task["agentId"] for task in self.stored.tasks if task["runId"] == run_id))
        if consulted:
            yield {"consulted": consulted}
        for handoff in self._find_handoffs(messages):
            yield {"handoff": handoff["targetAgentId"]}
        moves = [answer.get("call", {}).get(ADVANCE) for answer in self._answers(run_id, messages)]
        for state in dict.fromkeys(move["state"] for move in moves if move and move.get("state")):
            yield {"workflow": state}

    def _find_handoffs(self, messages: Sequence[Json]) -> list[Json]:
        """Return the handoffs that began between a run's first message and its last."""
        begin, end = _moment(messages[0]), _moment(messages[-1])
        if begin is None or end is None:
            return []
        return [
            handoff
            for handoff in self.stored.handoffs
            if handoff["outcome"] != "refused" and begin <= datetime.fromisoformat(handoff["startedAt"]) <= end
        ]

    def _is_outside(self, name: str) -> bool:
        return name not in BUILTIN_TOOLS and not name.startswith((ASK, TRANSFER))

    def _stubs(self) -> Json:
        """Return stubs that answer as the tools did then."""
        stubs: Json = {}
        refused = self._refused()
        for call in self.stored.tool_calls:
            if call["id"] in refused:
                continue
            stub = self._new_stub(call["toolName"]) if self._is_outside(call["toolName"]) else None
            if stub is None:
                continue
            outcome = {"returns": call["output"]}
            if not call["succeeded"]:
                outcome = {"fails": call["errorMessage"] or "It failed."}
            cases = stubs.setdefault(call["toolName"], stub)["cases"]
            case = {"when": _arguments(call["input"]), **outcome}
            if case not in cases:
                cases.append(case)
        return stubs

    def _refused(self) -> set[str]:
        """Return the ids of calls that were never made."""
        return {
            str(message.get("toolCallId"))
            for message in self.stored.messages
            if message["role"] == "tool" and message["metadata"].get("outcome") == CallEnd.REFUSED
        }

    def _new_stub(self, name: str) -> Json | None:
        """Return a stub without cases; None for a tool that today's agents do not have."""
        tools = [tool for agent in self.agents.all() for tool in agent.tools]
        if any(tool.name == name for tool in tools if not isinstance(tool, McpServer)):
            return {"cases": []}
        server = next((tool.name for tool in tools if isinstance(tool, McpServer)), None)
        # Which of several servers has the tool is not on record.
        return {"server": server, "parameters": {"type": "object"}, "cases": []} if server is not None else None


def _answer(agent_id: str | None, text: str, calls: Sequence[Json]) -> Json:
    answer: Json = {"agent": agent_id} if agent_id else {}
    if text:
        answer["say"] = text
    if calls:
        answer["call"] = dict(map(_call, calls))
    return answer


def _call(call: Json) -> tuple[str, Json]:
    function = call.get("function", call)
    return function["name"], _arguments(function["arguments"])


def _arguments(value: Any) -> Json:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _files(message: Json) -> list[str]:
    content = message.get("content")
    parts = content if message["role"] == "user" and isinstance(content, list) else []
    return [
        str((part.get("metadata") or {}).get("name") or part.get("type")) for part in parts if part["type"] != "text"
    ]


def _text(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


def _moment(message: Json) -> datetime | None:
    timestamp = message["metadata"].get("timestamp")
    return datetime.fromisoformat(timestamp) if timestamp else None


def _fits(sentence: str, text: str) -> bool:
    """Return whether a text is the sentence, with anything in its placeholders."""
    pattern = ".+".join(re.escape(part.strip()) for part in re.split(r"\{\w+\}", sentence))
    return re.fullmatch(pattern, text.strip(), re.DOTALL) is not None
