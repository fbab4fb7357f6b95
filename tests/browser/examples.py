"""The example applications on AG-UI interfaces, built as their READMEs say, in front of a local cloud."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from baton_local.engines.downloads import locked
from baton_local.root import ROOT
from tests.npm import install, program

WRITTEN = "http://127.0.0.1:8080"


def build_example(name: str, folder: Path) -> Path:
    """Build the example in ``folder``, with the packages of its lock file; return what is served.

    What the build made of the same sources is kept between test runs, for it takes a while.
    """
    source = ROOT / "examples" / name
    copy = folder / name
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("node_modules", "app.js", "app.css"))
    packages = install(source)
    stored = packages / f"built-{_digest(copy)}"
    with locked(packages.with_suffix(".lock")):
        if not stored.is_dir():
            (copy / "node_modules").symlink_to(packages / "node_modules")
            for script in ("types", "build"):
                _run(script, copy)
            (copy / "public").rename(stored)
    return shutil.copytree(stored, folder / "served")


def _digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.name.encode() + b"\0" + path.read_bytes() for path in files)).hexdigest()[:16]


def _run(script: str, folder: Path) -> None:
    done = subprocess.run([program("npm"), "run", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Quiet(SimpleHTTPRequestHandler):
    """A file server without a log."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serve_example(files: Path, product: str) -> Iterator[str]:
    """Serve an example that was built, for Baton at the address ``product``; its own address."""
    page = files / "index.html"
    page.write_text(page.read_text().replace(WRITTEN, product))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(files))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


@dataclass
class Example:
    """The page of an example, used by a user of a separate tenant."""

    page: Page
    url: str

    async def open(self, agent: str = "") -> None:
        """Load the page."""
        query = f"?tenant=t-{uuid.uuid4().hex}" + (f"&agent={agent}" if agent else "")
        await self.page.goto(f"{self.url}/index.html{query}")
        await expect(self.input).to_be_visible()

    @property
    def input(self) -> Locator:
        """The input for messages."""
        return self.page.get_by_role("textbox", name="Your message")

    @property
    def answers(self) -> Locator:
        """The answers of the agents."""
        return self.page.locator("article.assistant .text")

    @property
    def questions(self) -> Locator:
        """The messages of the user."""
        return self.page.locator("article.user .text")

    @property
    def agent(self) -> Locator:
        """The names of the answering agents."""
        return self.page.locator("header .agent")

    def button(self, name: str) -> Locator:
        """The newest button of that name."""
        return self.page.get_by_role("button", name=name).last

    async def say(self, text: str) -> None:
        """Type a message and send it."""
        await expect(self.page.get_by_role("button", name="Send")).to_be_visible()
        await self.input.fill(text)
        await self.page.keyboard.press("Enter")
