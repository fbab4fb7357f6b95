"""A user who talks to agents over any stores, whose workers die, and what the user's client makes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from baton.composition.app import build
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from tests.contracts.stores import Stores
from tests.e2e.ag_ui_rules import check_ag_ui, check_run
from tests.fakes.chat_model import ScriptedChatModel
from tests.fakes.ports import FakePorts

LONGER_THAN_A_LEASE = 31.0
FAULTY = ("store", "log", "records", "handoffs", "workflows", "procedures", "episodes")
"""The stores whose calls meet a worker's fault."""


@dataclass
class NextFault:
    """A fault of one of a worker's calls of a store."""

    kind: str = "none"
    """``unavailable``: the call has no effect; ``lost answer``: it has one, but no answer comes; ``dead``: no
    call comes to anything any more; ``taken over``: another worker finishes the run before this one goes on."""
    calls: int = 0
    """Calls before that."""
    take_over: Callable[[], Awaitable[None]] | None = None
    happened: bool = False

    def clear(self) -> None:
        """Make all calls succeed again."""
        self.kind, self.calls, self.happened = "none", 0, False

    async def call(self, name: str, really: Callable[[], Awaitable[Any]]) -> Any:
        """Make the call ``name``, or raise the fault if it is due."""
        self.calls -= 1
        if self.kind == "none" or self.calls >= 0:
            return await really()
        if self.kind == "dead":
            self.happened = True
            raise StoreUnavailable
        kind, self.kind, self.happened = self.kind, "none", True
        if kind == "taken over" and self.take_over is not None:
            await self.take_over()
        if kind != "unavailable":
            result = await really()
        if kind != "taken over":
            raise StoreUnavailable
        return result


class _Faulty:
    """A store whose calls may fail."""

    def __init__(self, store: Any, fault: NextFault) -> None:
        self._store, self._fault = store, fault

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._fault.call(name, lambda: method(*args, **kwargs))

        return call


class Worker:
    """Turns and closings over real stores; with a ``fault``, not always to the end."""

    def __init__(
        self, stores: Stores, shipped_agents: FakeShippedAgents, model: ScriptedChatModel, fault: NextFault | None
    ) -> None:
        def faulty(store: Any) -> Any:
            return _Faulty(store, fault) if fault is not None else store

        ports = FakePorts.from_stores(
            stores,
            shipped_agents=shipped_agents,
            model=model,
            **{name: faulty(getattr(stores, name)) for name in FAULTY},
        )
        app = build(ports)
        self.turns, self.closer, self.endings, self.replays = app.turns, app.closer, app.sessions.endings, app.replays


@dataclass
class Screen:
    """A client's view of one thread: it applies the events that follow the last one it has seen."""

    seq: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """The text of agents, by message."""
    _run_id: str = ""
    _of_run: list[str] = field(default_factory=list)

    def show(self, events: tuple[Event, ...]) -> None:
        """Apply the events. Numbers grow by one, but where a worker that died has left a jump."""
        for event in events:
            check_ag_ui(event.body)
            metadata = event.body["metadata"]
            jump = metadata.get("previousSeq")
            assert event.seq is not None
            assert event.seq == self.seq + 1 or (jump is not None and jump <= self.seq < event.seq), event
            self.seq = event.seq
            self._apply(event.body)

    def _apply(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "RUN_STARTED":
                if event["runId"] == self._run_id:  # of what the previous attempt has said, nothing counts
                    self.texts = {name: text for name, text in self.texts.items() if name not in self._of_run}
                self._run_id, self._of_run = event["runId"], []
            case "STATE_SNAPSHOT":
                self.state = dict(event["snapshot"])
            case "STATE_DELTA":
                for change in event["delta"]:
                    assert change["op"] == "replace", change
                    name = change["path"].removeprefix("/")
                    assert name in self.state, change
                    self.state[name] = change["value"]
            case "TEXT_MESSAGE_START":
                assert event["messageId"] not in self.texts
                self.texts[event["messageId"]] = ""
                self._of_run.append(event["messageId"])
            case "TEXT_MESSAGE_CONTENT":
                self.texts[event["messageId"]] += event["delta"]
            case "CUSTOM":
                if event["name"] == "thread_closed" and self.state:
                    self.state["status"] = "closed"


def check_whole(events: list[Event]) -> None:
    """Check the events that a turn's caller got: those of any failed attempts, then those of a whole run."""
    bodies = [event.body for event in events if event.seq is not None]
    begins = [index for index, body in enumerate(bodies) if body["type"] == "RUN_STARTED"]
    last = bodies[begins[-1] :]
    if last[-1].get("code") == "interrupted":
        types = [body["type"] for body in last]
        assert types == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_ERROR"]  # given up: nobody was asked
        return
    check_run(last, attempt=last[0]["metadata"]["attempt"])


def with_permissions(scope: Scope, *permissions: str) -> Scope:
    """The user, with permissions."""
    return Scope(scope.tenant_id, scope.user_id, frozenset(permissions))
