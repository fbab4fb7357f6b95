"""Caches are bounded, and a full one drops what has not been used for the longest time, never everything."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from cachetools import LRUCache

from baton.adapters import routed_search
from baton.adapters.a2a import cards
from baton.adapters.aws import secrets
from baton.adapters.dynamodb.threads import run_records
from baton.adapters.egress import circuit_breaker, web_pages
from baton.adapters.models import model_calls
from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.profiles import known_profiles as profiles
from baton.adapters.routed_search import RoutedIndex
from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.moving import SqliteFiles
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.adapters.tools import header_values, python_tools, tool_listings
from baton.agents import context_budgets
from baton.authoring.functions import Functions
from baton.domain.agents.tool import McpServer, PythonTool
from baton.domain.documents.search import IndexDocument, IndexName
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.secret import SecretReference
from baton.memory.procedures import approved_procedures
from baton.memory.recall import procedure_matching
from baton.ports.threads.run_records import ContextRecord
from baton.tenants import removed_tenants, tenant_copies
from baton.tenants.registry import own_agents
from baton_testing.fakes.documents.embedder import DIMENSIONS, FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.fakes.objects import FakeS3
from tests.harness.harness import Harness
from tests.unit.memory.matching import procedure

LIBRARY = Path(__file__).parents[3] / "shared" / "baton"
BOUND = 8
SCHEMA: dict[str, Any] = {"type": "object"}
Use = Callable[[int], Awaitable[object]]


@dataclass(frozen=True)
class Cached:
    """The cache of a module: its bound, its owner, and what uses the entry of a number."""

    module: ModuleType
    bounds: tuple[str, ...]
    make: Callable[[], tuple[object, Use]]


def tenant(number: int) -> Scope:
    return Scope(f"tenant-{number}", "ada")


def make_moved_owners() -> tuple[object, Use]:
    files = OwnerFiles(IndexObjects(FakeS3(), "search"), is_alone=False)  # type: ignore[arg-type]
    index = RoutedIndex(SqliteFiles(files), SqliteIndex(files, DIMENSIONS), FakeSearchIndex())
    indexed = IndexDocument("a", "a", "message", {}, datetime(2026, 3, 14, tzinfo=UTC))
    return index, lambda number: index.put(tenant(number), IndexName.EPISODES, [indexed])


def make_approved() -> tuple[object, Use]:
    reader = Harness().app.procedures.approved
    return reader, lambda number: reader.of(tenant(number), "assistant")


def removals() -> tuple[object, Use]:
    removed = Harness().removed_tenants
    return removed, lambda number: removed.check(tenant(number))


def limits() -> tuple[object, Use]:
    reader = Harness().app.limits.current
    return reader, lambda number: reader.of(tenant(number))


def agents() -> tuple[object, Use]:
    reader = Harness().app.own_agents

    async def use(number: int) -> None:
        await reader.of(tenant(number))
        reader._older[f"tenant-{number}", "tutor", 1] = None

    return reader, use


def budgets() -> tuple[object, Use]:
    instance = Harness().app.agent_services.budgets

    async def use(number: int) -> None:
        if instance.limit("model", 50_000, f"thread-{number}") == 50_000:
            instance.learn("model", 10_000, f"thread-{number}")

    return instance, use


def make_known_profiles() -> tuple[object, Use]:
    instance = profiles.Profiles("api.example.com")

    async def use(number: int) -> None:
        existing = instance.of(f"model-{number}")
        instance.learn(f"model-{number}", replace(existing, alternates=True), existing)

    return instance, use


def insisting() -> tuple[object, Use]:
    instance = OpenAIChatModel(api_key="")

    async def use(number: int) -> None:
        instance._insistent_models[None, f"model-{number}"] = True

    return instance, use


def circuits() -> tuple[object, Use]:
    instance = circuit_breaker.CircuitBreakers()

    async def use(number: int) -> None:
        async with instance.guard(f"endpoint-{number}"):
            pass

    return instance, use


class AlwaysFresh:
    """``Freshness`` of lists that are never asked for again."""

    def must_ask(self, definition: Any) -> bool:
        return False

    def may_recover(self, definition: Any) -> bool:
        return False


def listings() -> tuple[object, Use]:
    async def ask(definition: Any) -> tuple[()]:
        return ()

    instance = tool_listings.Listings(ask)
    servers = [McpServer(type="mcp", name="files", url="https://example.com/mcp") for _ in range(8 * BOUND)]
    return instance, lambda number: instance.read(servers[number], AlwaysFresh())


def functions() -> tuple[object, Use]:
    instance = python_tools.PythonTools(Functions(lambda: ["json"]))
    tools = [
        PythonTool(
            type="python", name="dump", description="Dumps.", entry_point="json:dumps", parameters={"type": "object"}
        )
        for _ in range(8 * BOUND)
    ]
    return instance, lambda number: instance.list_tools(tools[number])


def hosts() -> tuple[object, Use]:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=b""))
    instance = web_pages.HttpPages(lambda *_: httpx.AsyncClient(transport=transport), pause_seconds=0)
    return instance, lambda number: instance.fetch(f"https://h{number}.example.com/", limit=1000)


def agent_cards() -> tuple[object, Use]:
    card = {"name": "Files", "description": "", "version": "1", "skills": [], "capabilities": {}}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=card))
    instance = cards.AgentCards()

    async def use(number: int) -> None:
        async with httpx.AsyncClient(transport=transport) as client:
            await instance.get(f"https://h{number}.example.com", client)

    return instance, use


class NamedSecrets(secrets.CachedSecrets):
    """Secrets whose values are their names."""

    def __init__(self) -> None:
        super().__init__(lambda: None)

    def _fetch(self, client: Any, name: str) -> str | None:
        return f"value of {name}"


def make_cached_secrets() -> tuple[object, Use]:
    instance = NamedSecrets()

    async def use(number: int) -> None:
        instance.get(f"secret-{number}")

    return instance, use


def headers() -> tuple[object, Use]:
    instance = header_values.HeaderValues(NamedSecrets(), NamedSecrets(), "dev")
    return instance, lambda number: instance.resolve({"Authorization": SecretReference(secret=f"secret-{number}")})


def make_stored_prompts() -> tuple[object, Use]:
    class IgnoringTable:
        async def put(self, item: Any) -> None:
            pass

    instance = run_records.DynamoContextRecords(IgnoringTable(), None)  # type: ignore[arg-type]
    return instance, lambda number: instance.put(
        tenant(0), "t", "r", ContextRecord({}, {f"digest-{number}": "Be kind."})
    )


def vectors() -> tuple[object, Use]:
    embedder = FakeEmbedder()
    instance = procedure_matching.ProcedureVectors(embedder)

    def use(number: int) -> Awaitable[object]:
        expected = procedure(f"about {number}")
        return instance.find_nearest(procedure_matching.ProcedureSet([expected]), embedder.vector("cats"))

    return instance, use


CACHES = [
    Cached(approved_procedures, ("MAX_KNOWN", "MAX_USERS"), make_approved),
    Cached(removed_tenants, ("MAX_TENANTS",), removals),
    Cached(tenant_copies, ("MAX_TENANTS",), limits),
    Cached(own_agents, ("MAX_TENANTS", "MAX_OLDER"), agents),
    Cached(context_budgets, ("MAX_CONVERSATIONS",), budgets),
    Cached(profiles, ("MAX_PROFILES", "MAX_LEARNED"), make_known_profiles),
    Cached(model_calls, ("MAX_PROFILES",), insisting),
    Cached(run_records, ("MAX_KNOWN_PROMPTS",), make_stored_prompts),
    Cached(circuit_breaker, ("MAX_CIRCUITS",), circuits),
    Cached(tool_listings, ("MAX_LISTINGS",), listings),
    Cached(python_tools, ("MAX_LOADED",), functions),
    Cached(web_pages, ("MAX_HOSTS",), hosts),
    Cached(cards, ("MAX_CARDS",), agent_cards),
    Cached(secrets, ("MAX_SECRETS",), make_cached_secrets),
    Cached(header_values, ("MAX_SECRETS",), headers),
    Cached(procedure_matching, ("MAX_KNOWN",), vectors),
    Cached(routed_search, ("MOVED_OWNERS",), make_moved_owners),
]
SIMPLE = {
    "adapters/a2a/signatures.py",
    "adapters/documents/document_reader.py",
    "adapters/dynamodb/threads/recent_histories.py",
    "adapters/tools/mcp.py",
    "adapters/tools/openapi_tools.py",
    "adapters/tokens/exchange.py",
    "turns/deliveries.py",
}
"""Modules that only get and set entries, and whose uses need a server, a process or a run. They have own tests."""


def caches_of(owner: object) -> list[LRUCache[Any, Any]]:
    """The caches that an object has, and those of its parts."""
    results = []
    for value in vars(owner).values():
        if isinstance(value, LRUCache):
            results.append(value)
        elif type(value).__module__.startswith("baton.") and hasattr(value, "__dict__"):
            results += caches_of(value)
    return results


@pytest.mark.parametrize("cached", CACHES, ids=lambda cached: cached.module.__name__)
async def test_a_full_cache_keeps_its_bound_and_what_was_used_last(
    cached: Cached, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bound in cached.bounds:
        monkeypatch.setattr(cached.module, bound, BOUND)
    owner, use = cached.make()
    await use(0)
    used = [(cache, dict(cache.items())) for cache in caches_of(owner) if cache]
    assert used
    for number in range(1, 6 * BOUND):
        await use(number)
        assert all(len(cache) <= BOUND for cache in caches_of(owner))
        await use(0)
    for cache, first in used:
        assert len(cache) == BOUND
        assert all(cache[key] is value for key, value in first.items())


async def test_only_secrets_that_were_used_last_are_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header_values, "MAX_SECRETS", BOUND)
    values = NamedSecrets()
    instance = header_values.HeaderValues(values, values, "dev")
    for number in range(6 * BOUND):
        for name in (f"secret-{number}", "steady"):
            await instance.resolve({"Authorization": SecretReference(secret=name)})
    text = " and ".join(f"value of {name}" for name in ("steady", f"secret-{6 * BOUND - 1}", "secret-0"))
    assert instance.redact(text) == "[secret] and [secret] and value of secret-0"
    assert instance.redact("value%20of%20steady") == "[secret]"


def test_each_cache_of_the_library_is_in_the_table() -> None:
    tested = {str(Path(str(cache.module.__file__)).relative_to(LIBRARY)) for cache in CACHES}
    assert tested.isdisjoint(SIMPLE)
    named = {name for name, tree in modules() if any(map(imports_cachetools, ast.walk(tree)))}
    assert named == tested | SIMPLE


def test_no_module_drops_entries_by_hand_because_a_container_is_full() -> None:
    assert {f"{name}: {what}" for name, tree in modules() for what in evictions(tree)} == set()


@pytest.mark.parametrize(
    "text",
    [
        "if len(self._known) >= MAX:\n    self._known.clear()",
        "if key not in self._known and len(self._known) > MAX:\n    self._known = {}",
        "if len(self._known) > MAX:\n    self._known = {key: kept for key, kept in self._known.items() if kept.busy}",
        "while len(self._known) > MAX:\n    self._known.popitem(last=False)",
        "while len(self._known) > MAX:\n    del self._known[next(iter(self._known))]",
        "while len(self._known) > MAX:\n    oldest = self._known.pop(next(iter(self._known)))",
    ],
)
def test_the_ways_to_empty_a_full_container_are_found(text: str) -> None:
    assert len(list(evictions(ast.parse(text)))) == 1


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(LIBRARY.rglob("*.py")):
        yield str(path.relative_to(LIBRARY)), ast.parse(path.read_text())


def imports_cachetools(node: ast.AST) -> bool:
    """Return whether the node imports from cachetools."""
    return isinstance(node, ast.ImportFrom) and node.module == "cachetools"


def find_called_name(node: ast.AST) -> str | None:
    """The name that a call has; None for what is not a call of a name."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def evictions(tree: ast.AST) -> Iterator[str]:
    """Yield operations on containers that remove entries of others where their length is compared."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.If | ast.While):
            continue
        measured = {
            ast.unparse(item.args[0])
            for item in ast.walk(node.test)
            if isinstance(item, ast.Call) and find_called_name(item) == "len"
        }
        for item in (inner for statement in node.body for inner in ast.walk(statement)):
            match item:
                case ast.Call(func=ast.Attribute(value, "clear" | "popitem" as method)):
                    removed = (value, method)
                case ast.Call(func=ast.Attribute(value, "pop"), args=[ast.Call(func=ast.Name("next")), *_]):
                    removed = (value, "pop")
                case ast.Delete(targets=[ast.Subscript(value=value, slice=ast.Call(func=ast.Name("next")))]):
                    removed = (value, "del")
                case ast.Assign(targets=[value], value=ast.Dict() | ast.DictComp() | ast.Set() | ast.SetComp()):
                    removed = (value, "=")
                case _:
                    continue
            if ast.unparse(removed[0]) in measured:
                yield f"{ast.unparse(removed[0])}.{removed[1]}"
