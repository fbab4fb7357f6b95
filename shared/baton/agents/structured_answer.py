"""The final answer of an agent with an answer schema: valid JSON, after one repair at most, or an error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from baton.agents.attempt_context import Budget
from baton.concurrency.tasks import off_loop
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.answer_schema import violations
from baton.domain.errors import AnswerInvalid
from baton.domain.json_values import count_values, json_object
from baton.domain.runs.tool_call import MAX_VALUES
from baton.domain.schemas.schema_validator import checking_size
from baton.domain.text import encodable
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, Prompt

logger = Logger(child=True)

REPAIR = (
    "Your answer cannot be used: {problems}. Give the whole answer again, as one JSON object that is valid against "
    "this JSON Schema, and write nothing else: {schema}"
)
NO_OBJECT = "it is no JSON object"
TOO_MANY_VALUES = f"it holds more than {MAX_VALUES} values"
UNFIT = "The agent's answer does not fit its schema: {problem}. Please try again."
TOO_LONG = (
    "The agent's answer was cut at its length limit, so that its JSON is not complete. Please ask for less, or ask the "
    "operator to raise the agent's max_output_tokens."
)


@dataclass(frozen=True, slots=True)
class HeldText:
    """A text that was held back until the model had finished, with its check."""

    text: str = ""
    """The text to show and to store."""
    is_structured: bool = False
    """True if it is the answer, as JSON. Otherwise it was said together with tool calls."""
    failure: AnswerInvalid | None = None


class StructuredAnswer:
    """One agent's answer in one turn, checked against its schema."""

    def __init__(self, agent: AgentDefinition, schema: dict[str, Any], budget: Budget) -> None:
        self._agent = agent
        self._schema = schema
        self._budget = budget
        self._problems: Sequence[str] = ()
        self._is_repaired = False

    @classmethod
    def of(cls, agent: AgentDefinition, budget: Budget) -> StructuredAnswer | None:
        """Return the checker of the agent's answers; None if they are text."""
        return cls(agent, agent.answer_schema, budget) if agent.answer_schema is not None else None

    async def judge(self, model_text: str, *, is_cut: bool) -> HeldText:
        """Return the final answer that the model wrote, as compact JSON, or the error that it is."""
        if is_cut:
            self._problems = ()
            return HeldText(failure=AnswerInvalid(TOO_LONG))
        values = count_values(model_text)
        size = checking_size(self._schema, model_text)
        text, self._problems = (
            await off_loop(size, self._check, model_text) if values <= MAX_VALUES else ("", [TOO_MANY_VALUES])
        )
        if not self._problems:
            return HeldText(text, is_structured=True)
        logger.warning("answer does not fit its schema", agent=self._agent.id, problems=self._problems)
        return HeldText(failure=AnswerInvalid(UNFIT.format(problem=self._problems[0])))

    def repair(self, model_text: str, finished: Finished | None) -> Sequence[Prompt]:
        """Return the prompts to add, so that the model corrects the answer that was judged last.

        Nothing is returned if it was corrected before, was cut, or would exceed the agent's limits.
        """
        if self._is_repaired or not self._problems or not self._budget.allows_repair:
            return ()
        self._is_repaired = True
        schema = json.dumps(self._schema, ensure_ascii=False, separators=(",", ":"))
        note = Prompt(Role.SYSTEM, REPAIR.format(problems="; ".join(self._problems), schema=schema))
        if not model_text:
            return (note,)
        parts = finished.provider_parts if finished is not None else None
        return (Prompt(Role.ASSISTANT, encodable(model_text), provider_parts=parts), note)

    def _check(self, model_text: str) -> tuple[str, Sequence[str]]:
        """Return the answer as compact JSON, and its problems."""
        value = json_object(model_text)
        if value is None:
            return "", [NO_OBJECT]
        try:
            text = encodable(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
        except (ValueError, RecursionError):  # a number beyond what a float holds, or too deep
            return "", [NO_OBJECT]
        return text, violations(self._schema, json.loads(text))
