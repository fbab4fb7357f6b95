"""Assign names that models accept to tools of MCP servers."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence

from baton.domain.tool import BUILTIN_TOOLS

MAX_NAME = 64

Listed = tuple[str, str]
"""A server's name and the tool's name there."""


def assigned(declared: Collection[str], listed: Sequence[Listed]) -> dict[Listed, str]:
    """Assign names to the ``listed`` tools that differ from the ``declared`` names. Their order does not matter.

    A tool keeps its name (with ``_`` for other characters) unless another tool or a built-in one has it. Then it gets
    its server's name as a prefix.
    """
    counts = Counter(plain(own) for _, own in set(listed))
    names: dict[Listed, str] = {}
    for server, own in set(listed):
        name = plain(own)
        free = counts[name] == 1 and name not in declared and BUILTIN_TOOLS.fullmatch(name) is None
        if free:
            names[server, own] = name
    taken = set(names.values()) | set(declared)
    others = [tool for tool in set(listed) if tool not in names]
    counts = Counter(prefixed(*tool) for tool in others)
    for tool in others:
        name = prefixed(*tool)
        names[tool] = name if counts[name] == 1 and name not in taken else _marked(name, *tool)
    return names


def plain(own: str) -> str:
    """Return ``own`` with the characters and length that model providers accept."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", own)
    return name if 0 < len(name) <= MAX_NAME else _marked(name, own)


def prefixed(server: str, own: str) -> str:
    """Return ``own`` with its server's name as a prefix."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{server}_{own}")
    if BUILTIN_TOOLS.fullmatch(name):
        name = f"mcp_{name}"
    return name if len(name) <= MAX_NAME else _marked(name, server, own)


def _marked(name: str, *parts: str) -> str:
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{digest}"
