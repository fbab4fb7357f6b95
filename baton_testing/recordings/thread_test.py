"""Make a test from a stored conversation: its steps, stubs of its tools, and the answers of its models."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from baton.adapters.agents.agent_files import AgentFiles
from baton.agents.tools.schedule_tools import SCHEDULE_TOOLS
from baton.domain.agents.tool import McpServer
from baton.domain.runs.interrupt import is_client_call
from baton.domain.runs.tool_call import (
    ADVANCE,
    ASK,
    BUILTIN_TOOLS,
    END,
    RETURN,
    SILENT,
    TRANSFER,
    CallEnd,
    make_tool_name,
)
from baton.domain.schedules.run_source import CauseKind
from baton.domain.times import is_time_zone
from baton_testing.recordings.stored_causes import find_cause, list_unmade, make_event_step
from baton_testing.recordings.stored_decisions import find_decisions, find_waiting_message
from baton_testing.recordings.stored_desks import StoredDesks, find_sentence, is_by_person
from baton_testing.recordings.stored_thread import Json, StoredThread, read_text

MODELS_TOOLS = (ADVANCE, END, RETURN, SILENT)
"""Baton's own tools whose calls are in the records, but not in the messages."""
LONG_PAUSE = timedelta(minutes=5)
"""The shortest pause of the user that becomes a step of the test."""


