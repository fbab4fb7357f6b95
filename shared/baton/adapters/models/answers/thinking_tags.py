"""Separate a model's thinking from its answer, by marks such as ``<think>``, which may be split across chunks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from baton.adapters.models.answers.harmony import TOKENS, Harmony, Passage
from baton.adapters.models.answers.quoted_text import MAX_MARKS, Beginnings, is_quoted, stands_apart

SURE_TAGS: Mapping[str, str] = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<seed:think>": "</seed:think>",
    "[think]": "[/think]",  # Magistral
    "\u25c1think\u25b7": "\u25c1/think\u25b7",  # Kimi
    "<|channel>thought": "<channel|>",  # Gemma
    "<unused94>thought": "<unused95>",  # MedGemma
    "<longcat_think>": "</longcat_think>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|start_thinking|>": "<|end_thinking|>",  # Command
}
"""Tags of thinking, in lower case, that never mean anything else in an answer.

A closing tag counts alone, because a model's template may put the opening tag into the prompt.
"""
TAGS: Mapping[str, str] = {
    **SURE_TAGS,
    **{f"<{name}>": f"</{name}>" for name in ("thought", "thoughts", "reasoning", "reflection", "scratchpad")},
    **{f"<{name}>": f"</{name}>" for name in ("analysis", "antthinking", "inner_monologue", "inner_thoughts")},
}
"""The tags that begin and end the thinking of models whose server does not parse it, in lower case."""
WORDS: Mapping[str, str] = {
    "analysis": "assistantfinal",  # gpt-oss without its special tokens
    "here is my thought process:": "here is my response:",  # Granite
    "here's my thought process:": "here's my response:",
}
"""Words that begin and end thinking at the start of an answer. Without the end, the beginning is the answer's text."""
ANSWERS: Mapping[str, str] = {
    **{f"<{name}>": f"</{name}>" for name in ("answer", "response", "output")},
    "<|begin_of_solution|>": "<|end_of_solution|>",
    "<|start_response|>": "<|end_response|>",
}
"""Tags around the answer that follows thinking, which some models write."""
MAX_BLANKS = 1_000
"""The maximum number of blanks that are held back, at the start and after a tag, until the next words arrive."""
_CLOSINGS = tuple(SURE_TAGS.values())
_MARKS = (*TAGS, *TOKENS, *_CLOSINGS, *ANSWERS.values())
_MARK = re.compile("|".join(map(re.escape, sorted(_MARKS, key=len, reverse=True))), re.IGNORECASE)
_FIRST = re.compile(r"[<\[\u25c1]")
"""The first characters of all marks."""
_BEGINNINGS = Beginnings(*_MARKS)
_CLOSING_BEGINNINGS: Mapping[str, Beginnings] = {
    close: Beginnings(close) for close in (*TAGS.values(), *WORDS.values())
}
_BLANK_LINE = re.compile(r"[ \t]*\n")
_SENTENCE_ENDS = (".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f")


@dataclass(frozen=True, slots=True)
class SeparatedText:
    """A piece of a model's output, separated into the answer's text and its thinking."""

    text: str = ""
    thinking: str = ""
    takes_back: bool = False
    """Whether all text that was returned so far was thinking, which only a later mark has shown."""


