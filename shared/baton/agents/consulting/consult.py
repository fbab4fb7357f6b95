"""Consultations of other agents. Each question is a sub-task with its own messages, time limit and tokens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from dataclasses import replace
from functools import partial
from typing import Any

from aws_lambda_powertools import Logger

from baton.agents.agent_loop import AgentLoop
from baton.agents.agent_work import AgentQuestion, AgentWork, make_unseen_transcript
from baton.agents.answer_limit import AnswerLimit
from baton.agents.answer_sources import limit_sources
from baton.agents.attached_files import ReturnedFiles, count_by_type, read_attachments
from baton.agents.attempt_context import Attempt, EmitEvent, ScreenedQuestion
from baton.agents.call_outcome import CallOutcome
from baton.agents.calls.progress import make_label_receiver
from baton.agents.calls.traced_steps import note_answer, trace_agent
from baton.agents.code.coroutine_agent import CoroutineAgent
from baton.agents.consulting.consulted_work import ConsultedWork
from baton.agents.guardrails.judged_texts import judge_context
from baton.agents.prompts.prompt_notes import compute_prompt
from baton.agents.tools.tool_set import ToolSet, find_tools
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.numbered_passages import DOCUMENT_SOURCE, FILE_SOURCE, PassageNumbers, split_consulted
from baton.domain.errors import BatonError, LeaseLost, StoreUnavailable, Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.runs.run_step import MAX_DEPTH
from baton.domain.runs.task import DATA, RemoteTask, Task, TaskMessage, TaskStatus, note_open_task
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.text import cut_to_bytes
from baton.domain.threads.content import Content
from baton.domain.threads.message import Role
from baton.domain.threads.run_events import make_subagent_error, make_subagent_finished, make_subagent_started
from baton.failures.reports import in_background
from baton.memory.prompt.context import AssembledContext, Notes
from baton.memory.recalled import MemorySearch
from baton.ports.agents import agent_client
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, AnswerText, Prompt, TextDelta, TextTakenBack

logger = Logger(child=True)

MAX_SEARCHED_TASKS = 20
"""The number of newest sub-tasks of the thread among which a remote agent's open task is searched."""
ABANDONED = "the agent that asked no longer waits for it."


