"""``make run`` with each kind of provider: answers, the end of a session, uploads, documents, and another start."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from baton_local.root import ROOT
from tests.fault_model import ThreadedServer
from tests.forked_program import ForkedProgram
from tests.integration.make_run.program import running
from tests.models.standins import StandIns, stand_in_server, stand_ins

pytestmark = pytest.mark.nightly

__all__ = ["stand_in_server", "stand_ins"]

PATIENCE_SECONDS = 60.0
PERMISSIONS = ["tenant:manage", "document:write", "skill:create", "research:use"]
ORIGIN = "https://app.example.com"
Settings = dict[str, str]


@dataclass(frozen=True)
class Kind:
    """A way to declare a provider, and the requests by which a stand-in recognises it."""

    model: str
    asks: str
    """The end of the path of its requests."""
    settings: Callable[[StandIns, Path], Settings]


def by_variable(stand_ins: StandIns, folder: Path) -> Settings:
    return {"BATON_MODEL_PROVIDERS": json.dumps({"mine": {"baseUrl": stand_ins.base_url("openai-gpt4")}})}


def by_file(stand_ins: StandIns, folder: Path) -> Settings:
    file = folder / "settings.yaml"
    provider = {"baseUrl": stand_ins.base_url("openai"), "api": "responses"}
    file.write_text(json.dumps({"version": 1, "modelProviders": {"mine": provider}}))
    return {"BATON_LOCAL_SETTINGS": str(file)}


def sign_in(stand_ins: StandIns, folder: Path) -> Settings:
    provider = {"baseUrl": stand_ins.base_url("openai"), "api": "responses", "signed": True}
    profile = folder / "credentials"
    profile.write_text("[work]\naws_access_key_id = AKIAMINE\naws_secret_access_key = secret\n")
    return {
        "BATON_MODEL_PROVIDERS": json.dumps({"mine": provider}),
        "BATON_BEDROCK_PROFILE": "work",
        "AWS_SHARED_CREDENTIALS_FILE": str(profile),
        "AWS_CONFIG_FILE": str(folder / "none"),
        "BATON_BEDROCK_REGION": "us-east-1",
    }


def bedrock(stand_ins: StandIns, folder: Path) -> Settings:
    return {
        "BATON_BEDROCK_ENDPOINT": stand_ins.url,
        "BATON_EMBEDDING_MODEL": "bedrock/amazon.titan-embed-text-v2:0",
        "BATON_EMBEDDING_DIMENSIONS": "1024",
    }


KINDS = {
    "chat completions": Kind("mine/gpt-4.1", "/openai-gpt4/v1/chat/completions", by_variable),
    "responses": Kind("mine/gpt-6-sol", "/openai/v1/responses", by_file),
    "signed responses": Kind("mine/gpt-6-sol", "/openai/v1/responses", sign_in),
    "bedrock": Kind("bedrock/us.anthropic.claude-opus-5-5", "/converse-stream", bedrock),
}


@dataclass(frozen=True)
class Developer:
    """A developer with a token for a running local cloud."""

    client: httpx.Client

    @classmethod
    def of(cls, url: str) -> Developer:
        request = {"tenant": "demo", "user": "ada", "permissions": PERMISSIONS}
        token = httpx.post(f"{url}/local/token", json=request).raise_for_status().json()["token"]
        client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_SECONDS)
        return cls(client)

    def get(self, path: str) -> Any:
        return self.client.get(f"/v1{path}").raise_for_status().json()

    def post(self, path: str, body: object) -> Any:
        answer = self.client.post(f"/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def wait(self, path: str, is_done: Callable[[Any], bool]) -> Any:
        """Return what is at ``path`` once it is as it shall be."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self.client.get(f"/v1{path}")
            if answer.is_success and is_done(answer.json()):
                return answer.json()
            assert time.monotonic() < until, answer.text
            time.sleep(0.2)

    def talk(self, thread_id: str) -> None:
        """Say something with an attached file, and end the session, which is summarised."""
        content = {"name": "terms.txt", "contentType": "text/plain", "size": 11}
        announced = self.post(f"/threads/{thread_id}/files", content)
        target = announced["upload"]
        httpx.request(
            target["method"], target["url"], headers=target["headers"], content=b"No refunds."
        ).raise_for_status()
        parts = [{"type": "text", "text": "Say it: refunds"}, announced["part"]]
        answer = self.post("/messages", {"sessionId": thread_id, "message": parts})
        assert answer["outcome"] == {"type": "success"}, answer
        closed = self.post(f"/threads/{thread_id}/close", {})
        episode = self.wait(f"/episodes/{closed['episodeId']}", lambda value: value["status"] != "pending")
        assert (episode["status"], episode["missing"]) == ("complete", [])


