"""Preloading of modules at a function's start that libraries would otherwise load during the first request.

While a function starts, Lambda gives it a full core and no client waits yet. Afterwards its share of a core depends on
its memory (half a core at 1 GB). Preloading does not shorten the start. It moves 18 ms of CPU time, for the modules of
HTTP and of model clients, from the first request to the start.
"""

from __future__ import annotations

from importlib import import_module

HTTP_MODULES = ("anyio._backends._asyncio", "anyio.streams.memory", "anyio.streams.stapled", "anyio.streams.tls")
"""Modules that FastAPI and the HTTP clients load when they first run."""

MODEL_MODULES = ("h11", "httpcore2", "truststore")
"""Modules that the clients of models and of the embedder load at their first requests."""

OPENAI_MODULES = (
    "openai.lib.streaming.chat",
    "openai.resources.chat.chat",
    "openai.resources.chat.completions.completions",
    "openai.resources.embeddings",
)
"""Modules that OpenAI's library loads at its first requests."""


def preload(*modules: str) -> None:
    """Import ``modules``. Modules that the installed version of a library does not have are skipped."""
    for module in modules:
        try:
            import_module(module)
        except ModuleNotFoundError as missing:
            if missing.name is None or not module.startswith(missing.name):
                raise
