"""People at desks in a stored conversation, as steps of a test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from baton.adapters.agents.agent_files import AgentFiles
from baton.domain.agents.sentences import SENTENCES
from baton.domain.text import PLACEHOLDER
from baton_testing.recordings.stored_thread import Json, read_text

ARRIVALS = ("desk_waiting", "desk_queued")
LATE_RETURNS = ("desk_nobody", "desk_silent", "desk_over")
"""Sentences of returns that happen because of time, and not by a person."""
UNNAMED = "Anna"
"""The name in the test of a person whom an agent's own sentence does not name."""


@dataclass
class StoredDesks:
    """The state of a conversation at desks, which ``follow`` updates run by run."""

    agents: AgentFiles
    person: str | None = None
    """The name of the person who has taken the conversation, or None."""
    is_at_desk: bool = False

    def find_action(self, messages: Sequence[Json]) -> Json | None:
        """Return the action with which a run without a message of the user began.

        None if it was a decision about calls. A return because of time is an empty step, since the wait before it
        causes the return.
        """
        author = next((message["metadata"]["author"] for message in messages if is_by_person(message)), None)
        if author is not None:
            says = "\n".join(read_text(message) for message in messages if is_by_person(message))
            return _make_person_step(str(author["name"]), says=says)
        sentences = self._list_sentences(messages)
        if not sentences or any(message["role"] == "tool" for message in messages):
            return None
        step: Json = {"exit": True}
        for name, values, agent_id in sentences:
            if name in ARRIVALS:
                step = _make_person_step(self.person, transfers=agent_id) if self.person else {"desk": agent_id}
            elif name == "desk_taken":
                step = _make_person_step(values.get("person", UNNAMED), takes=True)
            elif name == "desk_returned":
                step = _make_person_step(values.get("person", UNNAMED), returns=True)
            elif name in LATE_RETURNS:
                step = {}
        return step

    def follow(self, messages: Sequence[Json]) -> None:
        """Update the state after a run."""
        for name, values, _ in self._list_sentences(messages):
            if name == "desk_taken":
                self.person, self.is_at_desk = values.get("person", UNNAMED), True
            else:
                self.person, self.is_at_desk = None, name in ARRIVALS

    def _list_sentences(self, messages: Sequence[Json]) -> list[tuple[str, dict[str, str], str]]:
        """Return the fixed sentences among messages, in the form of ``find_sentence``."""
        return [sentence for message in messages if (sentence := find_sentence(message, self.agents)) is not None]


def find_sentence(message: Json, agents: AgentFiles) -> tuple[str, dict[str, str], str] | None:
    """Return the name of a fixed sentence, its values, and the agent that says it; None for another message.

    A sentence that consists of placeholders is not recognised, because any text could be that sentence.
    """
    if message["role"] != "assistant" or is_by_person(message):
        return None
    for name, sentence in _list_fixed_sentences(agents):
        parts = PLACEHOLDER.split(sentence.strip())
        texts, values = parts[::2], parts[1::2]
        if not "".join(texts).strip():
            continue
        match = re.fullmatch("(.+)".join(map(re.escape, texts)), read_text(message).strip(), re.DOTALL)
        if match is not None:
            return name, dict(zip(values, match.groups(), strict=True)), str(message["metadata"].get("agentId"))
    return None


def _list_fixed_sentences(agents: AgentFiles) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the sentences that Baton says for agents: the agents' own, then the defaults."""
    for agent in agents.all():
        for of_locale in agent.sentences.values():
            yield from of_locale.items()
    yield from SENTENCES.items()


def is_by_person(message: Json) -> bool:
    """Return whether a person wrote a message."""
    return (message["metadata"].get("author") or {}).get("kind") == "person"


def _make_person_step(name: str, **actions: object) -> Json:
    return {"person": {"id": name, "name": name, **actions}}
