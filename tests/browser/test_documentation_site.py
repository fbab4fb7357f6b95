"""The site of the documentation: it loads nothing from elsewhere, finds words, and has an index for programs."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from baton_local.root import ROOT
from tests.environment import INITIAL_ENVIRONMENT

pytestmark = pytest.mark.nightly

LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(https?:)?//"
    r"|<link\b[^>]*stylesheet[^>]*href=[\"']?(https?:)?//"
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as ``make docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    configuration = ROOT / "docs" / "site" / "mkdocs.yml"
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", configuration, "--site-dir", folder],
        check=True,
        env={**INITIAL_ENVIRONMENT, "NO_MKDOCS_2_WARNING": "1"},
    )
    return folder


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """The address of the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_programs_find_every_page(site: Path) -> None:
    listed = re.findall(r"^- \[.+\]\((.+)\)$", (site / "llms.txt").read_text(), re.MULTILINE)
    assert len(listed) > 50
    whole = (site / "llms-full.txt").read_text()
    for page in listed:
        assert (site / page).read_text() in whole


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    assert [page.name for page in site.rglob("*.html") if LOADED.search(page.read_text())] == []


async def test_a_word_is_found_without_another_host(page: Page, address: str) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    await page.goto(f"{address}/how-to/troubleshoot/")
    await page.get_by_placeholder("Search").fill("troubleshoot")
    await expect(page.locator(".md-search-result__item").first).to_be_visible()
    await expect(page.locator(".md-search-result__list")).to_contain_text("Troubleshoot")
    assert [url for url in requests if not url.startswith(address) and not url.startswith("data:")] == []
