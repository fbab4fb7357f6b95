"""Separate thinking between tags such as ``<think>`` from the answer, also where a tag is split across chunks."""

from __future__ import annotations

import re
from dataclasses import dataclass

TAG = "think"
"""The name of the tag that most models use."""


@dataclass(frozen=True, slots=True)
class Separated:
    """A piece of a model's text, separated."""

    text: str = ""
    thinking: str = ""
    takes_back: bool = False
    """Whether all text so far was thinking, since only a closing tag has shown that."""


class ThinkingTags:
    """Separates the text of one answer.

    Thinking begins with a tag before any word of the answer. A template may put that tag into the prompt, so a closing
    tag without it ends thinking too; if ``thinks_first``, the text is held back until then. Tags that the answer
    quotes, in code or between its words, stay.
    """

    def __init__(self, *, thinks_first: bool = False, tag: str = TAG) -> None:
        self._open, self._close = f"<{tag}>", f"</{tag}>"
        self._held = ""
        """Text that may be the beginning of a tag."""
        self._is_thinking = False
        self._waits_for_close = thinks_first
        self._waiting: list[str] = []
        self._said: list[str] = []
        self._has_thought = False
        self.closed_unopened = False
        """Whether a closing tag without an opening one has ended thinking."""

    def take(self, text: str) -> Separated:
        """Return what of ``text``, and of text held back before, is known to be the answer's or thinking."""
        self._held += text
        answer: list[str] = []
        thinking: list[str] = []
        takes_back = False
        while self._held:
            if self._is_thinking:
                before, tag, after = self._held.partition(self._close)
                if not tag:
                    kept = _partial(self._held, self._close)
                    thinking.append(self._held[: len(self._held) - kept])
                    self._held = self._held[len(self._held) - kept :]
                    break
                thinking.append(before)
                self._is_thinking, self._held = False, after
                continue
            if not self._has_words(answer):
                stripped = self._held.lstrip()
                if stripped.startswith(self._open):
                    self._is_thinking, self._has_thought, self._waits_for_close = True, True, False
                    self._held = stripped[len(self._open) :]
                    continue
                if self._has_thought:
                    self._held = stripped  # the blank lines between thinking and answer belong to neither
                if not stripped or (self._open.startswith(stripped) and len(stripped) < len(self._open)):
                    break  # blank, or perhaps a tag: wait for more
            place, is_known = self._closing_place(answer)
            if place is not None and is_known:
                said = "".join([*self._said, *answer, *self._waiting, self._held[:place]])
                thinking.append(said if not self._said else self._held[:place])
                takes_back = bool(self._said)
                self._said, self._waiting, answer = [], [], []
                self._held = self._held[place + len(self._close) :]
                self._waits_for_close, self._has_thought, self.closed_unopened = False, True, True
                continue
            kept = len(self._held) - place if place is not None else _partial(self._held, self._close)
            free = self._held[: len(self._held) - kept]
            self._held = self._held[len(self._held) - kept :]
            (self._waiting if self._waits_for_close else answer).append(free)
            break
        text = "".join(answer)
        if text:
            self._said.append(text)
        return Separated(text, "".join(thinking), takes_back)

    def end(self) -> Separated:
        """Return what is left at the end of the answer."""
        held, self._held = self._held, ""
        if self._is_thinking:
            return Separated(thinking=held)
        left = "".join([*self._waiting, held])
        self._waiting = []
        return Separated(left if left.strip() or self._said else "")

    def _has_words(self, answer: list[str]) -> bool:
        return any(each.strip() for each in (*self._said, *self._waiting, *answer))

    def _closing_place(self, answer: list[str]) -> tuple[int | None, bool]:
        """Return where a closing tag stands that may end thinking without a tag before it, and whether it does.

        A tag that the answer quotes has no place. What follows a tag decides: a blank line, or words of a sentence.
        """
        place = self._held.find(self._close)
        if place < 0 or self.closed_unopened:
            return None, False
        before = "".join([*self._said, *self._waiting, *answer, self._held[:place]])
        if self._open in before or before.count("```") % 2 or before.count("`") % 2:
            return None, False
        after = self._held[place + len(self._close) :]
        if before.endswith("\n") or re.match(r"[ \t]*\n", after):
            return place, True
        return (None, False) if after.strip() else (place, False)


def _partial(text: str, tag: str) -> int:
    """Return how many characters at the end of ``text`` may be the beginning of ``tag``."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-length:]):
            return length
    return 0
