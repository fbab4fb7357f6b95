"""Run the conversations of tests."""

from __future__ import annotations

import asyncio
import time
import traceback
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from baton.adapters.agents.agent_files import AgentFiles
from baton.domain.errors import ModelError
from baton.ports.agents.chat_model import TokenCounter
from baton_testing.conversation import DrivenConversation
from baton_testing.conversation_files import ReadFile
from baton_testing.conversation_ports import ConversationPorts
from baton_testing.conversation_test import ConversationFile, ConversationTest
from baton_testing.errors import CannotRun
from baton_testing.held_conversation import WHOLE, HeldConversation
from baton_testing.models.choice import Answering, AnsweringModel
from baton_testing.models.own_time import OwnTime
from baton_testing.played_user import PlayedUser
from baton_testing.reports.result import ConversationResult, Failure, RunResult
from baton_testing.virtual_time import LoopClock, VirtualTimeLoop


@dataclass(frozen=True, slots=True)
class Runner:
    """A runner of conversations with a project's agents, one after another."""

    agents: AgentFiles
    counter: TokenCounter
    answering: Answering

    def run(self, file: ReadFile, number: int, answering: Answering | None = None) -> ConversationResult:
        """Run the conversation ``number`` of a file, as often as ``answering`` says. Raises ``CannotRun``.

        ``answering`` is by default the runner's.
        """
        test = file.content.conversations[number]
        answering = answering or self.answering
        count = answering.count_runs(test)
        runs = []
        for _ in range(count):
            model = answering.choose_model(file, number, self.counter, own_time := OwnTime())
            try:
                with asyncio.Runner(loop_factory=VirtualTimeLoop) as loop:
                    runs.append(loop.run(self._hold(file, number, model, own_time)))
            except CannotRun:
                raise
            except Exception as problem:  # noqa: BLE001 - an unexpected error must not lose the results of other tests
                runs.append(_make_failed_run(file, number, problem))
        needed = count if test.passes is None else min(test.passes, count)
        line = file.find_line(("conversations", number))
        return ConversationResult(file.path, line, test.name, tuple(runs), needed, model.names)

    def warm_up(self) -> None:
        """Run a conversation whose result is dropped, so that imports do not count as Baton's own time later."""
        step = {"say": "Hello", "answers": ["Hello."]}
        content = ConversationFile.model_validate({"conversations": [{"name": "Warm-up", "steps": [step]}]})
        self.run(ReadFile.of(Path("warm-up.yaml"), content), 0, Answering())

    async def _hold(self, file: ReadFile, number: int, model: AnsweringModel, own_time: OwnTime) -> RunResult:
        """Hold a conversation once, and close the model and the functions, also after a failure."""
        began = time.monotonic()
        content, test = file.content, file.content.conversations[number]
        ports = ConversationPorts(
            clock=LoopClock(content.begins_at, test.name),
            agents=self.agents,
            model=model.model,
            names=model.names,
            counter=self.counter,
            stubs={**content.tools, **test.tools},
            reach=content.reach,
        )
        conversation = DrivenConversation(
            ports, test.user or content.user, own_time, name=test.name, agent=test.agent, folder=file.path.parent
        )
        held = HeldConversation(file, number)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(ports.functions.aclose)
            stack.push_async_callback(model.aclose)
            if test.is_played:
                files = ports.files.of_thread(conversation.scope, conversation.thread_id)
                user_model = PlayedUser(model.model, model.names.default, files, test)
                await _play(conversation, test, user_model, model, held)
            else:
                await _follow(conversation, test, model, held)
        return held.make_result(
            notes=(*ports.notes, *model.notes),
            warnings=tuple(ports.tools.unanswered),
            tokens=ports.model.tokens,
            seconds=time.monotonic() - began,
            recordings=tuple(model.recordings),
        )


def _make_failed_run(file: ReadFile, number: int, problem: Exception) -> RunResult:
    trace = "".join(traceback.format_exception(problem)).rstrip()
    location = file.locate(("conversations", number))
    return RunResult((Failure(location, WHOLE, "the conversation can be held", f"{problem!r}\n{trace}"),))


async def _follow(
    conversation: DrivenConversation, test: ConversationTest, model: AnsweringModel, held: HeldConversation
) -> None:
    """Take the test's steps up to the first failure."""
    for index, step in enumerate(test.steps):
        model.give(step.answers)
        seen = await conversation.take(step)
        held.take_step(step, index, seen, model.take_problems())
        if held.failures:
            return
    held.check_whole()


async def _play(
    conversation: DrivenConversation,
    test: ConversationTest,
    user: PlayedUser,
    model: AnsweringModel,
    held: HeldConversation,
) -> None:
    """Let a model play the user, and then judge the conversation."""
    model.give(test.answers)
    try:
        for _ in range(test.max_turns):
            message = await user.write_message(held.seen)
            if message is None:
                break
            held.take(await conversation.say(message))
        else:
            held.note(f"The persona was not done after {test.max_turns} messages.")
        held.judge(await user.judge(held.seen))
    except ModelError as failure:
        held.fail_as_whole("a model that plays the user and judges", f"the error {failure.code}")
    for problem in model.take_problems():
        held.fail_as_whole("the conversation can be held", problem)
    held.check_whole()
