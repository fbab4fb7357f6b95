"""Families of models for the journeys, each with its stand-in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Models of one kind, at a stand-in."""

    dialect: str
    """The stand-in."""
    model: str
    host: str | None = None
    """The real host, of which facts are declared; None for an address that nothing is known of."""


CHAT = (
    Family("openai-gpt4", "gpt-4.1"),
    Family("openai-gpt5", "gpt-5", None),
    Family("openai-gpt5", "unknown"),
    Family("azure", "my-deployment", "acme.openai.azure.com"),
    Family("gemini", "gemini-3-pro", "generativelanguage.googleapis.com"),
    Family("gemini", "unknown"),
    Family("gemini-own-delta", "gemini-3-pro", "generativelanguage.googleapis.com"),
    Family("deepseek", "deepseek-v4", "api.deepseek.com"),
    Family("deepseek", "unknown"),
    Family("mistral", "mistral-large", "api.mistral.ai"),
    Family("mistral", "unknown"),
    Family("mistral-detail", "magistral-medium", "api.mistral.ai"),
    Family("qwen-vllm", "qwen3.5"),
    Family("qwen-vllm", "unknown"),
    Family("qwen-vllm-no-parser", "qwen3.5"),
    Family("qwen-vllm-no-parser", "unknown"),
    Family("gemma", "gemma3"),
    Family("gemma", "unknown"),
    Family("groq", "openai/gpt-oss-120b", "api.groq.com"),
    Family("groq", "unknown"),
    Family("together", "meta-llama/Llama-4"),
    Family("openrouter", "anthropic/claude-sonnet-5.5", "openrouter.ai"),
    Family("openrouter", "deepseek/deepseek-v4", "openrouter.ai"),
    Family("openrouter", "unknown"),
    Family("litellm", "claude"),
    Family("bedrock-gateway", "anthropic.claude-sonnet-4-5"),
    Family("ollama", "qwen3.5"),
    Family("ollama", "unknown"),
    Family("ollama-no-finish", "llama3.2", "127.0.0.1:11434"),
    Family("llama-cpp", "unknown"),
    Family("llama-cpp-500", "unknown"),
    Family("lm-studio", "unknown"),
    Family("lm-studio-200", "unknown"),
    Family("lm-studio-empty", "unknown"),
    Family("no-temperature", "m"),
    Family("one-system-message", "m"),
    Family("alternating-roles", "m"),
    Family("text-only", "m"),
    Family("strict-tools", "m"),
    Family("signatures", "m"),
    Family("reused-ids", "m"),
    Family("no-ids", "m"),
    Family("zero-index", "m"),
)


RESPONSES = (
    Family("openai", "gpt-6-sol", "api.openai.com"),
    Family("openai-astra", "gpt-6-astra", "api.openai.com"),
    Family("xai", "grok-4.6", "api.x.ai"),
)


CONVERSE = (
    "us.anthropic.claude-opus-5-5",
    "us.anthropic.claude-opus-4-7",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us.amazon.nova-pro-v1:0",
    "us.meta.llama4-maverick-17b-instruct-v1:0",
    "mistral.mistral-large-2407-v1:0",
    "openai.gpt-oss-120b-1:0",
    "us.openai.gpt-5.6-sol",
    "us.deepseek.v3.2",
    "qwen.qwen3-32b-v1:0",
)