def stop_program(process: ForkedProgram) -> None:
    """Stop it as a developer does; nothing has failed meanwhile."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    wrong = [line for line in (out + err).splitlines() if " ERROR " in line or "Traceback" in line or "failed" in line]
    assert wrong == []


@pytest.mark.parametrize("name", KINDS)
def test_a_provider_of_each_kind_serves_everything_before_and_after_another_start(
    name: str, stand_ins: StandIns, tmp_path: Path
) -> None:
    kind = KINDS[name]
    agents = [yaml.safe_load(file.read_text())["id"] for file in sorted((ROOT / "agents").glob("*.yaml"))]
    for agent_id in agents:
        (tmp_path / "documents" / agent_id).mkdir(parents=True)
        (tmp_path / "documents" / agent_id / "page.md").write_text(f"# Returns\n\n{agent_id} takes returns.\n")
    settings = {
        **kind.settings(stand_ins, tmp_path),
        "BATON_CHAT_MODEL": kind.model,
        "BATON_DATA_DIR": str(tmp_path / "data"),
        "BATON_DOCUMENTS_DIR": str(tmp_path / "documents"),
        "BATON_RECALL_DEADLINE_MS": "10000",
        "BATON_MODEL_PRICES": json.dumps({kind.model.partition("/")[2]: {"input": 2, "output": 8}}),
        "BATON_TENANT_LIMITS": '{"agents": 3}',
        "BATON_ALLOWED_ORIGINS": ORIGIN,
    }
    for start in ("first", "second"):
        with running(ROOT / "template.yaml", **settings) as (process, url):
            developer = Developer.of(url)
            report = developer.post("/models/check", {"model": kind.model})
            assert report["checks"][0]["works"] is True, report
            developer.talk(f"{start}-talk")
            for agent_id in agents:
                documents = developer.wait(
                    f"/agents/{agent_id}/documents",
                    lambda value: value["items"] and value["items"][0]["status"] in ("ready", "failed"),
                )
                assert documents["items"][0]["status"] == "ready"
            assert developer.get("/tenant/limits")["deployment"]["agents"] == 3
            requests = developer.client.get("/v1/threads", headers={"Origin": ORIGIN})
            assert requests.headers["Access-Control-Allow-Origin"] == ORIGIN
            requests = developer.client.get("/v1/threads", headers={"Origin": "https://else.example.com"})
            assert "Access-Control-Allow-Origin" not in requests.headers
            assert developer.get("/threads/first-talk")["cost"] > 0
            developer.client.close()
            stop_program(process)
    paths = {request.path for request in stand_ins.journal.requests}
    assert {path for path in paths if not path.endswith(("/invoke", kind.asks))} == set()
    assert any(path.endswith(kind.asks) for path in paths)


def test_a_tool_server_with_a_secret_is_called_with_that_of_the_developers_file(
    stand_ins: StandIns, tmp_path: Path
) -> None:
    seen: list[str] = []

    async def order(request: Request) -> Response:
        seen.append(request.headers["X-Api-Key"])
        seen.append(request.headers["X-Bus-Key"])
        return JSONResponse({"state": "shipped"})

    shop = ThreadedServer(Starlette(routes=[Route("/orders", order)]))
    agent = yaml.safe_load((ROOT / "agents" / "assistant.yaml").read_text())
    tool = {
        "type": "http",
        "name": "get_order",
        "description": "Gets an order.",
        "method": "GET",
        "url": f"http://127.0.0.1:{shop.start()}/orders",
        "parameters": {"type": "object", "properties": {}},
        "headers": {
            "X-Api-Key": {"secret": "baton/{stage}/tools/shop", "key": "api_key"},
            "X-Bus-Key": {"parameter": "/baton/{stage}/tools/bus"},
        },
    }
    shutil.copytree(ROOT / "agents", tmp_path / "agents")
    (tmp_path / "agents" / "assistant.yaml").write_text(yaml.safe_dump({**agent, "tools": [tool]}))
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text('"baton/{stage}/tools/shop": {api_key: k-1}\n/baton/local/tools/bus: k-2\n')
    try:
        settings = {
            **by_variable(stand_ins, tmp_path),
            "BATON_CHAT_MODEL": "mine/gpt-4.1",
            "BATON_AGENTS_DIR": str(tmp_path / "agents"),
            "BATON_LOCAL_SECRETS": str(secrets),
        }
        with running(ROOT / "template.yaml", **settings) as (process, url):
            developer = Developer.of(url)
            answer = developer.post("/messages", {"message": "use the tool get_order with {}"})
            assert "shipped" in str(answer)
            developer.client.close()
            stop_program(process)
    finally:
        shop.stop()
    assert seen == ["k-1", "k-2"]
