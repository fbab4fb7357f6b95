"""Cassettes: recorded answers of a model, in a file next to the file of the tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from baton import __version__
from baton_testing.conversation_ports import ModelNames
from baton_testing.errors import CannotRun
from baton_testing.models.answering import ModelAnswer
from baton_testing.models.request import RenderedRequest

FORMAT = 1
"""The version of the format, increased when the same conversation gets another form or other keys."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One request and its answer."""

    request: RenderedRequest
    answer: ModelAnswer

    def as_json(self) -> dict[str, Any]:
        """Return the recording in the form of the file."""
        return {"key": self.request.key, "answer": self.answer.as_json(), "request": dict(self.request.values)}


@dataclass(frozen=True, slots=True)
class Cassette:
    """The recordings of all conversations of a file, by their names."""

    names: ModelNames = field(default_factory=ModelNames)
    conversations: Mapping[str, Sequence[Recording]] = field(default_factory=dict)

    @classmethod
    def derive_path(cls, test: Path) -> Path:
        """Return the path of the cassette of a file of tests."""
        return test.with_suffix(".cassette.json")

    @classmethod
    def read(cls, path: Path) -> Cassette:
        """Read a file. Raises ``CannotRun`` if it is missing, damaged or of another format."""
        command = f"`baton test {_find_test(path)} --record`"
        again = f"record it again: {command}"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise CannotRun(f"{path}: there is no cassette. Record one: {command}.") from None
        except (OSError, ValueError) as problem:
            raise CannotRun(f"{path}: the cassette cannot be read ({problem}): {again}.") from None
        version = content.get("format") if isinstance(content, dict) else None
        if version != FORMAT:
            by = content.get("baton", "another version") if isinstance(content, dict) else "another program"
            raise CannotRun(
                f"{path}: the cassette has format {version!r} (written by Baton {by}), and this version of Baton reads "
                f"{FORMAT}: {again}; or use the version that wrote it."
            )
        try:
            return cls(
                ModelNames(content["models"]["default"], content["models"]["light"]),
                {
                    name: [
                        Recording(RenderedRequest(recording["request"]), ModelAnswer.from_json(recording["answer"]))
                        for recording in recordings
                    ]
                    for name, recordings in content["conversations"].items()
                },
            )
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            raise CannotRun(f"{path}: the cassette is damaged ({problem!r}): {again}.") from None

    def with_conversation(self, name: str, recordings: Sequence[Recording]) -> Cassette:
        """Return a copy in which ``recordings`` are those of the conversation."""
        return Cassette(self.names, {**self.conversations, name: recordings})

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        content = {
            "format": FORMAT,
            "baton": __version__,
            "models": {"default": self.names.default, "light": self.names.light},
            "conversations": {
                name: [recording.as_json() for recording in recordings]
                for name, recordings in self.conversations.items()
            },
        }
        unfinished = path.with_name(f".{path.name}.unfinished")
        unfinished.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        unfinished.replace(path)


def _find_test(path: Path) -> Path:
    """Return the file of tests of a cassette, which may end with ``.yaml`` or ``.yml``."""
    name = path.name.removesuffix(".cassette.json")
    short = path.with_name(f"{name}.yml")
    return short if short.is_file() else path.with_name(f"{name}.yaml")
