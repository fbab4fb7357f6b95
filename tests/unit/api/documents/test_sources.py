"""Sources over HTTP: who may, what is accepted, and that a repeated request changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from baton.domain.documents.source import SourceRules
from baton.domain.tenants.egress_policy import EgressPolicy
from baton.domain.tenants.identity import Scope
from tests.fakes.sources import FakeSources
from tests.harness.harness import Harness
from tests.unit.api.served import Served

WRITE = "document:write"
ID = f"src_{'0' * 31}1"
SITEMAP = {"kind": "sitemap", "url": "https://docs.example.com/sitemap.xml"}
RULES = SourceRules(EgressPolicy.of(["docs.example.com"]), ("manuals/{tenant}/", "shared/a/{tenant}/b/"))


@pytest.fixture
def served() -> Served:
    return Served(Harness(source_rules=RULES))


def records(served: Served) -> FakeSources:
    store = served.harness.sources
    assert isinstance(store, FakeSources)
    return store


async def add(served: Served, body: dict[str, Any], *, agent: str = "assistant") -> httpx.Response:
    return await served.post(f"/agents/{agent}/sources", body, WRITE)


async def add_source(served: Served, body: dict[str, Any]) -> dict[str, Any]:
    answer = await add(served, body)
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize(
    ("body", "title"),
    [
        (SITEMAP, "https://docs.example.com/sitemap.xml"),
        ({"kind": "urls", "urls": ["https://docs.example.com/a"], "title": "Docs"}, "Docs"),
        ({"kind": "s3", "prefix": "s3://manuals/acme/cars/"}, "s3://manuals/acme/cars/"),
        ({"kind": "s3", "prefix": "s3://shared/a/acme/b/c"}, "s3://shared/a/acme/b/c"),
    ],
)
async def test_a_source_is_stored_and_due_at_once(served: Served, body: dict[str, Any], title: str) -> None:
    source = await add_source(served, body)
    assert (source["status"], source["title"], source["refreshHours"], source["documents"]) == ("waiting", title, 24, 0)
    [due] = [item async for item in records(served).due(served.harness.clock.now())]
    assert due.source.id == source["id"]
    assert (await served.get(f"/agents/assistant/sources/{source['id']}", WRITE)).json() == source
    assert await served.items("/agents/assistant/sources", WRITE) == ([source], None)
    [record] = served.harness.audit.records
    assert (record.action, record.outcome) == ("source.create", "created")


@pytest.mark.parametrize("body", [SITEMAP, SITEMAP | {"sourceId": ID}])
async def test_a_repeated_request_gets_the_source_that_is_there(served: Served, body: dict[str, Any]) -> None:
    first = await add_source(served, body)
    assert await add_source(served, body) == first
    assert len(records(served).records) == 1
    assert len(served.harness.audit.records) == 1


async def test_another_source_under_the_same_id_is_a_conflict(served: Served) -> None:
    await add_source(served, SITEMAP | {"sourceId": ID})
    assert code(await add(served, SITEMAP | {"sourceId": ID, "refreshHours": 1})) == (409, "source_conflict")


async def test_a_deleted_source_is_gone_at_once_and_may_be_created_again(served: Served) -> None:
    source = await add_source(served, SITEMAP)
    path = f"/agents/assistant/sources/{source['id']}"
    answer = await served.request("DELETE", path, WRITE)
    assert (answer.status_code, answer.json()["id"]) == (202, source["id"])
    assert (await served.request("DELETE", path, WRITE)).json() == answer.json()
    assert code(await served.get(path, WRITE)) == (404, "unknown_source")
    assert code(await served.request("POST", f"{path}/refresh", WRITE)) == (404, "unknown_source")
    assert await served.items("/agents/assistant/sources", WRITE) == ([], None)
    assert (await add_source(served, SITEMAP))["id"] != source["id"]


async def test_a_repeated_request_after_a_deletion_makes_one_source(served: Served) -> None:
    deleted = await add_source(served, SITEMAP)
    await served.request("DELETE", f"/agents/assistant/sources/{deleted['id']}", WRITE)
    first, second = await add_source(served, SITEMAP), await add_source(served, SITEMAP)
    assert first["id"] == second["id"] != deleted["id"]
    await served.request("DELETE", f"/agents/assistant/sources/{first['id']}", WRITE)
    assert (await add_source(served, SITEMAP))["id"] not in (first["id"], deleted["id"])


async def test_a_source_is_refreshed_before_its_time(served: Served) -> None:
    source = await add_source(served, SITEMAP)
    key = ("acme", "assistant", source["id"])
    store = records(served)
    later = served.harness.clock.now() + store.records[key].interval
    store.records[key] = replace(store.records[key], check_at=later)
    answer = await served.request("POST", f"/agents/assistant/sources/{source['id']}/refresh", WRITE)
    assert answer.status_code == 202
    assert store.records[key].check_at == served.harness.clock.now()


@pytest.mark.parametrize(
    ("body", "name", "expected"),
    [
        ({"kind": "rss", "url": "https://docs.example.com/"}, "invalid_request", "kind must be"),
        ({"kind": "sitemap"}, "invalid_request", "A source of the kind sitemap has url"),
        (SITEMAP | {"prefix": "s3://manuals/acme/"}, "invalid_request", "A source of the kind sitemap has url"),
        ({"kind": "urls", "urls": []}, "invalid_request", "urls must hold"),
        ({"kind": "urls", "urls": [f"https://docs.example.com/{n}" for n in range(101)]}, "invalid_request", "urls: "),
        ({"kind": "urls", "urls": [7]}, "invalid_request", "urls[0]: "),
        ({"kind": "urls", "urls": ["https://[docs.example.com#a"]}, "invalid_request", "Addresses must be"),
        (SITEMAP | {"url": "file:///etc/passwd"}, "invalid_request", "Addresses must be"),
        (SITEMAP | {"url": "https://docs.example.com/ a"}, "invalid_request", "Addresses must be"),
        (SITEMAP | {"url": "https://a:b@docs.example.com/"}, "invalid_request", "Addresses must hold no user"),
        (SITEMAP | {"url": "https://docs.example.com/" + "x" * 2048}, "invalid_request", "Addresses must be"),
        (SITEMAP | {"url": "http://docs.example.com/"}, "source_refused", "docs.example.com must be called"),
        (SITEMAP | {"url": "https://example.org/"}, "source_refused", "example.org is not among"),
        (SITEMAP | {"url": "https://169.254.169.254/"}, "source_refused", "169.254.169.254 is not a public address"),
        (SITEMAP | {"refreshHours": 0}, "invalid_request", "refreshHours: "),
        (SITEMAP | {"refreshHours": 8761}, "invalid_request", "refreshHours: "),
        (SITEMAP | {"refreshHours": 1.5}, "invalid_request", "refreshHours: "),
        (SITEMAP | {"title": "x" * 301}, "invalid_request", "title must be"),
        (SITEMAP | {"requiredPermission": "*"}, "invalid_request", "requiredPermission must be"),
        (SITEMAP | {"sourceId": "mine"}, "invalid_request", "sourceId must be"),
        (SITEMAP | {"tenantId": "globex"}, "invalid_request", "tenantId: "),
        ({"kind": "s3", "prefix": "manuals/acme/"}, "invalid_request", "prefix must be"),
        ({"kind": "s3", "prefix": "s3://manuals/"}, "invalid_request", "prefix must be"),
        ({"kind": "s3", "prefix": "s3://manuals/globex/"}, "source_refused", "This deployment does not allow"),
        ({"kind": "s3", "prefix": "s3://manuals/acme"}, "source_refused", "This deployment does not allow"),
        ({"kind": "s3", "prefix": "s3://manuals/acme2/"}, "source_refused", "This deployment does not allow"),
        ({"kind": "s3", "prefix": "s3://manuals/globex/acme/"}, "source_refused", "This deployment does not allow"),
        ({"kind": "s3", "prefix": "s3://others/acme/"}, "source_refused", "This deployment does not allow"),
        ({"kind": "s3", "prefix": "s3://shared/a/acme/c/"}, "source_refused", "This deployment does not allow"),
    ],
)
async def test_what_is_not_acceptable_is_refused(
    served: Served, body: dict[str, Any], name: str, expected: str
) -> None:
    answer = await add(served, body)
    assert code(answer) == (422, name)
    assert answer.json()["detail"].startswith(expected)
    assert records(served).records == {}


async def test_an_agent_has_a_limited_number_of_sources(served: Served) -> None:
    for number in range(100):
        await add_source(served, SITEMAP | {"refreshHours": number + 1})
    answer = await add(served, SITEMAP | {"refreshHours": 200})
    assert code(answer) == (409, "limit_reached")
    assert (await add(served, SITEMAP | {"refreshHours": 100})).status_code == 201  # a repetition


ROUTES = [
    ("POST", "/agents/assistant/sources", "source.create"),
    ("GET", "/agents/assistant/sources", "source.list"),
    ("GET", f"/agents/assistant/sources/{ID}", "source.read"),
    ("POST", f"/agents/assistant/sources/{ID}/refresh", "source.refresh"),
    ("DELETE", f"/agents/assistant/sources/{ID}", "source.delete"),
]


@pytest.mark.parametrize(("method", "path", "action"), ROUTES)
async def test_a_user_who_lacks_the_permission_is_refused_and_written_down(
    served: Served, method: str, path: str, action: str
) -> None:
    answer = await (
        served.post(path, SITEMAP) if path.endswith("/sources") and method == "POST" else served.request(method, path)
    )
    assert code(answer) == (403, "forbidden")
    [record] = served.harness.audit.records
    assert (record.action, record.outcome, record.detail) == (action, "denied", {"permission": WRITE})


@pytest.mark.parametrize("agent", ["nobody", "librarian"])
@pytest.mark.parametrize(("method", "path", "action"), ROUTES)
async def test_an_agent_that_the_caller_cannot_see_is_unknown(
    served: Served, method: str, path: str, action: str, agent: str
) -> None:
    address = path.replace("assistant", agent)
    is_post = address.endswith("/sources") and method == "POST"
    answer = await (served.post(address, SITEMAP, WRITE) if is_post else served.request(method, address, WRITE))
    assert code(answer) == (404, "unknown_agent")
    outcome = "denied" if agent == "librarian" else "not_found"
    assert [(record.action, record.outcome) for record in served.harness.audit.records] == [(action, outcome)]


async def test_a_source_of_another_tenant_is_unknown(served: Served) -> None:
    source = await add_source(served, SITEMAP)
    served.harness.ada = Scope("globex", "ada")
    path = f"/agents/assistant/sources/{source['id']}"
    for method, address in (("GET", path), ("POST", f"{path}/refresh"), ("DELETE", path)):
        assert code(await served.request(method, address, WRITE)) == (404, "unknown_source")
    assert await served.items("/agents/assistant/sources", WRITE) == ([], None)
