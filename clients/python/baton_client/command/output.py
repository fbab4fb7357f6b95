"""Output of commands: tables and lines for people, JSON for programs, errors for both."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from baton_client.command.terminal_text import make_printable, one_line
from baton_client.command.word_wrap import WordWrap, fits_between_words

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

IDS = frozenset({"ID", "AGENT", "CONVERSATION", "USER"})
"""Columns of ids, which are not broken, so that they can be copied from any terminal."""
Column = tuple[str, Callable[[Mapping[str, Any]], object]]


def _make_console(*, to_stderr: bool) -> Callable[[], Console]:
    # Nothing that a server says is taken for markup, emoji codes or something to colour.
    return lambda: Console(stderr=to_stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a command: results on standard output, everything else on standard error."""

    is_json: bool = False
    console: Console = field(default_factory=_make_console(to_stderr=False))
    messages: Console = field(default_factory=_make_console(to_stderr=True))
    _wrap: WordWrap = field(default_factory=WordWrap)

    def print_json(self, value: Any) -> None:
        """Print one JSON value on one line, in ASCII, so that no character of it controls the terminal."""
        sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")
        sys.stdout.flush()

    def print_line(self, text: object, *, style: str = "") -> None:
        """Print a line of text, which others may have written."""
        _print(self.console, make_printable(text), style)

    def print_part(self, text: object, *, style: str = "") -> None:
        """Print text without ending the line; ``end_parts`` does that. A terminal shows a word once it is whole."""
        printable = make_printable(text)
        self._show_part(self._wrap.add(printable, self.console.width) if self.console.is_terminal else printable, style)

    def end_parts(self) -> None:
        """End the line that parts have begun."""
        self._show_part(f"{self._wrap.end(self.console.width)}\n", "")

    def _show_part(self, text: str, style: str) -> None:
        self.console.print(Text(text, style=style), end="")
        self.console.file.flush()

    def note(self, text: object, *, style: str = "") -> None:
        """Print a remark, which is not a result, to standard error on one line."""
        _print(self.messages, one_line(text), style)

    def print_error(self, text: object) -> None:
        """Print an error, on one line."""
        self.note(f"baton: {one_line(text)}", style="red")

    def print_rows(self, items: Sequence[Mapping[str, Any]], columns: Sequence[Column], *, empty: str) -> None:
        """Print a list: as ``{"items": [...]}``, or as a table, which has tabs where there is no terminal."""
        if self.is_json:
            self.print_json({"items": list(items)})
        elif not items:
            self.note(empty)
        elif not self.console.is_terminal:
            for item in items:
                sys.stdout.write("\t".join(one_line(read(item)) for _, read in columns) + "\n")
        else:
            self.console.print(_make_table(items, columns))

    def print_value(self, value: Mapping[str, Any], lines: Iterable[str]) -> None:
        """Print one value: as its JSON, or as ``lines``."""
        if self.is_json:
            self.print_json(value)
            return
        for line in lines:
            self.print_line(line)

    def show_progress(self) -> Progress:
        """Return a progress bar on standard error, which only a terminal shows."""
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        return Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn("{task.percentage:>3.0f}%", style="progress.percentage", markup=False),
            TimeElapsedColumn(),
            console=self.messages,
            transient=True,
            disable=self.is_json or not self.messages.is_terminal,
        )


def _print(console: Console, text: str, style: str) -> None:
    """Print text with line breaks between words in a terminal, and with its own line breaks only elsewhere."""
    breaks = console.is_terminal and fits_between_words(text, console.width)
    console.print(Text(text, style=style), soft_wrap=not breaks)


def _make_table(items: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, read in columns:
        if name in IDS:
            longest = max(len(one_line(read(item))) for item in items)
            table.add_column(name, no_wrap=True, min_width=longest)
        else:
            table.add_column(name, overflow="fold")
    for item in items:
        table.add_row(*(Text(one_line(read(item))) for _, read in columns))
    return table
