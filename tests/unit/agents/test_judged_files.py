"""Files of a question are judged with it, a few at a time."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, cast

from ag_ui.core import DataSource, DocumentPart, TextPart

from baton.agents.attempt_context import Attempt
from baton.agents.guardrails.hooks import Hooks
from baton.agents.guardrails.judged_texts import AT_ONCE, judge_question


class CountingHooks:
    """Hooks that allow everything, and count the texts that are judged at the same time."""

    def __init__(self) -> None:
        self.judged = 0
        self.under_way = 0
        self.most = 0

    async def judge_question(self, text: str) -> str:
        """Allow the question."""
        return text

    async def require_allowed(self, text: str) -> None:
        """Allow the text of a file."""
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        self.judged += 1


async def test_the_files_of_a_question_are_judged_a_few_at_a_time() -> None:
    hooks = CountingHooks()
    data = DataSource(value=base64.b64encode(b"Some text.").decode(), mime_type="text/plain")
    content: Any = [TextPart(text="Read these."), *(DocumentPart(source=data) for _ in range(50))]
    assert await judge_question(cast("Hooks", hooks), cast("Attempt", None), content) == "Read these."
    assert hooks.judged >= 50
    assert hooks.most <= AT_ONCE
