"""Nothing that runs beside its caller is lost sight of: each task and each group of steps is awaited."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

BACKGROUND = "shared/baton/failures/reports.py"
AWAITED = {
    "shared/baton/concurrency/deferred_tasks.py": "DeferredTasks.finish and DeferredTasks.stop",
    "shared/baton/concurrency/tasks.py": "waits for the steps that it begins",
    "shared/baton/adapters/aws/sqs.py": "SqsRecords.hidden waits for the end of the extensions",
    "shared/baton/adapters/models/embedding_calls.py": "a TaskGroup",
    "shared/baton/agents/code/coroutine_agent.py": "CoroutineAgent waits for the coroutine, and cancels what is left",
    "shared/baton/agents/code/coroutine_steps.py": "gather_all, and CoroutineAgent cancels what is left",
    "shared/baton/agents/calls/hooked_calls.py": "HookedCalls.judge waits for the verdicts, and cancels what is left",
    "shared/baton/agents/guardrails/hooks.py": "run_unless_stopped waits for the verdict, and cancels it with the run",
    "shared/baton/agents/calls/progress.py": "ProgressIndicator.__aexit__",
    "shared/baton/agents/guardrails/screening.py": "Screening waits for what it begins, and cancels what is left",
    "shared/baton/agents/calls/tool_calls.py": "ToolCalls.carry_out waits for its jobs, and raises their failures",
    "shared/baton/memory/episodes/episode_digest.py": "a TaskGroup",
    "shared/baton/memory/early_recall.py": "Recall waits until its deadline, and cancels what is left",
    "shared/baton/memory/recall/recall.py": "Recall waits until its deadline, and notes failures that come later",
    "shared/baton/agents/text_batches.py": "read_batches stops its own, yield_batches raises its failure",
    "shared/baton/authoring/resources.py": "OpenResources.use awaits what opens a resource",
    "shared/baton/turns/lease_keeper.py": "LeaseKeeper.__aexit__ raises the failure",
    "shared/baton/turns/run.py": "RunExecution.execute stops its steps",
    "baton_local/demo_model/likeness.py": "EncoderLikeness.compare waits for the vectors, and cancels what is late",
    "baton_local/demo_model/sentence_encoder.py": "a TaskGroup",
    "baton_local/engines/queues/engine.py": "_unless_gone stops both",
    "baton_local/gateway/fair_gate.py": "nobody: it only measures, and ends with the last request",
    "baton_local/gateway/websocket.py": "SocketGateway._serve stops its tasks, and raises their failures",
    "baton_testing/evals/evaluation.py": "a TaskGroup",
}
"""Modules that begin tasks themselves, and who awaits these."""

ROOT = Path(__file__).parents[3]
PROGRAMS = ("shared", "functions", "baton_deployment", "baton_local", "baton_project", "baton_testing")


def calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """Return the module and the node of each call of an attribute or function with one of the names."""
    for program in PROGRAMS:
        for path in sorted((ROOT / program).rglob("*.py")):
            text = path.read_text()
            if not any(name in text for name in names):
                continue
            for node in ast.walk(ast.parse(text)):
                match node:
                    case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in names:
                        yield path.relative_to(ROOT).as_posix(), node


def test_steps_are_gathered_by_what_awaits_them_all() -> None:
    """``asyncio.gather`` returns at the first failure or cancellation, and leaves the other steps behind."""
    assert [module for module, _ in calls("gather")] == []


def test_tasks_that_nobody_awaits_are_begun_where_their_failures_are_noticed() -> None:
    """A new module here either begins its task by ``in_background``, or names who awaits the task."""
    modules = {module for module, _ in calls("create_task", "ensure_future", "run_coroutine_threadsafe")}
    assert modules - {BACKGROUND, "shared/baton/composition/startup/event_loop.py"} == AWAITED.keys()
