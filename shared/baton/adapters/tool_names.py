"""Names that a model accepts for tools that servers name as they like."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence

from baton.domain.tool import BUILTIN_TOOLS

LONGEST = 64

Listed = tuple[str, str]
"""A server's name and the tool's name there."""


def assigned(declared: Collection[str], listed: Sequence[Listed]) -> dict[Listed, str]:
    """What the model calls the ``listed`` tools, beside those ``declared`` by name; independent of their order.

    A tool keeps its name (other characters as ``_``) unless another one has it too or it is one of Baton's own: then
    its server's name stands in front.
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
    """``own`` in characters and length that model providers accept."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", own)
    return name if 0 < len(name) <= LONGEST else _marked(name, own)


def prefixed(server: str, own: str) -> str:
    """``own`` with its server's name in front."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{server}_{own}")
    if BUILTIN_TOOLS.fullmatch(name):
        name = f"mcp_{name}"
    return name if len(name) <= LONGEST else _marked(name, server, own)


def _marked(name: str, *parts: str) -> str:
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - 9]}_{digest}"
