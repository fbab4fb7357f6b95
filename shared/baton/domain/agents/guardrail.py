"""Guardrails at HTTP endpoints, as agents' files declare them."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

from pydantic import Field, PrivateAttr, field_validator

from baton.domain.agents.tool import HttpTool, Name, Url
from baton.domain.agents.verdict import OnFailure
from baton.domain.definition import Definition
from baton.domain.tenants.secret import Headers


class Checked(StrEnum):
    """The points at which an endpoint is asked: for the user's and the agent's texts, and those of hooks."""

    INPUT = "input"
    OUTPUT = "output"
    BEFORE_MODEL = "before_model"
    AFTER_MODEL = "after_model"
    BEFORE_TOOL = "before_tool"
    AFTER_TOOL = "after_tool"
    ON_HANDOFF = "on_handoff"


_AROUND_MODEL = (Checked.BEFORE_MODEL, Checked.AFTER_MODEL)


class Guardrail(Definition):
    """An endpoint that judges what users and the agent say and do. It gets POST requests with JSON."""

    name: Name
    """Its name in metadata, in records and in stubs of tests."""
    url: Url
    checks: tuple[Checked, ...] = Field(default=(Checked.INPUT, Checked.OUTPUT), min_length=1, max_length=7)
    """The texts that it judges, ``input``, the user's, and ``output``, the agent's, and the points of hooks."""
    headers: Headers = Field(default_factory=dict)
    """Headers of its requests: texts, or where their values are."""
    timeout_seconds: float = Field(default=5, gt=0, le=60)
    """The time limit of one request."""
    on_failure: OnFailure = OnFailure.CLOSED
    """``closed`` if a failure counts as a refusal, ``open`` if the turn goes on then."""
    _tool: HttpTool | None = PrivateAttr(default=None)

    @field_validator("url")
    @classmethod
    def _has_no_placeholders(cls, url: str) -> str:
        if re.search(r"[{}]", url):
            raise ValueError("the address of a guardrail has no placeholders")
        return url

    @property
    def as_tool(self) -> HttpTool:
        """The HTTP operation that asks it: with the same credentials and allowed hosts as tools.

        One that fails open is asked however often it has failed: a caller that makes it fail must not switch it off.
        """
        if self._tool is None:
            fields: dict[str, Any] = {"type": "http", "name": self.name, "description": self.name, "method": "POST"}
            self._tool = HttpTool.model_validate(
                {**fields, "url": self.url, "headers": self.headers, "timeout_seconds": self.timeout_seconds}
            ).of_guardrail(is_always_asked=self.on_failure is OnFailure.OPEN)
        return self._tool

    def around_model(self) -> Guardrail | None:
        """Return it as it judges the model's requests alone; None if it does not."""
        checks = tuple(check for check in self.checks if check in _AROUND_MODEL)
        return self.model_copy(update={"checks": checks}) if checks else None
