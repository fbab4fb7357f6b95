"""What libraries would load in the middle of a first request, loaded before it comes.

Lambda gives a function a full core while it starts, and by its memory (half a core at 1 GB) afterwards; and while it
starts, nobody waits yet.
"""

from __future__ import annotations

from importlib import import_module

HTTP_MODULES = (
    "anyio._backends._asyncio",
    "anyio.streams.memory",
    "anyio.streams.stapled",
    "anyio.streams.tls",
)
"""What FastAPI and the HTTP clients load when they first run."""

MODEL_MODULES = (
    "h11",
    "httpcore2",
    "openai.lib.streaming.chat",
    "openai.resources.chat.chat",
    "openai.resources.chat.completions.completions",
    "truststore",
)
"""What the model's client loads at its first request."""


def preload(*modules: str) -> None:
    """Import ``modules``; one that a newer library no longer has is nothing to load."""
    for module in modules:
        try:
            import_module(module)
        except ModuleNotFoundError as missing:
            if missing.name is None or not module.startswith(missing.name):
                raise