class Consultations:
    """Consultations of agents on behalf of the active agent, one at a time or several at once.

    The turn continues if a consulted agent fails, cannot be reached or takes too long.
    """

    def __init__(self, context: Attempt, content: Content = "", *, depth: int = 1) -> None:
        """``content`` is the user's message, whose images and documents remote agents get.

        ``depth`` is the position in the chain of questions: 1 for agents that the active agent asks. Only consulted
        agents with a ``run`` coroutine ask further agents, up to ``MAX_DEPTH``.
        """
        self._depth = depth
        self._context = context
        self._content = content
        self.usage = Usage()
        """Tokens that local agents have used for these consultations. Remote agents are not counted."""
        self._continued: set[str] = set()
        """The remote agents' ids of open tasks that this run has continued."""

    async def ask(self, question: AgentQuestion, emit: EmitEvent) -> CallOutcome:
        """Ask another agent, and return the outcome for the asking model. The consultation is stored as a task.

        Raises ``LeaseLost``, ``StoreUnavailable`` and ``Unauthorized``; other errors are failed outcomes.
        """
        context, call, agent = self._context, question.call, question.agent
        task = Task(
            id=derive_task_id(context.thread_id, call),
            run_id=context.run.run_id,
            tool_call_id=call.id,
            agent_id=agent.id,
            message=question.message,
            started_at=context.services.clock.now(),
        )
        # The record is written while the agent works.
        record_write = in_background(
            context.services.records.put_task(context.lease(), task), "record of a consultation"
        )
        context.note_version(agent)
        emit(make_subagent_started(task.id, agent, call))
        work = ConsultedWork()
        try:
            status, error = await self._let_answer(question, task, work)
            outcome = work.make_outcome(question.agent, task, status, error)
            if question.judge is not None:
                outcome = await work.judge(outcome, question.judge)
        except (asyncio.CancelledError, Unauthorized) as end:
            status, error, sentence = TaskStatus.CANCELLED, ABANDONED, "Stopped."
            if isinstance(end, Unauthorized):
                status, error, sentence = TaskStatus.FAILED, end.detail, end.detail
            elif context.stop.is_set():
                error = "stopped by the user."
            if question.judge is not None:
                work.replace_answer(None)  # the answer was not judged
            emit(make_subagent_error(task.id, status.value, sentence))
            # Stored only if this attempt ends the run: a worker that stops working leaves the question to the next.
            context.writes.add_last(self._store_task(record_write, task, status, work, error))
            raise
        emit(make_subagent_error(task.id, status.value, error) if error else make_subagent_finished(task.id))
        context.writes.add(self._store_task(record_write, task, status, work, error))
        return outcome

    async def _let_answer(
        self, question: AgentQuestion, task: Task, work: ConsultedWork
    ) -> tuple[TaskStatus, str | None]:
        """Let the agent answer within its time limit. Return the status, and the reason of a failure or None."""
        agent = question.agent
        try:
            with trace_agent(agent, task.id) as span:
                async with asyncio.timeout(self._context.limit_seconds(agent.timeouts.consult_seconds)):
                    ask = self._ask_remote if agent.remote else self._ask_local
                    await ask(question, task, work)
                note_answer(span, agent, task.message, work.answer)
        except TimeoutError:
            return TaskStatus.TIMED_OUT, "it took too long."
        except (LeaseLost, StoreUnavailable, Unauthorized):
            raise
        except agent_client.AgentFailed as failure:
            return TaskStatus.FAILED, failure.reason
        except BatonError as failure:
            return TaskStatus.FAILED, failure.detail
        except Exception as problem:
            logger.exception("consultation failed", agent=agent.id, thread_id=self._context.thread_id)
            count(Metric.INTERNAL_FAULTS)
            self._context.services.functions.note_failure(problem)
            return TaskStatus.FAILED, "it has an internal fault."
        if not work.answer.strip():
            return TaskStatus.FAILED, "it gave an empty answer."
        return TaskStatus.COMPLETED, None

    async def _ask_local(self, question: AgentQuestion, task: Task, work: ConsultedWork) -> None:
        """Let a local agent answer. It gets only its task, and nothing of the conversation."""
        # The user sees only the asking agent's answer and the progress of tools.
        agent, emit = question.agent, make_label_receiver(question.report)
        screened = ScreenedQuestion()
        context = replace(self._context, emit=emit, screened=screened, numbers=PassageNumbers())
        is_coroutine = agent.code.run is not None
        may_ask = is_coroutine and self._depth < MAX_DEPTH
        external_tools = context.services.tools
        tools = await find_tools(agent, context.scope, context.facts.agents, external_tools, may_ask=may_ask)
        transcript = make_unseen_transcript(context, task.id)
        agent_work = AgentWork(context, agent, tools, transcript, task_id=task.id)
        loop: AgentLoop | CoroutineAgent
        nested = Consultations(context, depth=self._depth + 1)
        if is_coroutine:
            assemble = partial(self._assemble_step, agent, task, context)
            agent_work.consult = nested.ask
            loop = CoroutineAgent(agent_work, assemble, content=task.message)
        else:
            loop = AgentLoop(agent_work)
            await loop.begin(await self._assemble_prompt(agent, task.message, tools, context.numbers, task.id))
        try:
            await loop.answer()
        finally:
            work.usage, work.question = agent_work.result.usage + nested.usage, screened.text
            self.usage += work.usage
            work.messages = [
                TaskMessage(message.role.value, message.text, message.timestamp, message.tool_name)
                for message in transcript.messages
            ]
        work.is_limited = agent_work.result.is_limited
        sources = agent_work.sources
        work.documents, work.files = sources.of_kind(DOCUMENT_SOURCE), sources.of_kind(FILE_SOURCE)
        answers = [message for message in transcript.messages if message.role is Role.ASSISTANT and message.text]
        if answers and agent_work.result.has_answered:
            messages = answers if is_coroutine else answers[-1:]
            work.take("\n\n".join(message.text for message in messages), is_cut=answers[-1].is_cut)

    async def _assemble_step(
        self, agent: AgentDefinition, task: Task, context: Attempt, single_message: str | None
    ) -> AssembledContext:
        """Return the prompt for a step of a consulted coroutine.

        Its message is ``single_message``, or if that is None the task after its judgement by guardrails.
        """
        question = task.message if context.screened.text is None else context.screened.text
        message = question if single_message is None else single_message
        return await self._assemble_prompt(agent, message, ToolSet({}), context.numbers, task.id)

    async def _assemble_prompt(
        self, agent: AgentDefinition, message: str, tools: ToolSet, numbers: PassageNumbers, task_id: str
    ) -> AssembledContext:
        """Return a consulted agent's prompt, with its own knowledge but without the user's conversations."""
        context, services = self._context, self._context.services
        today = Prompt(Role.SYSTEM, context.today.sentence)
        assembled = await services.memory.make_prompt(
            context.fit_agent(agent),
            MemorySearch(context.scope, message, with_episodes=False),
            notes=Notes(changing=await compute_prompt(agent, context), today=today),
            reserved=tools.count_tokens(services.counter),
            zone=context.today.zone,
            numbers=numbers,
        )
        return await judge_context(context, agent, assembled, task_id)

    async def _ask_remote(self, question: AgentQuestion, task: Task, work: ConsultedWork) -> None:
        """Let a remote agent answer over A2A.

        The message continues the remote agent's task if that waits for input. If an earlier attempt has sent the
        message, this attempt only follows the task.
        """
        context, agent = self._context, question.agent
        attachments, missing_notes = await read_attachments(context, self._content)
        followed_task = context.remote_tasks.pop(task.id, None)
        agent_task = agent_client.AgentTask(
            scope=context.scope,
            thread_id=context.thread_id,
            task_id=task.id,
            parent_task_id=context.run.run_id,
            message="\n".join([task.message, *missing_notes]),
            remote_task_id=followed_task.remote_task_id
            if followed_task is not None
            else await self._take_open_task(agent, task),
            attachments=tuple(attachments),
            data=question.data,
            follows=followed_task,
            time_zone=context.today.known_zone,
        )
        try:
            await self._read_answer(question, agent_task, work)
        except agent_client.TaskLost:
            # The agent has ended its task in the meantime and has not received the message: begin a new task.
            await self._read_answer(question, replace(agent_task, remote_task_id=None, follows=None), work)

    async def _take_open_task(self, agent: AgentDefinition, task: Task) -> str | None:
        """Return the remote id of the agent's task in this thread that still waits for input; None without such a task.

        Each task is returned only once per run.
        """
        context = self._context
        tasks, _ = await context.services.records.list_tasks(
            context.scope, context.thread_id, limit=MAX_SEARCHED_TASKS, cursor=None
        )
        last = max(
            (
                earlier
                for earlier in tasks
                # A failed consultation leaves no open task: either no message arrived, or the agent ended its task.
                if earlier.agent_id == agent.id and earlier.id != task.id and earlier.status is TaskStatus.COMPLETED
            ),
            key=lambda task: task.started_at,
            default=None,
        )
        if last is None or last.remote_task_id is None or last.remote_task_id in self._continued:
            return None
        self._continued.add(last.remote_task_id)
        return last.remote_task_id

    async def _read_answer(
        self, question: AgentQuestion, agent_task: agent_client.AgentTask, work: ConsultedWork
    ) -> None:
        """Read a remote agent's answer to its end, and record it in ``work``."""
        context, agent, limit = self._context, question.agent, AnswerLimit()
        text = AnswerText()
        extras: list[str] = []
        work.not_passed_on, has_data, files = [], False, ReturnedFiles(context, agent.id)
        stream = context.services.agent_client.stream(agent, agent_task, is_passed_on=context.passed_on.is_set)
        async with contextlib.aclosing(limit.yield_within(stream)) as chunks:
            async for chunk in chunks:
                match chunk:
                    case TextDelta() | TextTakenBack():
                        text.take(chunk)
                    case agent_client.AgentStarted():
                        remote_task = RemoteTask(agent_task.task_id, agent.id, chunk.remote_task_id, chunk.known)
                        await context.keep_remote_task(remote_task)
                    case agent_client.AgentProgress(label):
                        question.report(label)
                    case agent_client.NotSent(attachment):
                        work.not_passed_on.append(attachment)
                    case agent_client.AgentData(value):
                        has_data = True
                        extras.append(DATA.format(json.dumps(value, ensure_ascii=False)))
                    case agent_client.AgentFile(file):
                        extras.append(await files.take(file))
                    case agent_client.AgentDone():
                        work.documents = limit_sources(
                            [{**document, "agentId": agent.id} for document in chunk.documents]
                        )
                        work.usage = chunk.usage or Usage()
                        work.remote_task_id = chunk.remote_task_id
                        if chunk.remote_task_id is not None:
                            work.note = note_open_task(needs_sign_in=chunk.needs_sign_in, has_data=has_data)
        work.files = tuple(files.sources)
        full_answer = "\n".join(part for part in (text.text, *extras, files.left_out) if part)
        answer = cut_to_bytes(full_answer, MAX_ANSWER_BYTES)
        work.take(answer, is_cut=limit.is_spent or len(answer) < len(full_answer))
        work.messages = [TaskMessage(Role.ASSISTANT.value, work.answer, context.services.clock.now())]

    async def _store_task(
        self, record_write: asyncio.Future[None], task: Task, status: TaskStatus, work: ConsultedWork, error: str | None
    ) -> None:
        """Store the ended task after ``record_write``, the write of its beginning, and audit the consultation."""
        context, services = self._context, self._context.services
        message = task.message if work.question is None else work.question
        sources, consulted_sources = split_consulted(work.sources)
        finished_task = replace(
            task,
            message=message,
            status=status,
            result=work.answer or None,
            error=error,
            ended_at=services.clock.now(),
            usage=work.usage,
            remote_task_id=work.remote_task_id,
            messages=(TaskMessage(Role.USER.value, message, task.started_at), *work.messages),
            sources=sources,
            consulted=consulted_sources,
        )
        await record_write
        detail: dict[str, Any] = {"agentId": task.agent_id, "taskId": task.id, "runId": task.run_id}
        if work.not_passed_on:
            detail["notPassedOn"] = count_by_type(work.not_passed_on)
        audit_write = services.audit.record(
            context.scope, "agent.consult", thread_id=context.thread_id, outcome=status.value, detail=detail
        )
        await gather_all(services.records.put_task(context.lease(), finished_task), audit_write)


def derive_task_id(thread_id: str, call: ToolCall) -> str:
    """Return the id of a call's sub-task. It is the same in every attempt."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"task\0{call.id}"))
