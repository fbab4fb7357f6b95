"""Folders with a folder for each agent, whose files become the agent's documents or procedures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

CLOSENESS = 0.75
"""The least similarity of a suggestion, as ``difflib`` measures it from 0 to 1."""


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file below ``documents/AGENT/`` or ``procedures/AGENT/``."""

    file: Path
    agent_id: str
    relative: str
    """The path below the agent's folder."""

    @property
    def document_id(self) -> str:
        """An id that stays the same, so that changed content is a new version of the same document."""
        return self.derive_later_id(0)

    def derive_later_id(self, times: int) -> str:
        """Return the id for a file that was removed and added again ``times`` times.

        A document that was deleted keeps its id until the server has cleaned it up, for some minutes.
        """
        key = f"{self.agent_id}/{self.relative}" + (f"/{times}" if times else "")
        return f"doc_{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def describe_unknown_agent(agent_id: str, agent_ids: Sequence[str]) -> str:
    """Return the problem of a folder that is not named by an agent's id, with the id that it resembles."""
    similar = get_close_matches(agent_id, sorted(agent_ids), n=1, cutoff=CLOSENESS)
    advice = f"did you mean {similar[0]}?" if similar else "name the folder by the id of one"
    return f"there is no agent {agent_id!r} ({advice})"


def list_owned_files(folder: Path) -> list[OwnedFile]:
    """Return the files below each agent's folder.

    Hidden files, editors' backups (``page.md~``) and links, which may lead out of the folder, are left out.
    """
    files = []
    for file in sorted(folder.glob("*/**/*")):
        parts = file.relative_to(folder).parts
        is_left_out = any(part.startswith(".") or part.endswith("~") for part in parts)
        is_linked = any(folder.joinpath(*parts[:depth]).is_symlink() for depth in range(1, len(parts) + 1))
        if file.is_file() and not is_left_out and not is_linked:
            files.append(OwnedFile(file, parts[0], "/".join(parts[1:])))
    return files