class ThinkingTags:
    """A filter that separates the thinking of one answer from its text.

    A template may put the opening tag into the prompt, so a closing tag alone ends thinking too. With ``thinks_first``
    the text is held back until a closing tag. Marks that the answer only mentions, in code, in quotation marks or
    between its words, stay in the text. A thought after words of the answer counts only if it is closed.
    """

    def __init__(self, *, thinks_first: bool = False) -> None:
        self._held = ""
        """Text that may be the beginning of a mark."""
        self._undecided = ""
        """The tag at the start of the held text, if its meaning depends on the next words."""
        self._open = ""
        self._close = ""
        """The marks around the current thought; empty outside of thoughts."""
        self._unsure: list[str] | None = None
        """The current thought, if it counts only once it is closed."""
        self._answer_close = ""
        """The tag that ends the answer, if one has begun it."""
        self._harmony: Harmony | None = None
        self._is_before_harmony = False
        """Whether there are words before the first message with a head. The head decides whether they are thinking."""
        self._waits_for_close = thinks_first
        self._waiting: list[str] = []
        """Text that is held back until a closing tag."""
        self._said: list[str] = []
        """The answer's text that was returned so far."""
        self._has_said_words = False
        """Whether the text so far has words. Searching it again for each piece would take quadratic time."""
        self._has_thought = False
        self._marks = 0
        self._answer: list[str] = []
        self._thinking: list[str] = []
        self._takes_back = False
        self.closed_unopened = False
        """Whether a closing tag without an opening one has ended thinking."""

    def take(self, text: str) -> SeparatedText:
        """Add ``text``. Return the text that is now certain to be answer or thinking. The rest is held back."""
        if self._is_plain and not self._held and _FIRST.search(text) is None:
            self._said.append(text)
            return SeparatedText(text)
        if text.isspace() and self._hold_blanks(text):
            return SeparatedText()
        self._held += text
        while self._held and self._read_to_mark():
            pass
        return self._take_separated()

    def end(self) -> SeparatedText:
        """Return the text that is still held back. Call this at the end of the answer."""
        held, self._held = self._held, ""
        waiting, self._waiting = self._waiting, []
        unsure, self._unsure = self._unsure, None
        if self._harmony is not None:
            self._answer += waiting
            self._add_passages(self._harmony.end())
        elif unsure is not None and (self._open.lower() in WORDS or not self._has_thought):
            self._answer += [*waiting, self._open, *unsure, held]
        elif self._close:
            self._answer += waiting
            self._thinking += [*(unsure or ()), held]
        else:
            is_end = bool(self._answer_close) and held.strip().lower() == self._answer_close
            rest = "".join([*waiting, "" if is_end else held])
            self._answer.append(rest if rest.strip() or self._said else "")
        return self._take_separated()

    @property
    def _is_plain(self) -> bool:
        """Whether the text is within the answer's words, where only a mark changes anything."""
        return self._has_said_words and not (self._close or self._waits_for_close) and self._harmony is None

    def _hold_blanks(self, blanks: str) -> bool:
        """Hold ``blanks`` that follow an undecided tag and decide nothing. Drop them after about ``MAX_BLANKS``.

        Return False for other blanks, which the caller reads.
        """
        if not self._undecided or ("\n" in blanks and self._undecided.lower() not in ANSWERS.values()):
            return False
        if len(self._held) < len(self._undecided) + MAX_BLANKS:
            self._held += blanks
        return True

    def _take_separated(self) -> SeparatedText:
        """Return and forget the text that was separated since the last call."""
        text, thinking, takes_back = "".join(self._answer), "".join(self._thinking), self._takes_back
        self._answer, self._thinking, self._takes_back = [], [], False
        if text:
            self._said.append(text)
        return SeparatedText(text, thinking, takes_back)

    def _read_to_mark(self) -> bool:
        """Read the held text up to its next mark. Return False if more text is needed."""
        if self._harmony is not None:
            held, self._held = self._held, ""
            self._add_passages(self._harmony.take(held))
            return False
        if self._close:
            return self._read_thought()
        if not self._has_said_words and not self._read_beginning():
            return False
        if self._close:
            return True
        reads_marks = self._marks < MAX_MARKS
        mark = _MARK.search(self._held) if reads_marks else None
        if mark is None:
            self._say(len(self._held) - (_BEGINNINGS.measure_at_end(self._held) if reads_marks else 0))
            return False
        return self._read_mark(mark.start(), mark[0])

    def _read_thought(self) -> bool:
        """Read the held text up to the mark that ends the thought. Return False if more text is needed."""
        thought = self._thinking if self._unsure is None else self._unsure
        match = re.search(re.escape(self._close), self._held, re.IGNORECASE)
        if match is None:
            end = len(self._held) - _CLOSING_BEGINNINGS[self._close].measure_at_end(self._held)
            thought.append(self._held[:end])
            self._held = self._held[end:]
            return False
        thought.append(self._held[: match.start()])
        self._held = self._held[match.end() :]
        self._thinking += self._unsure or ()
        self._close, self._unsure, self._has_thought = "", None, True
        return True

    def _read_beginning(self) -> bool:
        """Read blanks and a first mark of a thought or of the answer. Return False if more text is needed."""
        stripped = self._held.lstrip()
        if len(self._held) - len(stripped) > MAX_BLANKS:  # each piece of the answer searches all held text
            self._say(len(self._held) - len(stripped))
        if self._has_thought:
            self._held = stripped  # the blank lines between thinking and answer belong to neither
        lowered = stripped.lower()
        beginnings = WORDS if not self._has_thought else {} if self._answer_close else ANSWERS
        opening = next((beginning for beginning in beginnings if lowered.startswith(beginning)), "")
        after = stripped[len(opening) :]
        if opening in ANSWERS:
            self._answer_close, self._held = ANSWERS[opening], after
            return self._read_beginning()
        if opening:
            if after and (opening != "analysis" or after[0].isupper()):
                self._open, self._close, self._unsure, self._held = stripped[: len(opening)], WORDS[opening], [], after
            return bool(after)
        may_go_on = any(mark.startswith(lowered) and mark != lowered for mark in (*_MARKS, *beginnings))
        return bool(stripped) and not may_go_on

    def _read_mark(self, position: int, mark: str) -> bool:
        """Take a mark at ``position`` of the held text. Return False if more text is needed."""
        before, tag = "".join([*self._said, *self._answer, *self._waiting, self._held[:position]]), mark.lower()
        after, self._undecided = self._held[position + len(mark) :], ""
        if tag in ANSWERS.values():
            is_at_end = tag == self._answer_close and not after.strip()
            return self._hold_mark(position, mark) if is_at_end else self._say_mark(position, mark)
        if is_quoted(before):
            return self._say_mark(position, mark)
        if tag in _CLOSINGS:
            ends = self._ends_thinking(before, after)
            if ends is None:
                return self._hold_mark(position, mark)
            if not ends:
                return self._say_mark(position, mark)
            self._marks += 1
            self._take_back(position)
            self._held = self._held[len(mark) :]
            return True
        if before.strip() and not (stands_apart(before) and (tag in SURE_TAGS or tag in TOKENS)):
            return self._say_mark(position, mark)
        self._marks += 1
        self._open_thought(position, mark)
        return True

    def _say_mark(self, position: int, mark: str) -> bool:
        """Take the held text up to the end of a mark as the answer's. Return True, because the rest can be read."""
        self._marks += 1
        self._say(position + len(mark))
        return True

    def _hold_mark(self, position: int, mark: str) -> bool:
        """Take the text before a mark as the answer's, and hold the mark. Return False, because more text is needed."""
        self._say(position)
        self._undecided = mark
        return False

    def _open_thought(self, position: int, mark: str) -> None:
        if self._has_said_words or self._held[:position].strip():
            self._say(position)
            self._held = self._held[len(mark) :]
            self._unsure = []
        else:
            self._held = self._held[position + len(mark) :]
            self._waits_for_close, self._waiting = False, []
        if mark.lower() not in TOKENS:
            self._open, self._close = mark, TAGS[mark.lower()]
            return
        self._harmony, self._is_before_harmony, self._unsure = Harmony(), self._has_said_words, None
        self._held = mark + self._held

    def _ends_thinking(self, before: str, after: str) -> bool | None:
        """Return whether a closing tag without an opening one ends thinking; None if the next text decides."""
        lowered = before.lower()
        if self.closed_unopened or any(tag in lowered for tag in TAGS):
            return False
        if self._waits_for_close or not before.strip() or stands_apart(before):
            return True
        if before.rstrip().endswith(_SENTENCE_ENDS) or _BLANK_LINE.match(after):
            return True
        return False if after.strip() else None

    def _take_back(self, position: int) -> None:
        """Take all text so far, and the held text up to ``position``, as thinking."""
        self._takes_back |= bool(self._said)  # clients have seen it
        self._thinking += [*self._answer, *self._waiting, self._held[:position]]
        self._held = self._held[position:]
        self._said, self._waiting, self._answer, self._has_said_words = [], [], [], False
        self._waits_for_close, self._has_thought, self.closed_unopened = False, True, True

    def _say(self, length: int) -> None:
        """Take the beginning of the held text as the answer's."""
        text, self._held = self._held[:length], self._held[length:]
        (self._waiting if self._waits_for_close else self._answer).append(text)
        self._has_said_words = self._has_said_words or bool(text.strip())

    def _add_passages(self, passages: Sequence[Passage]) -> None:
        """Add the passages of messages. Words before the first head are thinking if this head begins the answer."""
        channel = self._harmony.first_channel if self._harmony is not None else None
        if channel is not None and self._is_before_harmony:
            self._is_before_harmony = False
            if channel == "final":
                self._take_back(0)
            else:
                self._answer += self._waiting
                self._waiting, self._waits_for_close = [], False
        for text, is_thinking in passages:
            (self._thinking if is_thinking else self._answer).append(text)
