"""An upload becomes an agent's knowledge: stored object, event, state machine, in the running product."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from baton.adapters.aws.s3_documents import S3Documents
from baton.adapters.aws.s3_files import create_s3_client
from baton.adapters.aws.step_functions import StepFunctionsExecutions
from baton.adapters.dynamodb.documents import DynamoDocuments
from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
from baton.adapters.dynamodb.table import Table
from baton.adapters.sqlite_index.bounds import MAX_OWNER_DOCUMENTS
from baton.domain.documents.document import UPLOAD_WAIT, Document, DocumentRef, DocumentVersion, VersionStatus
from baton.domain.documents.pipelines import Pipeline, PipelineLimits
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.errors import SearchIndexDamaged
from baton.domain.tenants.identity import Scope
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton.entry.jobs.pipeline_starts import AdmittedIngestions
from baton.ports.clock import SystemClock
from baton.ports.documents.files import Upload
from baton_local.engines.clients import client
from tests import documents
from tests.contracts.search import document as indexed
from tests.e2e.cloud import RunningCloud
from tests.embedded_index import make_embedded_index
from tests.environment import INITIAL_ENVIRONMENT

PATIENCE_SECONDS = 60
AGENT = "knowledge"
CLOCK = SystemClock()


@dataclass
class Desk:
    """One tenant's documents in the running product."""

    store: DynamoDocuments
    files: S3Documents
    ingestions: AdmittedIngestions
    scope: Scope

    async def create(self, name: str, content_type: str, body: bytes) -> tuple[Document, Upload]:
        now = CLOCK.now()
        digest = hashlib.sha256(body).hexdigest()
        first = DocumentVersion(1, VersionStatus.WAITING, name, content_type, len(body), "ada", now, sha256=digest)
        document_id = f"doc_{uuid.uuid4().hex}"
        document = Document(document_id, AGENT, name, now, now, next=first, check_at=now + UPLOAD_WAIT)
        stored = await self.store.create(self.scope, document)
        return stored, await self.files.presign_upload(self.scope, stored, 1, content_type, len(body), digest)

    async def get(self, document: Document) -> Document:
        result = await self.store.get(self.scope, AGENT, document.id)
        assert result is not None
        return result

    async def settled(self, document: Document) -> tuple[Document, list[int]]:
        """The document when its newest version is ready or has failed, and the progress that was seen."""
        seen: list[int] = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                result = await self.get(document)
                seen.append(result.latest.progress)
                if result.latest.status in (VersionStatus.READY, VersionStatus.FAILED):
                    return result, seen
                await asyncio.sleep(0.05)

    async def delete(self, document: Document) -> None:
        """Delete it, and wait until it is gone."""
        while (
            deleted := await self.store.save(self.scope, (await self.get(document)).mark_deleted(CLOCK.now()))
        ) is None:
            pass
        ref = DocumentRef(self.scope.tenant_id, AGENT, document.id, 1)
        await self.ingestions.start(ref, attempt=deleted.attempt, created_at=deleted.created_at, removes=True)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if await self.store.get(self.scope, AGENT, document.id) is None:
                    return
                await asyncio.sleep(0.05)


@pytest.fixture
def desk(demo_cloud: RunningCloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    here = demo_cloud.environment
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, here[name])
    table, s3 = client("dynamodb", here["AWS_ENDPOINT_URL_DYNAMODB"]), create_s3_client(here["AWS_ENDPOINT_URL_S3"])
    machines = client("stepfunctions", here["AWS_ENDPOINT_URL"])
    items = Table.of(table, here["BATON_TABLE"])
    arn = here["BATON_INGEST_DOCUMENT_ARN"]
    executions = StepFunctionsExecutions(machines, {Pipeline.INGESTION: lambda: arn})
    yield Desk(
        DynamoDocuments(items),
        S3Documents(s3, here["BATON_BUCKET"], CLOCK),
        AdmittedIngestions(PipelineAdmission(DynamoPipelineQueue(items), executions, CLOCK, PipelineLimits())),
        Scope(f"t-{uuid.uuid4().hex}", "ada"),
    )
    for item in (table, s3, machines):
        item.close()


