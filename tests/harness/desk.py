"""A workflow that a tool completes."""

from __future__ import annotations

from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCallRecord
from tests.harness.handoffs import MAKER, HandoffHarness, advance, transfer
from tests.harness.harness import Turn

FILE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}
TOOL = {"type": "python", "name": "file", "description": "Files it.", "entry_point": "desk:file"}


class Desk:
    """A tool that files what was made, or does what the test wants instead."""

    def __init__(self, *, collects: dict[str, Any] | None = None, title: str | None = None, **tool: Any) -> None:
        """``collects`` is the schema of the data of the last step, ``title`` that of the workflow."""
        self.result: str | None = None
        self.files: list[str] = []
        self.failures: list[Exception] = []
        workflow = MAKER.model_dump(exclude_unset=True)["workflow"]
        ask, build, done = workflow["states"]
        workflow["title"] = title or workflow["title"]
        workflow["states"] = [ask, build if collects is None else {**build, "collects": collects}, done]
        self.maker = AgentDefinition.model_validate(
            {**MAKER.model_dump(exclude_unset=True), "tools": [TOOL], "workflow": {**workflow, "on_complete": "file"}}
        )
        self.harness = HandoffHarness(maker=self.maker)
        self.harness.tools.add("file", self.file, parameters=FILE, **tool)

    async def file(self, name: str, size: int = 1) -> str:
        """File it."""
        if self.failures:
            raise self.failures.pop(0)
        self.files.append(name)
        return self.result or f"Number {len(self.files)}."

    async def reach_the_end(self, *answers: Any) -> Turn:
        """Collect the data; the maker then answers the last message with ``answers``."""
        self.harness.model.script(transfer(), "Name?", advance("BUILD", name="Box"), "Shall I?")
        await self.harness.say()
        await self.harness.say("m2", "Box")
        self.harness.model.script(*answers)
        return await self.harness.say("m3", "Yes")

    async def records(self) -> list[ToolCallRecord]:
        """The recorded calls of the tool, the oldest first."""
        calls, _ = await self.harness.records.list_calls(
            self.harness.ada, self.harness.thread_id, limit=50, cursor=None
        )
        return [record for record in reversed(calls) if record.tool_name == "file"]
