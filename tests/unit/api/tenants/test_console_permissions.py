"""No request of the console is answered with data to a token that lacks one of the permissions it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from baton.domain.tenants.identity import Permission
from baton_local import web
from tests.unit.api.console_calls import CALLS, Call
from tests.unit.api.recorded import LIBRARY, RecordedHarness
from tests.unit.api.served import Served, openapi
from tests.unit.api.sweep import UNKNOWN_ID

SOURCES = web.SOURCES / "console" / "src"
EVERYTHING = frozenset(Permission)
PROBLEM = {"type", "title", "status", "detail", "code", "retryable", "requestId", "permission"}
REFUSED = [(call, missing) for call in CALLS for missing in call.needs]
ARRAY = re.compile(r"(?<!hrefOf\()(?<!const NAMES = )\[((?:[^\[\]]|\[[^\[\]]*\])*)\]")
HELPER = re.compile(r"const (\w+) = \([^)]*\)[^=]*=> \[([^\]]*)\]")


@pytest.fixture(scope="module")
async def served() -> Served:
    """A tenant with conversations of ada's, agents, procedures and documents."""
    harness = RecordedHarness()
    await harness.add_documents()
    await harness.add_procedures()
    await harness.add_agents()
    await harness.calls()
    await harness.at_desks()
    await harness.add_dead_deliveries()
    await harness.add_schedules()
    return Served(harness)


def is_described(call: Call) -> bool:
    return call.method.lower() in openapi()["paths"].get(f"/v1{call.path}", {})


def path_of(served: Served, call: Call) -> str:
    harness = served.harness
    assert isinstance(harness, RecordedHarness)
    of_assistant = re.search("documents|libraries|sources|procedures|knowledge", call.path)
    values = {
        "thread_id": harness.threads["waiting at a desk" if "/desk" in call.path else "calls"],
        "run_id": UNKNOWN_ID,
        "task_id": UNKNOWN_ID,
        "agent_id": "assistant" if of_assistant else "tutor",
        "number": "1",
        "procedure_id": harness.procedures_made[0],
        "document_id": harness.documents_made[1],
        "library": LIBRARY,
        "source_id": harness.sources_made[0],
        "user_id": harness.ada.user_id,
        "request_id": UNKNOWN_ID,
        "delivery_id": harness.deliveries_made[0],
        "schedule_id": harness.schedules_made[1],
    }
    return re.sub(r"\{(\w+)\}", lambda value: values[value[1]], call.path)


async def request(served: Served, call: Call, permissions: frozenset[str]) -> httpx.Response:
    async with served._client("boss", *permissions) as client:
        path = path_of(served, call) + (f"?{call.query}" if call.query else "")
        headers = {"If-Match": call.if_match} if call.if_match else {}
        if call.path.endswith("/events"):
            headers["Last-Event-ID"] = "0"
        return await client.request(call.method, path, json=call.body, headers=headers)


@pytest.mark.parametrize(("call", "missing"), REFUSED, ids=lambda entry: str(entry))
async def test_without_one_of_its_permissions_a_request_gets_no_data(served: Served, call: Call, missing: str) -> None:
    if not is_described(call):
        assert not any(matches(call.path, result) for result in list_paths()), "the console asks for what is not there"
        return
    answer = await request(served, call, EVERYTHING - {missing})
    assert answer.status_code in (403, 404), answer.text[:300]
    assert set(answer.json()) <= PROBLEM, answer.text[:300]


async def test_with_all_of_its_permissions_each_request_is_let_through(served: Served) -> None:
    for call in CALLS:
        if is_described(call) and UNKNOWN_ID not in path_of(served, call) and not call.path.endswith("/events"):
            answer = await request(served, call, EVERYTHING)
            refusals = (401, 403, 404) if call.is_there else (401, 403)
            assert answer.status_code not in refusals, f"{call}: {answer.text[:300]}"


async def test_without_the_permission_of_authors_an_agent_has_no_prompt(served: Served) -> None:
    for path in ("/agents", "/agents/tutor"):
        answer = await served.get(path, *(EVERYTHING - {Permission.AGENT_WRITE}), user="boss")
        assert answer.status_code == 200
        assert "Ask" not in answer.text
        assert "prompt" not in answer.text.lower()


def test_every_request_of_the_console_is_in_the_table() -> None:
    requests = set(list_paths())
    assert len(requests) >= 15
    for request in requests:
        assert any(matches(call.path, request) for call in CALLS), f"{request} is not in console_calls.py"


def list_paths() -> Iterator[str]:
    """The paths that the console's sources make up of segments, ``{}`` for each that is not literal."""
    roots = {call.path.split("/")[1] for call in CALLS}
    for file in SOURCES.rglob("*.ts"):
        source = file.read_text()
        for name, segments in HELPER.findall(source):
            source = re.sub(rf"\.\.\.{name}\([^)]*\)", segments, source)
        for listed in ARRAY.findall(source) if re.search(r"\bapi\b", source) else ():
            segments = [part.strip() for part in re.sub(r"\([^()]*\)", "", listed).split(",") if part.strip()]
            is_path = segments and segments[0].startswith('"') and segments[0].strip('"') in roots
            if is_path and all(re.fullmatch(r'"[\w.-]+"|[\w.#]+', segment) for segment in segments):
                yield "/" + "/".join(segment.strip('"') if segment.startswith('"') else "{}" for segment in segments)


def matches(path: str, result: str) -> bool:
    """Return whether a path of the table matches a path of the console. A parameter matches any segment."""
    path_segments, result_segments = path.split("/"), result.split("/")
    return len(path_segments) == len(result_segments) and all(
        one == other or other == "{}" or one.startswith("{")
        for one, other in zip(path_segments, result_segments, strict=True)
    )