async def test_an_upload_by_curl_is_ready_after_a_while_and_leaves_nothing_when_it_is_deleted(
    desk: Desk, tmp_path: Path
) -> None:
    pages = [(f"Chapter {number}", [f"The code of room {number} is {number * 7}."]) for number in range(1, 46)]
    file = tmp_path / "handbook.pdf"
    file.write_bytes(documents.pdf(pages, title="Handbook"))
    document, upload = await desk.create(file.name, documents.PDF, file.read_bytes())
    headers = [part for name, value in upload.headers.items() for part in ("-H", f"{name}: {value}")]
    command = ["curl", "-sS", "--noproxy", "*", "-f", "-X", upload.method, *headers, "-T", str(file), upload.url]
    await asyncio.to_thread(subprocess.run, command, check=True, timeout=30)

    ready, seen = await desk.settled(document)

    version = ready.active
    assert version is not None, ready.latest
    assert (ready.title, version.pages, version.progress) == ("Handbook", 45, 100)
    assert version.chunks
    assert seen == sorted(seen)

    await desk.delete(document)

    prefix = f"{desk.scope.tenant_id}/~documents/{AGENT}/{document.id}/"
    assert "Versions" not in desk.files.client.list_object_versions(Bucket=desk.files.bucket, Prefix=prefix)


@pytest.mark.nightly
async def test_a_file_that_cannot_be_read_says_why(desk: Desk) -> None:
    body = documents.pdf([("", ["secret"])], password="open sesame")
    document, upload = await desk.create("secret.pdf", documents.PDF, body)
    async with httpx.AsyncClient(trust_env=False) as http:
        stored = await http.request(upload.method, upload.url, headers=upload.headers, content=body)
    assert stored.status_code == 200
    failed, _ = await desk.settled(document)
    assert (failed.latest.error_code, failed.active) == ("document_encrypted", None)
    assert failed.latest.error


@pytest.mark.nightly
async def test_an_upload_without_room_in_the_index_says_what_to_do_and_leaves_the_version_before(
    demo_cloud: RunningCloud,
) -> None:
    tenant, here = f"t-{uuid.uuid4().hex}", demo_cloud.environment
    headers = {"Authorization": f"Bearer {demo_cloud.token(tenant, 'ada', 'document:write')}"}
    path = f"{demo_cloud.url}/v1/agents/{AGENT}"
    async with httpx.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False) as http:

        async def upload(text: str, **about: str) -> Any:
            """Upload a version, and return the document when it has been taken in or has failed."""
            body = {"name": "rooms.md", "contentType": "text/markdown", "size": len(text), **about}
            response = (await http.post(f"{path}/documents", json=body, headers=headers)).raise_for_status().json()
            target = response["upload"]
            await http.request(target["method"], target["url"], headers=target["headers"], content=text.encode())
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    read = await http.get(f"{path}/documents/{response['document']['id']}", headers=headers)
                    if read.json()["status"] in ("ready", "failed"):
                        return read.json()
                    await asyncio.sleep(0.05)

        ready = await upload("# Rooms\n\nThe code of room 12 is 84.\n")
        assert ready["status"] == "ready", ready
        index = make_embedded_index(client("s3", here["AWS_ENDPOINT_URL_S3"]), here["BATON_SEARCH_BUCKET"])
        others = [
            indexed(f"other-{number}", "", views={}, agent_id=AGENT)
            for number in range(MAX_OWNER_DOCUMENTS - ready["chunks"])
        ]
        await index.put(Scope(tenant, "ada"), IndexName.KNOWLEDGE, others)

        failed = await upload("# Rooms\n\nThe code of room 12 is 85.\n", documentId=ready["id"])
        assert (failed["status"], failed["error"]["code"], failed["activeVersion"]) == (
            "failed",
            "search_index_full",
            1,
        )
        assert "remove documents, or divide them among several agents" in failed["error"]["message"]
        listed = (await http.get(f"{path}/documents", headers=headers)).json()
        assert (listed["indexFillPercent"], [entry["version"] for entry in listed["items"]]) == (100, [2])
        query = {"query": "code of room 12"}
        items = (await http.post(f"{path}/knowledge/search", json=query, headers=headers)).json()["items"]
        assert [(item["source"]["version"], "84" in item["text"]) for item in items] == [(1, True)]