@dataclass(frozen=True, slots=True)
class ThreadTest:
    """A conversation as a test. ``content`` has the fields of ``ConversationFile``."""

    stored: StoredThread
    agents: AgentFiles

    def make_content(self, *, with_answers: bool) -> Json:
        """Return the file's content, with the models' answers in its steps or without."""
        test: Json = {"name": f"Thread {self.stored.id}", "agent": self._find_main()}
        test["steps"] = list(self._make_steps(with_answers=with_answers))
        content: Json = {} if with_answers else {"model": "recorded"}
        begins_at = _read_time(self.stored.messages[0]) if self.stored.messages else None
        content |= {"begins_at": begins_at.isoformat()} if begins_at is not None else {}
        zone = next(filter(None, (message["metadata"].get("timeZone") for message in self.stored.messages)), None)
        is_named = zone is not None and is_time_zone(zone)
        where = {"time_zone": zone} if is_named else {}
        content |= {
            "user": {"id": "ada", "tenant": self.stored.tenant_id, "permissions": self._list_permissions(), **where}
        }
        stubs = self._make_stubs()
        return content | ({"tools": stubs} if stubs else {}) | {"conversations": [test]}

    def _list_permissions(self) -> list[str]:
        """Return the permissions that the agents, their tools and their handoffs require."""
        agents = self.agents.all()
        parts = (part for agent in agents for part in (agent, *agent.tools, *agent.handoffs))
        return sorted({name for part in parts for name in part.required_permissions})

    def _find_main(self) -> str:
        agent_id = self.stored.thread.get("agentId")
        definition = self.agents.get(str(agent_id))
        return definition.id if definition is not None and definition.main else self.agents.get_default_main().id

    def _make_steps(self, *, with_answers: bool) -> Iterator[Json]:
        before: datetime | None = None
        begins_at, waited = _read_time(self.stored.messages[0]) if self.stored.messages else None, timedelta()
        desks = StoredDesks(self.agents)
        for run_id, messages in self._group_runs().items():
            first = messages[0]
            at = _read_time(first)
            cause = find_cause(messages)
            if cause is not None and cause["kind"] == CauseKind.TASK:
                continue
            acted = desks.find_action(messages) if first["role"] != "user" else None
            is_reminder = cause is not None and cause["kind"] == CauseKind.SCHEDULE
            is_due = is_reminder or acted == {}  # a reminder, or a return from a desk because of time
            pause = at - before if before is not None and at is not None else timedelta()
            if is_due and at is not None and begins_at is not None:
                # Include the short pauses, which are not steps of the test.
                pause = max(pause, at - begins_at - waited)
            wait: Json = {}
            if pause >= LONG_PAUSE or is_due:
                minutes = int(pause.total_seconds() // 60) + is_due
                waited += timedelta(minutes=minutes)
                wait = {"wait": f"{minutes} minutes"}
            before = _read_time(messages[-1]) or before
            was_at_desk = desks.is_at_desk
            desks.follow(messages)
            if wait and not is_reminder:
                yield wait
            if is_due and not is_reminder:
                continue
            action = {"say": read_text(first)} if first["role"] == "user" else acted
            if cause is not None:
                action = wait if is_reminder else make_event_step(first, cause)
            steps = [action] if action else self._make_decisions(messages)
            yield from steps[:-1]
            step: Json = steps[-1]
            if with_answers:
                step["answers"] = list(self._list_answers(run_id, messages))
            expected = list(self._list_expectations(run_id, messages))
            if was_at_desk and first["role"] == "user" and len(messages) == 1:
                expected.append({"delivered": True})
            yield step | ({"expect": expected} if expected else {})

    def _group_runs(self) -> dict[str, list[Json]]:
        runs: defaultdict[str, list[Json]] = defaultdict(list)
        for message in self.stored.messages:
            runs[str(message["metadata"]["runId"])].append(message)
        return dict(runs)

    def _make_decisions(self, messages: Sequence[Json]) -> list[Json]:
        """Return the decisions after which a run without a user's message continues, one for each tool."""
        decided = find_decisions(messages)
        if len({(decision.agrees, decision.comment) for decision in decided}) == 1:
            return [decided[0].make_step(about=True)]
        return [
            decision.make_step(about=decision.tool)
            for decision in {decision.tool: decision for decision in decided}.values()
        ] or [{"approve": True}]

    def list_left_out(self) -> list[str]:
        """Return a sentence for each part of the conversation that the test lacks."""
        parts = [
            f"The file {name} of {read_text(message)[:60]!r} may hold personal data: name another one in its `files`."
            for message in self.stored.messages
            for name in _list_files(message)
        ]
        runs = list(self._group_runs().values())
        causes = [cause for messages in runs if (cause := find_cause(messages)) is not None]
        parts += list_unmade(causes, [call["toolName"] for call in self.stored.tool_calls])
        for messages in runs:
            if messages[0]["role"] != "tool":
                continue
            decided = find_decisions(messages)
            if any(is_client_call(decision.call_id) for decision in decided):
                parts.append("Results of the application's own tools cannot be given by a test.")
            if any(decision.is_late for decision in decided):
                parts.append("A call was not decided in time; the test declines it.")
            choices = {(decision.tool, decision.agrees) for decision in decided}
            if len(choices) > len({tool for tool, _ in choices}):
                parts.append("Calls of one tool were decided differently; the test decides all of them like the last.")
        return list(dict.fromkeys(parts))

    def _list_answers(self, run_id: str, messages: Sequence[Json]) -> Iterator[Json]:
        """Yield the answers of all models of a run. Those of each agent are in their order."""
        recorded = self.stored.contexts.get(run_id)
        yield from (
            self._from_context(recorded, run_id, messages) if recorded is not None else self._from_messages(messages)
        )
        for handoff in self._find_handoffs(messages):
            yield {"task": "handoff_summary", "say": handoff["contextSummary"] or "-"}

    def _from_context(self, recorded: Json, run_id: str, messages: Sequence[Json]) -> Iterator[Json]:
        """Yield the answers in the inspector's record. Each answer is in the prompt of the agent's next call."""
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
                yield _make_answer(call["agentId"], read_text(following), following.get("toolCalls") or ())
            else:
                yield self._find_last_answer(call, run_id, messages)

    def _find_last_answer(self, call: Json, run_id: str, messages: Sequence[Json]) -> Json:
        """Return the last answer of an agent's model in a run. ``call`` is the agent's last call in the record."""
        if call["taskId"] is not None:
            task = next((task for task in self.stored.tasks if task["taskId"] == call["taskId"]), None)
            return _make_answer(call["agentId"], str((task or {}).get("result") or "-"), ())
        waiting = find_waiting_message(messages)
        if waiting is not None and waiting["metadata"]["agentId"] == call["agentId"]:
            return _make_answer(call["agentId"], read_text(waiting), waiting["toolCalls"])
        answers = [
            message for message in self._find_spoken(messages) if message["metadata"]["agentId"] == call["agentId"]
        ]
        text = read_text(answers[-1]) if answers else ""
        calls = [_make_transfer_call(handoff) for handoff in self._find_transfers(messages, call["agentId"])[:1]]
        calls += [
            _to_call(own)
            for own in self._find_own_calls(run_id)
            if (own["toolName"], own["agentId"]) == (RETURN, call["agentId"]) and own["succeeded"]
        ]
        return _make_answer(call["agentId"], text or ("" if calls else "-"), calls)

    def _from_messages(self, messages: Sequence[Json]) -> Iterator[Json]:
        """Yield the answers that are known without the inspector's record."""
        run_id = messages[0]["metadata"]["runId"]
        for handoff in self._find_transfers(messages):
            yield _make_answer(handoff["sourceAgentId"], "", [_make_transfer_call(handoff)])
        own = [
            (str(call["calledAt"]), _make_answer(call["agentId"], "", [_to_call(call)]))
            for call in self._find_own_calls(run_id)
        ]
        answers: list[tuple[str, Json]] = []
        for message in messages:
            if message["role"] == "assistant" and (message.get("toolCalls") or message in self._find_spoken(messages)):
                answer = _make_answer(
                    message["metadata"]["agentId"], read_text(message), message.get("toolCalls") or ()
                )
                answers.append((self._find_time(message), answer))
        for begins_at, answer in own:
            # An answer without calls is an agent's last one, so the text before a call belongs to the call.
            texts = [earlier for at, earlier in answers if at <= begins_at and earlier.get("agent") == answer["agent"]]
            if texts and "call" not in texts[-1]:
                texts[-1]["call"] = answer["call"]
            else:
                answers.append((begins_at, answer))
            answers.sort(key=itemgetter(0))
        yield from (answer for _, answer in answers)
        for task in self.stored.tasks:
            if task["runId"] == run_id:
                for call in self.stored.tool_calls:
                    if call["taskId"] == task["taskId"] and call["agentId"] == task["agentId"]:
                        yield {"agent": task["agentId"], "call": {call["toolName"]: _read_arguments(call["input"])}}
                yield _make_answer(task["agentId"], str(task.get("result") or "-"), ())

    def _find_time(self, message: Json) -> str:
        """Return the time of an answer: that of its first call, or of the message if it has no calls."""
        ids = {call["id"] for call in message.get("toolCalls") or ()}
        times = [str(call["calledAt"]) for call in self.stored.tool_calls if call["id"] in ids]
        return min(times, default=str(message["metadata"].get("timestamp") or ""))

    def _find_spoken(self, messages: Sequence[Json]) -> list[Json]:
        """Return the messages with the agents' own words, without the sentences that Baton says for them."""
        return [
            message
            for message in messages
            if message["role"] == "assistant"
            and read_text(message)
            and not self._is_fixed(message)
            and not is_by_person(message)
        ]

    def _is_fixed(self, message: Json) -> bool:
        agent = self.agents.get(str(message["metadata"].get("agentId")))
        return agent is not None and find_sentence(message, self.agents) is not None

    def _list_expectations(self, run_id: str, messages: Sequence[Json]) -> Iterator[Json]:
        refused = self._find_refused()
        for call in self.stored.tool_calls:
            if call["runId"] == run_id and self._is_outside(call["toolName"]) and call["id"] not in refused:
                yield {"tool": call["toolName"], "arguments": _read_arguments(call["input"])}
        waiting = find_waiting_message(messages)
        for name in dict.fromkeys(
            tool_call["function"]["name"] for tool_call in (waiting or {}).get("toolCalls") or ()
        ):
            yield {"approval": name}
        consulted = list(dict.fromkeys(task["agentId"] for task in self.stored.tasks if task["runId"] == run_id))
        if consulted:
            yield {"consulted": consulted}
        for handoff in self._find_handoffs(messages):
            yield {"handoff": handoff["targetAgentId"]}
        if state := self._find_state(run_id):
            yield {"workflow": state}

    def _find_state(self, run_id: str) -> str | None:
        """Return the state of the workflow after a run; None if the state has not changed."""
        state: str | None = None
        for call in self.stored.tool_calls:
            if call["runId"] == run_id:
                if call["toolName"] == ADVANCE and call["succeeded"]:
                    state = str(_read_arguments(call["input"]).get("state"))
                state = call.get("refusedTo") or state
        return state.upper() if state is not None else None

    def _find_own_calls(self, run_id: str) -> list[Json]:
        """Return a run's calls of Baton's own tools that messages do not have."""
        return [call for call in self.stored.tool_calls if call["runId"] == run_id and call["toolName"] in MODELS_TOOLS]

    def _find_handoffs(self, messages: Sequence[Json]) -> list[Json]:
        """Return the handoffs that began between a run's first and last messages."""
        begin, end = _read_time(messages[0]), _read_time(messages[-1])
        if begin is None or end is None:
            return []
        return [
            handoff
            for handoff in self.stored.handoffs
            if handoff["outcome"] != "refused" and begin <= datetime.fromisoformat(handoff["startedAt"]) <= end
        ]

    def _find_transfers(self, messages: Sequence[Json], agent_id: str | None = None) -> list[Json]:
        """Return the handoffs of a run that models asked for; with ``agent_id``, only that agent's."""
        return [
            handoff
            for handoff in self._find_handoffs(messages)
            if not str(handoff["handoffReason"]).startswith("trigger") and agent_id in (None, handoff["sourceAgentId"])
        ]

    def _is_outside(self, name: str) -> bool:
        return name not in BUILTIN_TOOLS and not name.startswith((ASK, TRANSFER))

    def _make_stubs(self) -> Json:
        """Return stubs that give the stored answers of the tools."""
        stubs: Json = {}
        refused = self._find_refused()
        for call in self.stored.tool_calls:
            if call["id"] in refused:
                continue
            stub = self._make_stub(call["toolName"]) if self._is_outside(call["toolName"]) else None
            if stub is None:
                continue
            outcome = {"returns": call["output"]}
            if not call["succeeded"]:
                reason, state = call["errorMessage"] or "It failed.", call.get("refusedTo")
                outcome = {"refuses": reason, "state": state} if state else {"fails": reason}
            cases = stubs.setdefault(call["toolName"], stub)["cases"]
            case = {"when": _read_arguments(call["input"]), **outcome}
            if case not in cases:
                cases.append(case)
        return stubs

    def _find_refused(self) -> set[str]:
        """Return the ids of calls that were refused, and therefore not made."""
        return {
            str(message.get("toolCallId"))
            for message in self.stored.messages
            if message["role"] == "tool" and message["metadata"].get("outcome") == CallEnd.REFUSED
        }

    def _make_stub(self, name: str) -> Json | None:
        """Return a stub without cases; None for a tool that the present agents do not have."""
        tools = [tool for agent in self.agents.all() for tool in agent.tools]
        if any(tool.name == name for tool in tools if not isinstance(tool, McpServer)):
            return {"cases": []}
        if name in SCHEDULE_TOOLS:
            return None
        server = next((tool.name for tool in tools if isinstance(tool, McpServer)), None)
        # The records do not say which server has the tool.
        return {"server": server, "parameters": {"type": "object"}, "cases": []} if server is not None else None


def _to_call(call: Json) -> Json:
    """Return a recorded call in the form of an answer's calls."""
    return {"name": call["toolName"], "arguments": call["input"]}


def _make_transfer_call(handoff: Json) -> Json:
    arguments = {"reason": handoff["handoffReason"], "context_summary": handoff["contextSummary"]}
    return {"name": make_tool_name(TRANSFER, handoff["targetAgentId"]), "arguments": arguments}


def _make_answer(agent_id: str | None, text: str, calls: Sequence[Json]) -> Json:
    answer: Json = {"agent": agent_id} if agent_id else {}
    if text:
        answer["say"] = text
    if calls:
        answer["call"] = dict(map(_read_call, calls))
    return answer


def _read_call(call: Json) -> tuple[str, Json]:
    function = call.get("function", call)
    return function["name"], _read_arguments(function["arguments"])


def _read_arguments(value: Any) -> Json:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _list_files(message: Json) -> list[str]:
    content = message.get("content")
    parts = content if message["role"] == "user" and isinstance(content, list) else []
    return [
        str((part.get("metadata") or {}).get("name") or part.get("type")) for part in parts if part["type"] != "text"
    ]


def _read_time(message: Json) -> datetime | None:
    timestamp = message["metadata"].get("timestamp")
    return datetime.fromisoformat(timestamp) if timestamp else None
