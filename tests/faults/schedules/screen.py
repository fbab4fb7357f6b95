"""A client's screen: what the documented rules make of the frames a connection receives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

Said = tuple[str, str]
"""A message's id and text."""


@dataclass(frozen=True, slots=True)
class _Shown:
    seq: int
    id: str
    text: str


@dataclass
class Screen:
    """A client that drops back where a takeover says so, and takes nothing that it has or that is beyond a gap."""

    seen: int = 0
    _messages: list[_Shown] = field(default_factory=list)

    @property
    def messages(self) -> list[Said]:
        return [(message.id, message.text) for message in self._messages]

    def show(self, events: list[dict[str, Any]]) -> None:
        """Take the events in."""
        for event in events:
            if event["type"] == "MESSAGES_SNAPSHOT" and not event["metadata"].get("replayed"):
                raise AssertionError("a snapshot was sent although the log has everything")
            if event.get("metadata", {}).get("seq", 0) > self.seen:
                self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        metadata = event["metadata"]
        jumps_from = metadata.get("previousSeq")
        if metadata["seq"] != self.seen + 1 and (jumps_from is None or jumps_from > self.seen):
            return  # a gap: a client resumes now, this one in the end
        if jumps_from is not None:
            self._messages = [message for message in self._messages if message.seq <= jumps_from]
        self.seen = metadata["seq"]
        match event["type"]:
            case "RUN_STARTED":
                question = event["input"]["messages"][-1]
                self._messages.append(_Shown(self.seen, question["id"], question["content"]))
            case "TEXT_MESSAGE_START":
                self._messages.append(_Shown(self.seen, event["messageId"], ""))
            case "TEXT_MESSAGE_CONTENT":
                last = self._messages[-1]
                assert last.id == event["messageId"], "text of a message that is not open"
                self._messages[-1] = replace(last, text=last.text + event["delta"])
