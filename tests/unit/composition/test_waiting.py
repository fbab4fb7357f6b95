"""A worker is paid while it sleeps, so each function that sleeps has its reason here.

None waits for another worker only to send what that one can send.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CALLER = "a caller waits for the answer"
STREAM = "a client reads the events as they come"
AGAIN = "what was refused is tried again, after a pause that grows or is random"
PACE = "the other side is asked only so often"
SLEEPS = {
    "adapters/a2a/peer.py: _poll": "a remote agent works at the answer, and does not stream",
    "adapters/aws/direct_calls.py: _send_until": AGAIN,
    "adapters/aws/supervisor.py: carry_out": AGAIN,
    "adapters/dynamodb/table.py: pace_attempts": AGAIN,
    "adapters/dynamodb/table.py: get_many": AGAIN,
    "adapters/dynamodb/table.py: transact": AGAIN,
    "adapters/egress/pool.py: sleep": "the sleep of the library that connects",
    "adapters/models/embedding_calls.py: _embed_with_retries": AGAIN,
    "adapters/models/embedding_pace.py: wait_for_pause_end": PACE,
    "adapters/models/model_calls.py: stream": AGAIN,
    "adapters/opensearch/engine.py: pause": AGAIN,
    "adapters/opensearch/readiness.py: complete": "a deployment waits for a domain that it has made",
    "adapters/opensearch/reindexing.py: _embed": PACE,
    "adapters/sqlite_index/owner_files.py: _write": AGAIN,
    "adapters/opensearch/reindexing.py: let_writers_end": "an operator's command waits for workers that it cannot see",
    "adapters/egress/web_pages.py: _get_when_free": PACE,
    "agents/calls/progress.py: _send_updates": "a notice for the user, while the run waits for agents",
    "api/desks/desk_events.py: _make_frames": STREAM,
    "api/a2a/handler.py: _stop_run": CALLER,
    "api/a2a/updates.py: follow": STREAM,
    "api/a2a/push.py: _let_thread_notify": CALLER,
    "api/a2a/sending.py: _wait_until_begun": CALLER,
    "tenants/registry/agent_editing.py: read_state": AGAIN,
    "tenants/spending_limits.py: _reserve": "calls in progress give back what they have reserved and not spent",
    "threads/leases.py: acquire_when_free": "only the holder goes on, and a caller or a record has some seconds",
    "threads/outbox/connection_sender.py: _pause": AGAIN,
    "threads/outbox/follow.py: follow": STREAM,
    "entry/jobs/pipeline_admission.py: _pause": AGAIN,
    "entry/jobs/search_move.py: take": "an operator's command waits for the end of the claim of one that was killed",
    "tenants/privacy/forgetting.py: _cancel": "a run is given some seconds to stop, before its lease is taken away",
    "threads/sessions/importing.py: _put": AGAIN,
    "turns/turns.py: _wait_until_free": CALLER,
    "turns/turns.py: acquire": "only the holder of the lease may go on, and the caller has some seconds",
}


def test_each_function_that_sleeps_has_a_reason() -> None:
    paths = sorted((ROOT / "shared" / "baton").rglob("*.py")) + sorted((ROOT / "functions").rglob("*.py"))
    results = {f"{_name(path)}: {sleeper}" for path in paths for sleeper in find_sleepers(ast.parse(path.read_text()))}
    assert results == SLEEPS.keys()


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("async def look():\n    while True:\n        await asyncio.sleep(1)", ["look"]),
        ("async def look(self):\n    for _ in range(30):\n        await self._sleep(PAUSE)", ["look"]),
        ("def looking():\n    async def look():\n        await sleep(PAUSE)\n    return look", ["look"]),
        ("async def other_tasks_first():\n    while True:\n        await asyncio.sleep(0)", []),
    ],
)
def test_functions_that_sleep_are_found(text: str, places: list[str]) -> None:
    assert list(find_sleepers(ast.parse(text))) == places


def _name(path: Path) -> str:
    library = ROOT / "shared" / "baton"
    return str(path.relative_to(library if path.is_relative_to(library) else ROOT))


def find_sleepers(tree: ast.AST, within: str = "") -> Iterator[str]:
    """The functions that sleep. One that only gives other tasks a turn does not."""
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else within
        match node:
            case ast.Call(args=[ast.Constant(value=0)]):
                pass
            case ast.Call(func=ast.Attribute(attr="sleep" | "_sleep") | ast.Name(id="sleep")):
                yield within
        yield from find_sleepers(node, inner)
