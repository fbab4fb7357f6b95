"""The two that talk to the product here: the widget, and the page of the guide to embedding."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx
from playwright.async_api import Locator, Page, WebSocket, expect

from baton_local.engines.process import find_free_port
from tests.e2e.fixtures import EMBED_GUIDE
from tests.e2e.gates import Gate
from tests.environment import INITIAL_ENVIRONMENT
from tests.fault_model import FaultModel
from tests.unit.docs.pages import block

FILES = {
    "baton_token.py": "embed_token",
    "server.py": "embed_server",
    "public/connection.js": "embed_connection",
    "public/chat.js": "embed_chat",
    "public/index.html": "embed_page",
}
"""The files that the guide has a reader save, and the mark of each file's block."""
WRITTEN = "127.0.0.1:8080"


class Talks(Protocol):
    """Something on a page that people talk to."""

    async def say(self, text: str) -> None:
        """Type a message and send it."""

    def locate_bodies(self, role: str) -> Locator:
        """Return the bodies of the messages of "user" or "assistant"."""


@dataclass(frozen=True)
class Screen:
    """A page in front of the product."""

    page: Page
    url: str
    bodies: str
    """Selects the bodies of the messages of ``{role}``."""
    statuses: str = "#status"
    """Selects what says how the connection is."""

    async def open(self) -> WebSocket:
        """Load the page and return its connection once that is there."""
        async with self.page.expect_websocket() as connection:
            await self.page.goto(self.url)
        await expect(self.status).to_have_text("Connected")
        return await connection.value

    @property
    def status(self) -> Locator:
        """The state of the connection."""
        return self.page.locator(self.statuses)

    @property
    def stop(self) -> Locator:
        """The button that stops a run."""
        return self.page.get_by_role("button", name="Stop")

    def locate_bodies(self, role: str) -> Locator:
        """Return the bodies of the messages of "user" or "assistant"."""
        return self.page.locator(self.bodies.format(role=role))

    async def say(self, text: str) -> None:
        """Type a message and send it."""
        await self.page.get_by_role("textbox", name="Your message").fill(text)
        await self.page.keyboard.press("Enter")

    async def pass_time(self, seconds: float) -> None:
        """Have the page's clock run on, as fast as it can: no network has the time to answer meanwhile."""
        await self.page.clock.run_for(round(seconds * 1000))

    async def hide(self) -> None:
        """Have another page before this one."""
        await self._look("hidden")

    async def show(self) -> None:
        """Have this page before the reader again."""
        await self._look("visible")

    async def _look(self, state: str) -> None:
        await self.page.evaluate(
            """(state) => {
                const fields = { visibilityState: { value: state }, hidden: { value: state === "hidden" } };
                for (const field of Object.values(fields)) field.configurable = true;
                Object.defineProperties(document, fields);
                document.dispatchEvent(new Event("visibilitychange"));
            }""",
            state,
        )

    async def fall_asleep(self, seconds: float) -> None:
        """Have the page's clock jump, as when a laptop is closed: what was due meanwhile is done once, at the end."""
        await self.page.clock.fast_forward(round(seconds * 1000))


@dataclass(frozen=True)
class HostApplication:
    """The host application of a guide, running, and the conversation that its page shows."""

    url: str
    session_id: str
    token: str
    """A token that the application has given out."""


def host_application(folder: Path, product: str) -> AbstractContextManager[HostApplication]:
    """Do what the guide says, in an empty folder: save its files, start its server. ``product`` is Baton's address."""
    return serving_guide(folder, product, {path: block(EMBED_GUIDE, mark) for path, mark in FILES.items()})


@contextmanager
def serving_guide(folder: Path, product: str, files: Mapping[str, str]) -> Iterator[HostApplication]:
    """Save the files of a guide in ``folder``, with this product and a separate session, and start its server."""
    session_id = f"order-{uuid.uuid4()}"
    address = product.removeprefix("http://")
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.replace(WRITTEN, address).replace("order-4711", session_id))
    port = find_free_port()
    key = json.loads(block(EMBED_GUIDE, "embed_keys"))["acme-1"]["key"]
    environment = {**INITIAL_ENVIRONMENT, "BATON_EMBED_KEY": key, "HOST_PORT": str(port)}
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [sys.executable, "server.py"], cwd=folder, env=environment, stderr=subprocess.DEVNULL
    ) as process:
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=10), trust_env=False) as client:
                token = client.get(f"{url}/baton-token").text
            yield HostApplication(url, session_id, token)
        finally:
            process.kill()


async def show_half_story(page: Talks, model: FaultModel) -> Gate:
    """Ask for a story and return once its first half is shown; the gate holds the rest."""
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    await page.say("Tell me a story")
    await expect(page.locate_bodies("assistant").last).to_have_text("It was a dark")
    return gate
