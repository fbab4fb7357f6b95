"""Every GET route of the API, asked for everything there is, and for a part of it with every value of every parameter.

The routes and their parameters come from the application itself: one that is new is asked too, and a parameter that
the sweep has no values for is an error that says so.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
from ag_ui.core import Message
from fastapi.routing import APIRoute
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from baton.domain.schedules.run_source import CauseKind
from baton.domain.tenants.identity import Permission
from tests.e2e.ag_ui_rules import check_ag_ui
from tests.e2e.problems import check_any_problem
from tests.unit.api.recorded import LIBRARY, RecordedHarness
from tests.unit.api.served import Served, openapi

Json = dict[str, Any]
Query = dict[str, str]

MESSAGES: TypeAdapter[Any] = TypeAdapter(Message)
UNKNOWN_ID = "6b1f0c7e-1111-4222-8333-444455556666"
NOT_BEGUN = "6b1f0c7e-1111-5222-8333-444455556666"
"""A UUID of the version that begins no conversation."""
WRONG_TIMES = ["", "x", "2026-01-01", "2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "1969-12-31T23:59:59Z"]
WRONG_IDS = (UNKNOWN_ID, NOT_BEGUN, "never-begun", "x" * 257, "\x01", "\U0001f600", "~", "..x", "null")
WRONG_NUMBERS = ("0", "-1", "x", "9" * 20)
ROLES = ("user", "assistant", "tool")
ROLE_CHOICES = [",".join(some) for count in (1, 2, 3) for some in itertools.combinations(ROLES, count)]
WRONG_ROLES = ("", ",", "system", "context", "user,", "User", "user,nobody", "tool," * 20 + "tool", "\x00")
WRONG_CURSORS = ("garbage", "e30", "x" * 512, "x" * 513, "bnVsbA", "\U0001f600", "MTIz", "-1")
TEXTS = ("nothing-like-it", "\U0001f600", "'\"#%", "")
ONE_IN = 6
"""Of what is there, one in so many is asked for in every way. The first one differs from route to route."""
CALLERS: dict[str, tuple[str, tuple[str, ...]] | None] = {
    "the user": ("ada", ()),
    "the user, who may do everything": ("ada", tuple(Permission)),
    "a reader": ("boss", (Permission.THREAD_READ_ALL, Permission.AUDIT_READ)),
    "an approver": ("carl", (Permission.TOOL_APPROVE,)),
    "a stranger": ("eve", ()),
    "nobody": None,
}


@dataclass
class Sweep:
    """Requests to a served harness that has been ``recorded``, and what was checked of the answers."""

    served: Served
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Answers by route and status."""

    def __post_init__(self) -> None:
        assert isinstance(self.served.harness, RecordedHarness)
        self.harness = self.served.harness
        self.document = openapi()
        self._validators: dict[str, Draft202012Validator] = {}
        self.routes = {
            path: results["get"]
            for path, results in self.document["paths"].items()
            # A2A's HTTP+JSON binding has errors of another kind: see ``test_a2a_rest``.
            if "get" in results and not re.match(r"/a2a/(\{agent_id\}/)?v1/", path)
        }

    @property
    def undocumented(self) -> list[str]:
        """GET routes that the OpenAPI document leaves out."""
        routes = [route for route in self.served.app.routes if isinstance(route, APIRoute) and "GET" in route.methods]
        assert len(routes) > len(self.routes)
        return [route.path for route in routes if not route.include_in_schema]

    async def ask_everything(self) -> None:
        """Ask every route for everything, with the most permissions, and partly with all values of parameters."""
        async with self._client("the user, who may do everything") as client:
            for number, route in enumerate(self.routes):
                right, wrong = list(self._queries(route, wrong=False)), list(self._queries(route, wrong=True))
                there, _ = await self._paths(client, route)
                some = _one_in(ONE_IN, number, there)
                for path in there:
                    queries: list[tuple[Query, dict[str, str]]] = right if path in some else [({}, {})]
                    for query, headers in [*queries, *(wrong if path == there[0] else [])]:
                        await self._ask(client, route, path, query, headers)

    async def ask_as(self, caller: str) -> None:
        """Ask every route as somebody else: for some of what is there, and for what is not there."""
        async with self._client("the user, who may do everything") as client:
            paths = {route: await self._paths(client, route) for route in self.routes}
        async with self._client(caller) as client:
            for number, (route, (there, others)) in enumerate(paths.items()):
                for path in [*_one_in(ONE_IN, number, there), *others]:
                    await self._ask(client, route, path, {}, {})

    async def answers_to(self, user: str, *permissions: str) -> AsyncIterator[tuple[str, str]]:
        """Yield the addresses of all that is there, and what a user of the tenant gets from each."""
        async with self._client("the user, who may do everything") as client:
            paths = {route: (await self._paths(client, route))[0] for route in self.routes}
        for route, there in paths.items():
            is_scoped = any(parameter["name"] == "scope" for parameter in self._parameters(route))
            for path, query in itertools.product(there, [{}, {"scope": "tenant"}] if is_scoped else [{}]):
                async with self._client_of(user, *permissions) as client:
                    yield path, (await client.get(path, params=query)).text

    async def ask_without_parameters(self) -> None:
        """Ask every route for everything that exists, with the most permissions."""
        async with self._client("the user, who may do everything") as client:
            for route in self.routes:
                for path in (await self._paths(client, route))[0]:
                    await self._ask(client, route, path, {}, {})

    async def page_through(self, limit: int, *, one_in: int = 1) -> int:
        """Follow one in ``one_in`` lists of a route from page to page to its end, for each choice of what it lists.

        Returns how many lists of conversations had a second page.
        """
        long = 0
        async with self._client("the user, who may do everything") as client:
            for number, route in enumerate(self.routes):
                names = {parameter["name"] for parameter in self._parameters(route)}
                if "cursor" not in names or route.endswith(("export", "/overview", "/usage")):
                    continue  # an export says itself where to continue, and sums have no items
                choices: list[Query] = [{}]
                choices += [{"roles": roles} for roles in ("tool", ",".join(ROLES))] if "roles" in names else []
                choices += [{"scope": "tenant"}] if "scope" in names else []
                there, _ = await self._paths(client, route)
                for path, choice in itertools.product(_one_in(one_in, number, there), choices):
                    pages = await self._page_through(client, route, path, {**choice, "limit": str(limit)})
                    long += pages > 1 and "{thread_id}" in route
        return long

    async def _page_through(self, client: httpx.AsyncClient, route: str, path: str, query: Query) -> int:
        """Return the number of pages."""
        pages = 0
        seen: list[str] = []
        whole = await self._ask(client, route, path, {**query, "limit": "100"}, {})
        cursor: str | None = ""
        while cursor is not None:
            answer = await self._ask(client, route, path, query | ({"cursor": cursor} if cursor else {}), {})
            if answer.status_code != 200:
                return pages
            pages += 1
            page = [_id(item) for item in _list_entries(answer)]
            seen = page + seen if route.endswith(("/messages", "/episodes/{episode_id}")) else seen + page
            cursor = answer.json()["nextCursor"]
        if whole.json()["nextCursor"] is None:
            listed = [_id(item) for item in _list_entries(whole)]
            if route.endswith("/audit"):  # a look at another user's thread is in its audit by the next look
                assert set(listed) <= set(seen), (path, query)
            else:
                assert seen == listed, (path, query)
        return pages

    async def _ask(
        self, client: httpx.AsyncClient, route: str, path: str, query: Query, headers: dict[str, str]
    ) -> httpx.Response:
        answer = await client.get(path, params=query, headers=headers)
        request = f"GET {path} {query} {headers}: {answer.status_code} {answer.text[:500]}"
        assert answer.status_code < 500, request
        declared = self.routes[route]["responses"].get(str(answer.status_code))
        assert declared is not None, f"not declared: {request}"
        self.statuses[route, answer.status_code] += 1
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in declared["content"], request
        if answer.status_code >= 400:
            problem = check_any_problem(answer)
            assert problem["code"] in declared["content"][kind]["examples"], f"not declared: {request}"
            self._check_schema(declared["content"][kind]["schema"], problem, request)
        elif kind == "text/event-stream":
            for event in (json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: ")):
                check_ag_ui(event)
        elif kind == "application/jsonl":
            assert all(isinstance(json.loads(line), dict) for line in answer.text.splitlines()), request
        elif kind == "text/markdown":
            self._check_schema(declared["content"][kind]["schema"], answer.text, request)
        else:
            self._check_schema(declared["content"][kind]["schema"], answer.json(), request)
            if route.endswith("/messages"):
                _check_messages(answer.json()["items"])
        return answer

    def _validator(self, schema: Json) -> Draft202012Validator:
        """Return the validator of a schema, made once: it looks for the targets of references in the whole document."""
        key = json.dumps(schema)
        if key not in self._validators:
            whole = {**schema, "components": self.document["components"]}
            self._validators[key] = Draft202012Validator(whole)
        return self._validators[key]

    def _check_schema(self, schema: Json, body: Json, question: str) -> None:
        problems = [error.message for error in self._validator(schema).iter_errors(body)]
        assert problems == [], question

    def _parameters(self, route: str) -> list[Json]:
        results: list[Json] = self.routes[route].get("parameters", [])
        return results

    async def _paths(self, client: httpx.AsyncClient, route: str) -> tuple[list[str], list[str]]:
        """Return the route's path for everything that is there, and with ids of what is not there."""
        names = re.findall(r"{(\w+)}", route)
        threads = list(self.harness.threads.values())
        there: list[tuple[str, ...]] = []
        others: list[tuple[str, ...]] = [(wrong_id,) for wrong_id in WRONG_IDS]
        match names:
            case []:
                return [route], []
            case ["thread_id"]:
                there = [(thread,) for thread in threads]
            case ["user_id"]:
                there = [(value,) for value in ("me", "ada", "bob")]
            case ["request_id"]:
                started = (await client.delete("/v1/users/me/memory")).json()
                there = [(started["requestId"],)]
            case ["agent_id"]:
                there = [
                    (value,)
                    for value in (
                        "tutor",
                        "left",
                        *(shipped_agent.id for shipped_agent in self.harness.shipped_agents.all()),
                    )
                ]
            case ["agent_id", "number"]:
                there = [(agent_id, value) for agent_id in ("tutor", "left", "assistant") for value in ("1", "2", "3")]
                others = [(wrong_id, "1") for wrong_id in WRONG_IDS] + [
                    ("tutor", wrong_number) for wrong_number in WRONG_NUMBERS
                ]
            case ["agent_id", "document_id" | "source_id" | "procedure_id" as kind]:
                instance = {
                    "document_id": self.harness.documents_made,
                    "source_id": self.harness.sources_made,
                    "procedure_id": self.harness.procedures_made,
                }
                there = [("assistant", value) for value in instance[kind]]
                others = [("assistant", wrong_id) for wrong_id in WRONG_IDS]
            case ["agent_id", "library"]:
                there = [("assistant", LIBRARY)]
                others = [("assistant", wrong_id) for wrong_id in WRONG_IDS]
            case ["episode_id"]:
                episodes = (await client.get("/v1/episodes", params={"limit": 100})).json()["items"]
                there = [(episode["id"],) for episode in episodes]
            case ["evaluation_id"]:
                listed = await client.get("/v1/evaluations", params={"limit": 100})
                there = [(item["id"],) for item in listed.json().get("items", [])]
            case ["schedule_id"]:
                there = [(schedule_id,) for schedule_id in self.harness.schedules_made]
            case ["thread_id", "branch_id"]:
                there = [(thread, "b0") for thread in threads]
                others = [(threads[0], wrong_id) for wrong_id in WRONG_IDS]
            case ["thread_id", "run_id" | "task_id" as kind]:
                lists, field = {"run_id": ("turns", "runId"), "task_id": ("tasks", "taskId")}[kind]
                for thread_id in threads:
                    listed = await client.get(f"/v1/threads/{quote(thread_id, safe='')}/{lists}", params={"limit": 100})
                    there += [(thread_id, item[field]) for item in listed.json().get("items", [])]
                others = [(threads[0], wrong_id) for wrong_id in WRONG_IDS]
            case _:
                raise AssertionError(f"{route} has a path parameter of a new kind: tell the sweep its values.")
        filled = [[_fill(route, dict(zip(names, value, strict=True))) for value in some] for some in (there, others)]
        return filled[0], filled[1]

    def _queries(self, route: str, *, wrong: bool) -> Iterator[tuple[Query, dict[str, str]]]:
        """No parameters, and every right value of each, or every wrong one; what is listed also with a limit."""
        if not wrong:
            yield {}, {}
        for parameter in self._parameters(route):
            if parameter["in"] == "path":
                continue
            for value in self._values(route, parameter)[wrong]:
                if parameter["in"] == "header":
                    yield {}, {parameter["name"]: value}
                else:
                    yield {parameter["name"]: value}, {}
                    if parameter["name"] in ("roles", "scope"):
                        yield {parameter["name"]: value, "limit": "1"}, {}

    def _values(self, route: str, parameter: Json) -> tuple[list[str], list[str]]:
        """Valid values of the parameter, and values that are invalid or find nothing."""
        schema = parameter["schema"]
        for value in [schema, *schema.get("anyOf", [])]:
            kind = self._component(value.get("items", value))
            if "enum" in kind or "const" in kind:
                return kind.get("enum", [kind.get("const")]), ["nonsense", ""]
            if kind.get("type") == "integer":
                low, high = kind["minimum"], kind["maximum"]
                wrong = [*map(str, (low - 1, high + 1, 10**30)), "", "x", "1.5", "true", "\u0661"]
                return [str(low), str(low + 3), str(high)], wrong
        match parameter["name"]:
            case "roles":
                return ROLE_CHOICES, ["tool,user,assistant", "user,user", *WRONG_ROLES]
            case "cursor":
                return [], list(WRONG_CURSORS)
            case "threadId" | "parentThreadId":
                return list(self.harness.threads.values()), list(WRONG_IDS)
            case "q":
                return ["hello", "H", "nothing-like-it"], ["", " ", "x" * 101]
            case "status":
                return ["dead"], ["nonsense", ""]
            case "deskId":
                return ["support"], ["nowhere", "x" * 65]
            case "agentId":
                return ["assistant", "librarian"], ["", "x" * 65]
            case "month":
                return ["2040-03", "2039-12"], ["2040-13", "2040-3", "March", ""]
            case "hasError" | "hasFeedback":
                return ["true", "false"], ["", "x", "2"]
            case "minCost":
                return ["0"], ["", "x", "-1", "nan", "inf", "1e13", "0.5"]
            case "from" | "to":
                return ["2026-01-01T00:00:00Z", "2999-12-31T23:59:59.999+14:00"], WRONG_TIMES
            case "state":
                return ["DONE", "done"], [*TEXTS, "x" * 65]
            case "action":
                return ["thread.read", "tool.approve", "handoff", "agent.consult"], [*TEXTS, "x" * 65]
            case "outcome":
                return ["denied", "closed", "refused"], [*TEXTS, "x" * 65]
            case "branch":
                return [], [*TEXTS, "b7", "x" * 33]
            case "userId":
                if route == "/v1/schedules/{schedule_id}":
                    return ["ada"], ["bob", "x" * 257, "\x01", "me"]
                return ["ada", "bob"], [*TEXTS, "x" * 257]
            case "If-None-Match":
                return ['"a card"'], ["", ",", "W/", "x" * 1_000]
            case "last-event-id":
                return ["0", "3"], ["999999999999", "x", "", "-1", "1" * 13]
            case "protocolVersion":
                return ["1.0", "0.0.59"], [*TEXTS, "x" * 17]
        raise AssertionError(f"{route} has the new parameter {parameter['name']}: tell the sweep its values.")

    def _component(self, schema: Json) -> Json:
        """The schema that a reference is to, or the schema itself."""
        name = schema.get("$ref", "").rpartition("/")[2]
        result: Json = self.document["components"]["schemas"][name] if name else schema
        return result

    def _client(self, caller: str) -> httpx.AsyncClient:
        who = CALLERS[caller]
        return self._client_of(who[0], *who[1]) if who is not None else self._client_of(None)

    def _client_of(self, user: str | None, *permissions: str) -> httpx.AsyncClient:
        token = ",".join([self.harness.ada.tenant_id, user, *permissions]) if user is not None else None
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.served.app, raise_app_exceptions=False),
            base_url="http://baton.test",
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )


def _one_in(step: int, number: int, paths: list[str]) -> list[str]:
    """One in ``step`` paths, from another one on for each ``number``, and at least one if there are any."""
    return paths[number % step :: step] or paths[:1]


def _fill(route: str, values: Query) -> str:
    for name, value in values.items():
        route = route.replace(f"{{{name}}}", quote(value, safe=""))
    return route


def _id(item: Json) -> str:
    if "id" in item and "version" in item:
        return f"{item['id']}@{item['version']}"
    return str(item.get("id") or item.get("threadId") or item.get("taskId") or item.get("runId") or item["version"])


def _list_entries(answer: httpx.Response) -> list[Json]:
    """The entries of a page; of an episode, its messages; of a procedure, its versions."""
    page = answer.json()
    listed: list[Json] = next(page[name] for name in ("items", "messages", "versions") if name in page)
    return listed


def _check_messages(items: list[Json]) -> None:
    """AG-UI's own models take them, but for Baton's role of what nobody has written, and what is absent is left out."""
    for item in items:
        if item["role"] == "event":
            assert item["metadata"]["source"]["kind"] in set(CauseKind), item
        else:
            MESSAGES.validate_python(item, by_name=False)
        assert None not in item.values(), item
