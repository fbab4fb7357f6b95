"""The drill of a restore in the running product: damage, plan, restore, verify, and talk on."""

from __future__ import annotations

import asyncio
import io
import json
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from baton_deployment.account import Account
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.engines.clients import client
from baton_local.resources import create_table
from baton_local.stack.declarations import Stack
from tests.command_line import make_project, run_baton
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import PATIENCE_SECONDS, new_id
from tests.e2e.users import Json, User

SAID = ("My cat is called Moses and he is afraid of vacuum cleaners.", "I am moving to Oslo in March.")
LONG = secrets.token_hex(320_000)
"""Too large for an item even when it is packed."""
SECONDS = 60


@dataclass
class SearchOfCloud:
    """AWS Lambda as far as the command needs it: the search function of the local cloud."""

    cloud: RunningCloud

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
        result = self.cloud.invoke(FunctionName, json.loads(Payload))
        return {"Payload": io.BytesIO(json.dumps(result).encode())}


@dataclass
class Drill:
    """The running product as a deployed stage, and a copy of its table, as a point-in-time restore makes it."""

    cloud: RunningCloud
    stack: Stack
    project: Path
    tenant: str
    copy: str = ""
    at: str = ""

    def __post_init__(self) -> None:
        environment = self.cloud.environment
        self.table, self.bucket = environment["BATON_TABLE"], environment["BATON_BUCKET"]
        self.dynamodb = client("dynamodb", environment["AWS_ENDPOINT_URL_DYNAMODB"])
        self.s3 = client("s3", environment["AWS_ENDPOINT_URL_S3"])

    def keep_versions(self, status: Literal["Enabled", "Suspended"]) -> None:
        """Keep deleted files, as a deployed bucket does and the local cloud's does not."""
        self.s3.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": status})

    def remember(self) -> None:
        """Copy the table's present, and wait for S3's next second: what is deleted in it was there before."""
        self.copy = create_table(self.dynamodb, self.stack.table, f"copy-{uuid.uuid4()}")
        for page in self.dynamodb.get_paginator("scan").paginate(TableName=self.table, ConsistentRead=True):
            for item in page["Items"]:
                self.dynamodb.put_item(TableName=self.copy, Item=item)
        now = datetime.now(UTC)
        self.at = now.isoformat()
        while datetime.now(UTC).replace(microsecond=0) <= now:
            time.sleep(0.05)

    def damage(self) -> int:
        """Delete the tenant's items and files except its requests to forget; return the number of items."""
        lost = [item for item in self.cloud.items(self.tenant) if "~FORGET" not in item["PK"]]
        for item in lost:
            key: Any = {name: {"S": item[name]} for name in ("PK", "SK")}
            self.dynamodb.delete_item(TableName=self.table, Key=key)
        contents = self.s3.list_objects_v2(Bucket=self.bucket, Prefix=f"{self.tenant}/").get("Contents", [])
        for content in contents:
            self.s3.delete_object(Bucket=self.bucket, Key=content["Key"])
        index = self.cloud.environment["BATON_SEARCH_BUCKET"]
        for content in self.s3.list_objects_v2(Bucket=index, Prefix=f"{self.tenant}/").get("Contents", []):
            self.s3.delete_object(Bucket=index, Key=content["Key"])
        return len(lost)

    async def restore(self, *arguments: str) -> str:
        """Restore the tenant, and return what is printed."""
        options = ("--folder", self.project, "--from", self.copy, "--at", self.at, "--tenant", self.tenant)
        process = await asyncio.to_thread(run_baton, "restore", "dev", *options, *arguments)
        assert process.exit_code == 0, process.output
        return process.stdout


