"""The buttons of an AG-UI interface, with the agent that the how-to gives to its page, and without."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from pathlib import Path

import pytest

from tests.e2e.agui_clients import NEWER, OLDER, clients_folder
from tests.e2e.sockets import PATIENCE_SECONDS, new_id
from tests.e2e.users import Json, User
from tests.fault_model import FaultModel, answers
from tests.npm import program

pytestmark = pytest.mark.nightly

__all__ = ["clients_folder"]

PAGE = Path(__file__).parents[2] / "docs/how-to/regenerate-and-edit.md"
DRIVER = """
import { randomUUID } from "node:crypto";
const [, , kind, url, token, threadId] = process.argv;
const Agent = kind === "branching" ? BranchingAgent : HttpAgent;
const open = () => new Agent({ url, threadId, headers: { Authorization: `Bearer ${token}` } });
const agent = open();
const told = [];
async function run(one, messages) {
  one.setMessages(messages);
  await one.runAgent({});
  told.push(one.messages.map(({ content }) => content));
}
const user = (content) => ({ id: randomUUID(), role: "user", content });
await run(agent, [user("First")]);
await run(agent, [...agent.messages, user("Second")]);
const before = agent.messages;
const otherTab = open();
if (kind === "branching") otherTab.shown = new Map(agent.shown);
await run(agent, before.slice(0, 3)); // "regenerate" of assistant-ui and CopilotKit
await run(otherTab, before.slice(0, 3)); // the same, in a tab or a retry that has not seen the new answer
await run(agent, [...before.slice(0, 2), user("Second, better")]); // "edit" of assistant-ui
await run(agent, [...agent.messages, user("Third")]);
await run(agent, [user("First, better")]);
console.log(JSON.stringify(told));
"""


async def press_buttons(folder: Path, version: str, kind: str, user: User, thread_id: str) -> list[list[str]]:
    """The page after each press of a button."""
    match = re.search(r"<!-- agent -->\n```js\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert match is not None
    code = match[1].replace("@ag-ui/client", f"ag-ui-client-{version}") + DRIVER
    with tempfile.TemporaryDirectory(dir=folder) as beside:
        script = Path(beside) / "page.mjs"
        script.write_text(code)
        process = await asyncio.create_subprocess_exec(
            program("node"),
            str(script),
            kind,
            f"{user.cloud.url}/v1/runs",
            user.token,
            thread_id,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    reported: list[list[str]] = json.loads(out)
    return reported


def script(model: FaultModel) -> None:
    model.script(*(answers(text) for text in ("One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.")))


async def list_texts(user: User, thread_id: str) -> list[str]:
    messages: list[Json] = await user.messages(thread_id)
    return [message["content"] for message in messages]


@pytest.mark.parametrize("version", [*OLDER, *NEWER])
async def test_buttons_do_what_they_say(version: str, clients_folder: Path, alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    script(model)
    reported = await press_buttons(clients_folder, version, "branching", alice, thread_id)
    assert reported[2:] == [
        ["First", "One.", "Second", "Three."],
        ["First", "One.", "Second", "Three."],
        ["First", "One.", "Second, better", "Four."],
        ["First", "One.", "Second, better", "Four.", "Third", "Five."],
        ["First, better", "Six."],
    ]
    assert await list_texts(alice, thread_id) == reported[-1]
    branches = (await alice.read(f"/threads/{thread_id}/branches"))["items"]
    assert [branch["text"] for branch in branches] == ["First", "Second", "Second", "Second, better", "First, better"]


async def test_without_a_request_nothing_branches(clients_folder: Path, alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    script(model)
    reported = await press_buttons(clients_folder, NEWER[0], "plain", alice, thread_id)
    assert reported[2] == reported[3] == ["First", "One.", "Second", "Two."]
    assert await list_texts(alice, thread_id) == [
        *("First", "One.", "Second", "Two.", "Second, better", "Three.", "Third", "Four."),
        *("First, better", "Five."),
    ]
    assert (await alice.read(f"/threads/{thread_id}/branches"))["items"] == []
