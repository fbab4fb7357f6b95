"""Separate thinking between tags such as ``<think>`` from the answer, also where a tag is split across chunks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

TAGS: Mapping[str, str] = MappingProxyType(
    {
        "<think>": "</think>",
        "<thinking>": "</thinking>",
        "<thought>": "</thought>",
        "<seed:think>": "</seed:think>",
        "[THINK]": "[/THINK]",  # Magistral
        "\u25c1think\u25b7": "\u25c1/think\u25b7",  # Kimi
        "<|channel|>analysis<|message|>": "<|channel|>final<|message|>",  # gpt-oss
        "<|channel>thought": "<channel|>",  # Gemma
    }
)
"""The tags that begin and end the thinking of models whose server does not parse it."""
TAG = "think"
"""The name of the tag that most models use."""
ALONE = ("</think>", "</seed:think>", "[/THINK]", "\u25c1/think\u25b7")
"""Opening tags that may be missing, because the model's template puts them into the prompt."""
MAX_QUOTED = 50
"""Tags that an answer may quote. After them none is looked for, as each costs a look at all text before it."""


@dataclass(frozen=True, slots=True)
class Separated:
    """A piece of a model's text, separated."""

    text: str = ""
    thinking: str = ""
    takes_back: bool = False
    """True if all text so far was thinking, since only a closing tag has shown that."""


class ThinkingTags:
    """A filter that separates the thinking of one answer from its text.

    Thinking begins with a tag before any word of the answer. A template may put that tag into the prompt, so a closing
    tag without it ends thinking too; if ``thinks_first``, the text is held back until then. Tags that the answer
    quotes, in code or between its words, stay.
    """

    def __init__(self, *, thinks_first: bool = False, tag: str | None = None) -> None:
        """``tag`` is the name of the only tag that counts; None for those of all models."""
        self._tags = {f"<{tag}>": f"</{tag}>"} if tag is not None else TAGS
        self._alone = tuple(self._tags.values()) if tag is not None else ALONE
        self._close = ""
        """The tag that ends the current thinking."""
        self._held = ""
        """Text that may be the beginning of a tag."""
        self._is_thinking = False
        self._waits_for_close = thinks_first
        self._waiting: list[str] = []
        self._said: list[str] = []
        self._has_said_words = False
        """True if any text said or held back is more than blank. To look at all of it for each piece would take the
        square of the answer's length."""
        self._has_thought = False
        self._quoted = 0
        self.closed_unopened = False
        """True if a closing tag without an opening one has ended thinking."""

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
            if not self._has_said_words:
                stripped = self._held.lstrip()
                opening = next((tag for tag in self._tags if stripped.startswith(tag)), None)
                if opening is not None:
                    self._is_thinking, self._has_thought, self._waits_for_close = True, True, False
                    self._close, self._held = self._tags[opening], stripped[len(opening) :]
                    continue
                if self._has_thought:
                    self._held = stripped  # the blank lines between thinking and answer belong to neither
                if not stripped or any(tag.startswith(stripped) for tag in self._tags):
                    break  # blank, or perhaps a tag: wait for more
            place, closing, is_known = self._closing_place(answer)
            if place is not None and is_known:
                said = "".join([*self._said, *answer, *self._waiting, self._held[:place]])
                thinking.append(said if not self._said else self._held[:place])
                takes_back = bool(self._said)
                self._said, self._waiting, answer, self._has_said_words = [], [], [], False
                self._held = self._held[place + len(closing) :]
                self._waits_for_close, self._has_thought, self.closed_unopened = False, True, True
                continue
            kept = len(self._held) - place if place is not None else self._beginning_of_tag()
            free = self._held[: len(self._held) - kept]
            self._held = self._held[len(self._held) - kept :]
            (self._waiting if self._waits_for_close else answer).append(free)
            self._has_said_words = self._has_said_words or bool(free.strip())
            break
        text = "".join(answer)
        if text:
            self._said.append(text)
        return Separated(text, "".join(thinking), takes_back)

    def end(self) -> Separated:
        """Return the rest of the text at the end of the answer."""
        held, self._held = self._held, ""
        if self._is_thinking:
            return Separated(thinking=held)
        left = "".join([*self._waiting, held])
        self._waiting = []
        return Separated(left if left.strip() or self._said else "")

    def _beginning_of_tag(self) -> int:
        """Return how many characters at the end of the held text may begin a tag that ends thinking."""
        return 0 if self._looks_no_more else max(_partial(self._held, tag) for tag in self._alone)

    @property
    def _looks_no_more(self) -> bool:
        return self.closed_unopened or self._quoted > MAX_QUOTED

    def _closing_place(self, answer: list[str]) -> tuple[int | None, str, bool]:
        """Return where a tag stands that may end thinking without a tag before it, the tag, and whether it does.

        A tag that the answer quotes has no place. What follows a tag decides: a blank line, or words of a sentence.
        """
        if self._looks_no_more:
            return None, "", False
        places = [(place, tag) for tag in self._alone if (place := self._held.find(tag)) >= 0]
        if not places:
            return None, "", False
        place, tag = min(places)
        before = "".join([*self._said, *self._waiting, *answer, self._held[:place]])
        if any(each in before for each in self._tags) or before.count("`") % 2:
            self._quoted += 1
            return None, tag, False
        after = self._held[place + len(tag) :]
        if before.endswith("\n") or re.match(r"[ \t]*\n", after):
            return place, tag, True
        if after.strip():
            self._quoted += 1
            return None, tag, False
        return place, tag, False


def _partial(text: str, tag: str) -> int:
    """Return how many characters at the end of ``text`` may be the beginning of ``tag``."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-length:]):
            return length
    return 0
