"""A user in front of the shipped agents: Baton's turns on fakes, its own model adapter, and the demo model's API."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from baton.adapters.agents.agent_files import AgentFiles
from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.search import Vector
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role
from baton.domain.threads.thread_state import describe_thread_state
from baton.memory.episodes.session_closing import ClosingStep
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.documents.files import ThreadFiles
from baton_local.demo_model.sentence_encoder import DIMENSIONS, SentenceEncoder
from baton_local.root import ROOT
from tests.fakes.chat_model import ScriptedChatModel
from tests.harness.handoffs import texts
from tests.harness.harness import Harness
from tests.harness.sessions import close

OTHER_WORDS = "Completely different words."


@dataclass
class Reworded:
    """A model to which every system message and every description says something else."""

    model: OpenAIChatModel

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        prompts = [replace(prompt, content=OTHER_WORDS) if prompt.role is Role.SYSTEM else prompt for prompt in prompts]
        tools = [ToolSpec(tool.name, OTHER_WORDS, _reword(tool.parameters)) for tool in tools]
        stream = self.model.stream(settings, prompts, thread_files=thread_files, tools=tools)
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                yield chunk


def _reword(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: OTHER_WORDS if key == "description" and isinstance(value, str) else _reword(value)
            for key, value in schema.items()
        }
    return [_reword(item) for item in schema] if isinstance(schema, list) else schema


class Demo:
    """A user in front of the shipped agents."""

    def __init__(self, model: OpenAIChatModel | Reworded) -> None:
        files = AgentFiles.load(ROOT / "agents")
        assistant, knowledge, research, maker = (
            cast("AgentDefinition", files.get(name))
            for name in ("assistant", "knowledge", "research", "skill-creation-agent")
        )
        self.harness = Harness(
            model=cast("ScriptedChatModel", model),
            assistant=assistant,
            others=(knowledge, research, maker),
            recalls=True,
        )
        self.harness.ada = Scope("acme", "ada", frozenset({"skill:create"}))

    async def say(self, text: str) -> list[tuple[str, str]]:
        """Return the replies to the user's message, with their authors."""
        return texts(await self.harness.say(str(uuid.uuid4()), text))

    async def answer(self, text: str) -> str:
        """Return the main agent's last answer to the user's message."""
        return (await self.say(text))[-1][1]

    async def remember_by_meaning(self, encoder: SentenceEncoder, *questions: str) -> None:
        """Let texts be found by the sentence encoder of the local cloud, in place of a fake.

        The ``questions`` are encoded before they are asked: a busy machine takes longer than retrievals wait.
        """
        await encoder.encode(list(questions))

        async def embed(texts: Sequence[str], **_: Any) -> Sequence[Vector]:
            return [tuple(float(number) for number in vector) for vector in (await encoder.encode(list(texts))).vectors]

        self.harness.embedder.embed = embed  # type: ignore[method-assign]
        self.harness.search.dimensions = DIMENSIONS

    async def begin_another(self) -> None:
        """End the conversation, let it become an episode, and begin one that has none of its messages."""
        await close(self.harness)
        for step in ClosingStep:
            await self.harness.app.memory.session_closing.run(step, self.harness.ada, self.harness.thread_id, 1)
        self.harness.thread_id = str(uuid.uuid4())

    async def state(self) -> str | None:
        """Return the state of the workflow."""
        workflow = (await self._state())["workflow"]
        return workflow["state"] if workflow else None

    async def unfinished(self) -> list[str]:
        """Return the beginning of the user's next message."""
        return [workflow["id"] for workflow in (await self._state())["resumable"]]

    async def _state(self) -> dict[str, Any]:
        thread = await self.harness.store.get_thread(self.harness.ada, self.harness.thread_id)
        agents = await self.harness.agents.in_session(self.harness.ada, thread)
        state: dict[str, Any] = describe_thread_state(agents.describe, thread).wire()
        return state