@pytest.fixture
def drill(
    demo_cloud: RunningCloud, product_stack: Stack, tenant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Drill]:
    environment = demo_cloud.environment
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY)
    project = make_project(
        tmp_path, f'version = 0.1\n[dev.deploy.parameters]\nstack_name = "local"\nregion = "{REGION}"\n'
    )
    outputs = {
        "TableName": environment["BATON_TABLE"],
        "BucketName": environment["BATON_BUCKET"],
        "ForgetUserArn": environment["BATON_FORGET_USER_ARN"],
        "SearchFunctionName": "SearchFunction",
    }
    clients, search = Account.client, SearchOfCloud(demo_cloud)

    def chosen(account: Account, service: str, **options: Any) -> Any:
        return search if service == "lambda" else clients(account, service, **options)

    monkeypatch.setattr(Account, "client", chosen)
    monkeypatch.setattr("baton_deployment.restoring.command.read_outputs", lambda account, stack: outputs)
    instance = Drill(demo_cloud, product_stack, project, tenant)
    instance.keep_versions("Enabled")
    yield instance
    instance.keep_versions("Suspended")


@pytest.fixture
async def users(demo_cloud: RunningCloud, tenant: str) -> AsyncIterator[tuple[User, User]]:
    async with httpx.AsyncClient(base_url=demo_cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as http_client:
        items = [User(demo_cloud, http_client, tenant, name, demo_cloud.token(tenant, name)) for name in ("ada", "bob")]
        yield items[0], items[1]


async def wait_until_settled(user: User, path: str, state: str) -> Json:
    """Return the JSON at ``path``, once its status is another."""
    async with asyncio.timeout(SECONDS):
        while True:
            answer = await user.get(path)
            if answer.status_code != 404 and answer.json()["status"] != state:
                body: Json = answer.json()
                return body
            await asyncio.sleep(0.2)


async def list_conversations(user: User) -> list[Json]:
    """The user's conversations, without the numbers of their last events: restored ones have higher numbers."""
    threads = (await user.read("/threads"))["items"]
    return [{name: value for name, value in thread.items() if name != "lastSeq"} for thread in threads]


async def test_a_damaged_tenant_is_restored_verified_and_talks_on(drill: Drill, users: tuple[User, User]) -> None:
    (ada, bob), old, running, forgotten = users, new_id(), new_id(), new_id()
    async with ada.connect() as socket:
        for text in SAID:
            await socket.say(text, thread_id=old)
    closed = await ada.post(f"/threads/{old}/close", {})
    episode = await wait_until_settled(ada, f"/episodes/{closed.json()['episodeId']}", "pending")
    assert episode["status"] == "complete"
    await ada.ask(f"Remember the word Quitte. {LONG}", sessionId=running)
    await bob.ask("My secret is hunter2.", sessionId=forgotten)
    before = await ada.messages(old), await ada.messages(running), await list_conversations(ada)
    drill.remember()

    request = await bob.request("DELETE", "/users/me/memory")
    done = await wait_until_settled(bob, f"/forget-requests/{request.json()['requestId']}", "running")
    assert done["status"] == "completed"
    assert drill.damage() > 10
    assert (await ada.get(f"/threads/{old}")).status_code == 404

    assert "2 conversations are missing: they come back whole" in await drill.restore("--plan")
    assert (await ada.get(f"/threads/{old}")).status_code == 404

    report = await drill.restore("--yes")
    assert "1 conversations were forgotten since" in report
    assert "1 requests to forget since then are repeated" in report
    assert "1 episodes indexed" in report
    assert "still missing" not in report
    assert "does not know" not in report
    assert "Verified: 2 conversations with 6 messages." in report
    assert "Indices: they agree with what is stored." in report

    after = await ada.messages(old), await ada.messages(running), await list_conversations(ada)
    assert after == before
    assert (await bob.get(f"/threads/{forgotten}")).status_code == 404
    assert "hunter2" not in json.dumps(drill.cloud.items(drill.tenant), default=repr)
    async with ada.connect() as socket:
        run = await socket.say("Where am I moving to?", thread_id=new_id())
    assert "Oslo" in "".join(event["delta"] for event in run if event["type"] == "TEXT_MESSAGE_CONTENT")
    await ada.ask("And now?", sessionId=running)
    assert len(await ada.messages(running)) == 4
