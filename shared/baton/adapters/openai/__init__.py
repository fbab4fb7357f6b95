"""Models over the OpenAI HTTP API, at any base URL."""

from baton.adapters.openai.chat_model import OpenAIChatModel

__all__ = ["OpenAIChatModel"]
