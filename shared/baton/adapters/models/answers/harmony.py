"""The messages of gpt-oss in one text. Servers that do not parse its format (``harmony``) pass it on unchanged."""

from __future__ import annotations

import re

from baton.adapters.models.answers.quoted_text import Beginnings

NAMES = ("start", "channel", "message", "end", "return", "call", "constrain")
TOKENS = tuple(f"<|{name}|>" for name in NAMES)
CALL = "<|channel|>commentary to={name}<|message|>"
"""The form in which the head of a call stays in the text, for ``call_markup``."""
MAX_HEADER = 300
"""The maximum length of a message's head, in characters. Longer text belongs to the message."""
_TOKEN = re.compile(r"<\|(" + "|".join(NAMES) + r")\|>")
_BEGINNINGS = Beginnings(*TOKENS)
_RECIPIENT = re.compile(r"\bto=([\w.\-]+)")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
Passage = tuple[str, bool]
"""A piece of a message, and whether it is thinking."""
_TEXT, _THINKING, _CALL = "text", "thinking", "call"


class Harmony:
    """A reader of one answer's messages. Thoughts are in the channel ``analysis``, calls have a recipient."""

    def __init__(self) -> None:
        self._held = ""
        self._header: str | None = None
        """The head so far; None outside of heads."""
        self._kind = _TEXT
        self.first_channel: str | None = None
        """The channel of the first message that has a head."""

    def take(self, text: str) -> list[Passage]:
        """Add ``text``, and return the passages that are certain now."""
        text = self._held + text
        passages: list[Passage] = []
        start = 0
        for token in _TOKEN.finditer(text):
            passages += [*self._read_content(text[start : token.start()]), *self._read_token(token[1], token[0])]
            start = token.end()
        end = len(text) - _BEGINNINGS.measure_at_end(text[start:])
        self._held = text[end:]
        return [passage for passage in (*passages, *self._read_content(text[start:end])) if passage[0]]

    def end(self) -> list[Passage]:
        """Return the rest at the end of the answer. A head without its message is dropped."""
        held, self._held = self._held, ""
        return [passage for passage in self._read_content(held) if passage[0]]

    def _read_content(self, text: str) -> list[Passage]:
        """Return text of the current message. Within a head, add to the head, which is text if it is too long."""
        if self._header is None:
            return [(text, self._kind is _THINKING)]
        self._header += text
        if len(self._header) <= MAX_HEADER:
            return []
        text, self._header, self._kind = self._header, None, _TEXT
        return [(text, False)]

    def _read_token(self, name: str, token: str) -> list[Passage]:
        """Take a special token, which begins, continues or ends a head or a message."""
        if name in ("start", "channel", "constrain"):
            if name == "constrain" and self._header is None:
                return [(token, self._kind is _THINKING)]
            self._header = (self._header or "")[-MAX_HEADER:] + token
        elif name == "message" and self._header is not None:
            return self._begin_message(self._header)
        elif name != "message":
            is_call, self._kind, self._header = self._kind is _CALL, _TEXT, None
            return [("<|call|>", False)] if is_call else []
        return []

    def _begin_message(self, header: str) -> list[Passage]:
        """Begin the message after a complete head. Return the mark of a call, or nothing for other messages."""
        channel, recipient = _CHANNEL.search(header), _RECIPIENT.search(header)
        name = channel[1] if channel is not None else "final"
        self.first_channel = self.first_channel or name
        self._header = None
        if recipient is not None and (name != "analysis" or recipient[1].startswith("functions.")):
            self._kind = _CALL
            return [(CALL.format(name=recipient[1]), False)]
        self._kind = _THINKING if name == "analysis" else _TEXT
        return []
