"""Agents that remember little."""

from __future__ import annotations

from tests.harness.harness import ASSISTANT, Harness


def with_little_memory() -> Harness:
    """A harness whose assistant sees no more than its last exchange."""
    memory = ASSISTANT.memory.model_copy(update={"max_working_memory_tokens": 12})
    return Harness(assistant=ASSISTANT.model_copy(update={"memory": memory}))