@pytest.mark.nightly
@pytest.mark.parametrize("is_damaged", [False, True])
async def test_a_lost_or_damaged_index_is_filled_again_by_the_operators_command(
    desk: Desk, demo_cloud: RunningCloud, *, is_damaged: bool
) -> None:
    body = b"# Rooms\n\nThe code of room 12 is 84.\n"
    document, upload = await desk.create("rooms.md", "text/markdown", body)
    async with httpx.AsyncClient(trust_env=False) as http:
        await http.request(upload.method, upload.url, headers=upload.headers, content=body)
    before, _ = await desk.settled(document)
    here, tenant = demo_cloud.environment, desk.scope.tenant_id
    s3, bucket = client("s3", here["AWS_ENDPOINT_URL_S3"]), here["BATON_SEARCH_BUCKET"]
    index = make_embedded_index(s3, bucket, int(here["BATON_EMBEDDING_DIMENSIONS"]))
    chunks = SearchFilter(agent_id=AGENT)

    async def search() -> httpx.Response:
        headers = {"Authorization": f"Bearer {demo_cloud.token(tenant, 'ada')}"}
        async with httpx.AsyncClient(base_url=demo_cloud.url, headers=headers, trust_env=False) as http:
            return await http.post(f"/v1/agents/{AGENT}/knowledge/search", json={"query": "code of room 12"})

    assert [item["source"]["documentId"] for item in (await search()).json()["items"]] == [document.id]
    if is_damaged:
        [stored] = s3.list_objects_v2(Bucket=bucket, Prefix=f"{tenant}/")["Contents"]
        body = s3.get_object(Bucket=bucket, Key=stored["Key"])["Body"].read()
        s3.put_object(Bucket=bucket, Key=stored["Key"], Body=b"This is no database." + body[20:])
        refused = await search()
        assert (refused.status_code, refused.json()["code"]) == (503, "search_index_damaged")
        with pytest.raises(SearchIndexDamaged, match="search rebuild"):
            await index.count(desk.scope, IndexName.KNOWLEDGE, chunks)
    else:
        assert await index.delete(desk.scope, IndexName.KNOWLEDGE, chunks) == 1
        assert (await search()).json()["items"] == []

    async def command(*arguments: str) -> Any:
        run = [sys.executable, "-m", "baton.composition.admin", "search", *arguments]
        done = await asyncio.to_thread(
            subprocess.run, run, env={**INITIAL_ENVIRONMENT, **here}, capture_output=True, check=False
        )
        assert done.stdout, done.stderr.decode()
        return json.loads(done.stdout)

    if not is_damaged:
        [result] = [entry for entry in await command("verify") if entry["tenant_id"] == tenant]
        assert [entry["document_id"] for entry in result["knowledge"]["missing"]] == [document.id]
    [rebuilt] = await command("rebuild", "knowledge", "--tenant", tenant)
    assert (rebuilt["documents_started"], rebuilt["is_complete"]) == (1, True)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if await index.count(desk.scope, IndexName.KNOWLEDGE, chunks):
                break
            await asyncio.sleep(0.05)
    assert [item["source"]["documentId"] for item in (await search()).json()["items"]] == [document.id]
    after = await desk.get(document)
    assert replace(after, revision=before.revision, check_at=None) == replace(before, check_at=None)
