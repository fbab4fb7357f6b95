"""Models over the OpenAI HTTP APIs, at any base URL: requests, event streams, errors, vectors."""

import sys

from baton.adapters.models.openai import on_demand

# The library imports the types of all its APIs, some 600 models. Their names stay available.
on_demand.defer_imports(
    "openai.types", "openai.types.chat", "openai.types.responses", "openai.types.shared", "openai.types.graders"
)
# The library would load aiohttp, which Baton has for its search and uses for no model, and works without it.
sys.modules.setdefault("openai._vendor.httpx_aiohttp", None)  # type: ignore[arg-type]

from baton.adapters.models.openai.chat_model import OpenAIChatModel  # noqa: E402  its imports need what is above

__all__ = ["OpenAIChatModel"]
