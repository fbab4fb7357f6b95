"""Documents over real HTTP: uploaded and followed until they are ready, replaced, deleted; and kept up to date."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from baton_local.engines.clients import client
from tests.e2e.cloud import RunningCloud
from tests.e2e.documents import HANDBOOK, announce, poll, upload_body, wait_for_end
from tests.e2e.fixtures import NewUser
from tests.e2e.problems import check_problem
from tests.e2e.sockets import new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers

WRITE = "document:write"


@pytest.fixture
def editor(new_user: NewUser) -> User:
    return new_user("editor", WRITE)


@pytest.mark.nightly
async def test_a_document_is_uploaded_and_becomes_ready(editor: User) -> None:
    new_document = await announce(editor, HANDBOOK, title="Handbook")
    document_id = new_document["document"]["id"]
    assert new_document["document"]["status"] == "waiting"
    assert await upload_body(new_document["upload"], HANDBOOK) == 200
    document = await wait_for_end(editor, document_id)
    assert (document["status"], document["error"], document["progress"]) == ("ready", None, 100)
    assert (document["activeVersion"], document["title"]) == (1, "Handbook")
    assert document["chunks"] >= 1
    again = await announce(editor, HANDBOOK, title="Handbook")
    assert (again["document"]["id"], again["document"]["version"], again["upload"]) == (document_id, 1, None)


@pytest.mark.nightly
async def test_a_replacement_that_cannot_be_read_leaves_the_old_version_in_use(editor: User) -> None:
    new_document = await announce(editor, HANDBOOK)
    document_id = new_document["document"]["id"]
    await upload_body(new_document["upload"], HANDBOOK)
    await wait_for_end(editor, document_id)
    body = "no PDF"
    new_document = await announce(
        editor, body, documentId=document_id, name="handbook.pdf", contentType="application/pdf"
    )
    assert (new_document["document"]["version"], new_document["document"]["activeVersion"]) == (2, 1)
    await upload_body(new_document["upload"], body)
    document = await wait_for_end(editor, document_id)
    assert (document["status"], document["version"], document["activeVersion"]) == ("failed", 2, 1)
    assert document["error"]["code"]
    assert document["error"]["message"]


async def test_a_deleted_document_and_everything_of_it_is_removed(
    cloud: RunningCloud, editor: User, tenant: str
) -> None:
    document = await announce(editor, HANDBOOK)
    document_id = document["document"]["id"]
    await upload_body(document["upload"], HANDBOOK)
    await wait_for_end(editor, document_id)
    path = f"/agents/assistant/documents/{document_id}"
    assert (await editor.request("DELETE", path)).status_code == 202
    check_problem(await editor.request("GET", path), 404, "unknown_document")
    assert (await editor.read("/agents/assistant/documents"))["items"] == []

    async def list_leftovers() -> list[str]:
        s3 = client("s3", cloud.environment["AWS_ENDPOINT_URL_S3"])
        object_versions = s3.list_object_versions(
            Bucket=cloud.environment["BATON_BUCKET"], Prefix=f"{tenant}/~documents/"
        )
        s3.close()
        objects = [
            version["Key"]
            for version in [*object_versions.get("Versions", []), *object_versions.get("DeleteMarkers", [])]
        ]
        return objects + [item["SK"] for item in cloud.items(tenant) if document_id in item["SK"]]

    assert await poll(list_leftovers, lambda value: value == []) == []
    assert {item["action"] for item in cloud.audits(tenant)} == {"document.create", "document.delete"}


@pytest.fixture
def site() -> Iterator[tuple[str, dict[str, str]]]:
    """A web site on this machine: its address, and its pages by path."""
    pages: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path)
            tag = hashlib.sha256((body or "").encode()).hexdigest()
            status = 404 if body is None else 304 if self.headers["If-None-Match"] == tag else 200
            self.send_response(status)
            self.send_header("ETag", tag)
            self.send_header("Content-Type", "application/xml" if self.path.endswith(".xml") else "text/plain")
            sent = (body or "").encode() if status == 200 else b""
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", pages
    server.shutdown()
    server.server_close()


@pytest.mark.nightly
async def test_a_sitemap_and_a_prefix_are_kept_up_to_date(
    cloud: RunningCloud, editor: User, tenant: str, site: tuple[str, dict[str, str]]
) -> None:
    url, pages = site
    pages |= {
        "/sitemap.xml": f"<urlset><url><loc>{url}/a.txt</loc></url><url><loc>{url}/b.txt</loc></url></urlset>",
        "/a.txt": "Alpha is the first letter.",
        "/b.txt": "Beta is the second letter.",
    }
    bucket = cloud.environment["BATON_BUCKET"]
    s3 = client("s3", cloud.environment["AWS_ENDPOINT_URL_S3"])
    s3.put_object(Bucket=bucket, Key=f"{tenant}/~sources/gamma.txt", Body=b"Gamma is the third letter.\n")
    s3.close()
    response = [
        await editor.post("/agents/assistant/sources", body)
        for body in (
            {"kind": "sitemap", "url": f"{url}/sitemap.xml"},
            {"kind": "s3", "prefix": f"s3://{bucket}/{tenant}/~sources/"},
        )
    ]
    assert [answer.status_code for answer in response] == [201, 201], [answer.text for answer in response]
    sitemap = response[0].json()["id"]
    cloud.read_sources()

    async def documents() -> dict[str, str]:
        items = (await editor.read("/agents/assistant/documents"))["items"]
        return {item["title"]: item["status"] for item in items}

    all_ready = dict.fromkeys(("a.txt", "b.txt", "gamma.txt"), "ready")
    assert await poll(documents, lambda value: value == all_ready) == all_ready
    read = await editor.read(f"/agents/assistant/sources/{sitemap}")
    assert (read["status"], read["documents"], read["counts"]["changed"]) == ("ready", 2, 2)

    pages["/sitemap.xml"] = f"<urlset><url><loc>{url}/a.txt</loc></url></urlset>"
    assert (await editor.post(f"/agents/assistant/sources/{sitemap}/refresh", {})).status_code == 202
    cloud.read_sources()
    read = await editor.read(f"/agents/assistant/sources/{sitemap}")
    assert read["counts"] == {"changed": 0, "unchanged": 1, "deleted": 1, "failed": 0}
    assert set(await documents()) == {"a.txt", "gamma.txt"}
    check_problem(
        await editor.post("/agents/assistant/sources", {"kind": "s3", "prefix": f"s3://{bucket}/other/~sources/"}),
        422,
        "source_refused",
    )


async def test_a_run_cites_a_document_by_its_number(editor: User, model: FaultModel) -> None:
    document = await announce(editor, HANDBOOK, title="Handbook")
    await upload_body(document["upload"], HANDBOOK)
    await wait_for_end(editor, document["document"]["id"])
    model.script(answers("A night may cost 140 euros [1]. Not so [7]."))
    request = {"id": new_id(), "role": "user", "content": "How many euros may a hotel room cost a night?"}
    body = {"threadId": new_id(), "runId": new_id(), "messages": [request], "state": {}, "tools": [], "context": []}
    run = await editor.post("/runs", body | {"forwardedProps": {}})
    events = [json.loads(line.removeprefix("data: ")) for line in run.text.split("\n") if line.startswith("data: ")]
    assert "".join(event.get("delta", "") for event in events) == "A night may cost 140 euros [1]. Not so [7]."
    end = next(event for event in events if event["type"] == "TEXT_MESSAGE_END")
    [source] = end["metadata"]["sources"]
    assert (source["number"], source["title"], source["places"]) == (1, "Handbook", [{"start": 27, "end": 30}])
    assert "A hotel room may cost at most 140 euros a night." in source["excerpt"]


async def test_an_answer_over_a_websocket_names_the_document_that_it_was_made_from(editor: User) -> None:
    document = await announce(editor, HANDBOOK, title="Handbook", url="https://a.example/handbook")
    await upload_body(document["upload"], HANDBOOK)
    await wait_for_end(editor, document["document"]["id"])
    question = "How many euros may a hotel room cost a night?"
    async with editor.connect() as socket:
        await socket.send("message", threadId=new_id(), messageId=new_id(), content=question)
        events = await socket.receive_until("RUN_FINISHED")
    [source] = next(event for event in events if event["type"] == "TEXT_MESSAGE_END")["metadata"]["sources"]
    assert (source["kind"], source["title"], source["url"]) == ("document", "Handbook", "https://a.example/handbook")
    body = (await editor.post("/agents/assistant/knowledge/search", {"query": question})).json()["items"]
    assert (body[0]["id"], "140 euros" in body[0]["text"]) == (source["chunk"], True)
