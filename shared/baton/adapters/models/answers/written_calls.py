"""Find tool calls in the text of an answer, and keep them out of it."""

from __future__ import annotations

import re
from typing import NamedTuple

from baton.adapters.models.answers.call_markup import BARE, OPENINGS, read_calls
from baton.adapters.models.answers.parts import make_call_id
from baton.adapters.models.answers.quoted_text import MAX_MARKS, Beginnings, is_quoted
from baton.adapters.models.tool_schemas import ModelTools
from baton.domain.runs.tool_call import ToolCall, as_object

MAX_UNNAMED = 2_000
"""The number of characters after a mark within which a call must name its tool. Otherwise the mark is text."""
MAX_LINE_ENDS = 100
"""The number of line ends that are held back because a call may follow. Each piece searches all held text."""
_OPENING = re.compile("|".join(map(re.escape, sorted(OPENINGS, key=len, reverse=True))), re.IGNORECASE)
_BEGINNINGS = Beginnings(*OPENINGS)
_FIRST = re.compile(r"[<\[\n]")
"""The first characters of all marks, and of the line of a call without one."""
_BARE = re.compile(r"^[ \t]*(?=[{\[f])", re.MULTILINE)
_BLANKS = re.compile(r"\s+")
MAX_BARE = 200
"""The number of characters of a line, with blanks, within which a call without a mark must be recognisable."""


class _CallStart(NamedTuple):
    """The place where a call may begin in the held text."""

    start: int
    length: int
    """The characters of the mark and of the line ends before it; of a call without a mark, only the line ends."""
    is_sure: bool
    """Whether the text so far shows that a call may begin here; False if more text is needed."""
    is_bare: bool = False
    """Whether the call has no mark."""


class WrittenCalls:
    """A filter that holds back text that may be a call of an offered tool, from its first mark on.

    The end of the answer decides whether it is a call. It is text if the answer only mentions the mark, if more text
    follows it, or if no such tool is offered.
    """

    def __init__(self, tools: ModelTools, *, reads_bare: bool) -> None:
        """With ``reads_bare``, calls without a mark are read too. An answer in JSON may look like such a call."""
        self._tools = tools
        self._reads_bare = reads_bare
        names = "|".join(re.escape(tool.name) for tool in tools.tools)
        self._name = re.compile(rf"(?<![\w-])(?:{names})(?![\w-])") if names else None
        self._held = ""
        self._open: _CallStart | None = None
        """The mark at the beginning of the held text."""
        self._call: list[str] | None = None
        """The text from a mark on, once it names a tool."""
        self._said: list[str] = []
        self._marks = 0
        """The number of marks that were taken as text."""

    @property
    def holds_call(self) -> bool:
        """Whether text that names a tool is held back."""
        return self._call is not None

    def take(self, text: str) -> str:
        """Add ``text``. Return the answer's text in it and in the text held back before."""
        if self._name is None or not text:
            return text
        if self._call is not None:
            self._call.append(text)
            return ""
        if not self._held and self._said and not self._said[-1].endswith("\n") and _FIRST.search(text) is None:
            self._said.append(text)
            return text
        self._held += text
        begin = len(self._said)
        while self._held and self._read_to_mark():
            pass
        return "".join(self._said[begin:])

    def end(self, *, cut: bool) -> tuple[str, list[ToolCall]]:
        """Return the held text that is no call, and the calls. If the answer was ``cut``, calls are dropped."""
        held = "".join(self._call) if self._call is not None else self._held
        is_bare = self._open is not None and self._open.is_bare
        calls = read_calls(held, self._tools, is_bare=is_bare) if self._call is not None else []
        self.forget()
        if not calls:
            return held, []
        if cut:
            return "", []
        inside = self._tools.name_inside
        return "", [ToolCall(make_call_id(), inside(name), as_object(arguments)) for name, arguments in calls]

    def forget(self) -> None:
        """Forget all text so far, because it is no part of the answer."""
        self._held, self._open, self._call, self._said = "", None, None, []

    def _read_to_mark(self) -> bool:
        """Read the held text up to its next mark. Return False if more text is needed."""
        if self._open is not None:
            return self._look_for_name(self._open)
        call_start = self._find_start() if self._marks < MAX_MARKS else None
        if call_start is None:
            self._pass_on(self._count_free() if self._marks < MAX_MARKS else len(self._held))
            return False
        before = self._held[: call_start.start]
        start = len(before.rstrip("\n"))
        call_start = call_start._replace(length=call_start.length + call_start.start - start)
        if not call_start.is_sure:
            self._pass_on(start)
            return False
        self._open = call_start
        is_spoken_of = is_quoted("".join(self._said) + before)
        self._pass_on(start)
        if is_spoken_of:
            self._take_mark_as_text(call_start)
        return True

    def _count_free(self) -> int:
        """Return how many characters of the held text are certain to be text. Line ends before a call are uncertain."""
        free = len(self._held) - _BEGINNINGS.measure_at_end(self._held)
        return max(len(self._held[:free].rstrip("\n")), free - MAX_LINE_ENDS)

    def _look_for_name(self, start: _CallStart) -> bool:
        """Take the held text as a call if it names a tool. If it is too long without a tool's name, its mark is text.

        Return whether to go on reading. This is False if the held text is a call or if more text is needed.
        """
        assert self._name is not None  # noqa: S101 - nothing is read without tools
        if self._name.search(self._held) is not None:
            self._call, self._held = [self._held], ""
            return False
        if len(self._held) < MAX_UNNAMED:
            return False
        self._take_mark_as_text(start)
        return True

    def _take_mark_as_text(self, start: _CallStart) -> None:
        """Take the mark at the beginning of the held text as the answer's text."""
        self._marks += 1
        self._open = None
        self._pass_on(max(1, start.length))

    def _find_start(self) -> _CallStart | None:
        """Return the first place in the held text where a call may begin; None if there is none."""
        match = _OPENING.search(self._held)
        starts = [_CallStart(match.start(), len(match[0]), is_sure=True)] if match is not None else []
        if self._reads_bare:
            for line in _BARE.finditer(self._held):
                if line.start() or not self._said or self._said[-1].endswith("\n"):
                    begins = self._begins_bare(self._held[line.end() : line.end() + MAX_BARE], line.start())
                    if begins is not False:
                        starts.append(_CallStart(line.start(), 0, is_sure=begins is True, is_bare=True))
                        break
        return min(starts, default=None)

    def _begins_bare(self, text: str, position: int) -> bool | None:
        """Return whether the line ``text`` begins a call without a mark; None if more of the line is needed."""
        line = _BLANKS.sub("", text)
        forms = ("functions.{}:", *(("[{}(",) if not self._said and not position else ()))
        names = [form.format(tool.name) for tool in self._tools.tools for form in forms]
        beginnings = [*((mark, line.lower()) for mark in BARE), *((name, line) for name in names)]
        if any(start.startswith(mark) for mark, start in beginnings):
            return True
        return None if any(mark.startswith(start) for mark, start in beginnings) else False

    def _pass_on(self, length: int) -> None:
        """Take the beginning of the held text as the answer's."""
        if length:
            self._said.append(self._held[:length])
            self._held = self._held[length:]
