"""Counting tokens without a vocabulary."""

from __future__ import annotations


class WordCounter:
    """``ports.agents.chat_model.TokenCounter`` that counts words: enough for budgets in tests."""

    def count(self, text: str) -> int:
        return len(text.split())
