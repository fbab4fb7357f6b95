"""The demo page needs the built widget, and says so where that is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import httpx

from baton_local.cloud import PAGE
from baton_local.gateway.application import Application
from baton_local.serving.hosts import LocalHosts
from baton_local.tokens import EmbedKey


async def ask(widget: Path, path: str) -> httpx.Response:
    absent = cast("Any", None)
    key = EmbedKey("x" * 32)
    application = Application(
        absent, absent, absent, key, PAGE, widget, widget / "console", {}, None, about={}, hosts=LocalHosts(frozenset())
    )
    transport = httpx.ASGITransport(app=cast("Any", application))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path)


async def test_a_page_without_its_widget_says_what_to_do_until_it_is_built(tmp_path: Path) -> None:
    widget = tmp_path / "dist"
    for path in ["/", "/widget/baton-chat.js"]:
        answer = await ask(widget, path)
        assert answer.status_code == 503
        assert "make web" in answer.text
    widget.mkdir()
    (widget / "baton-chat.js").write_text("export {};")
    page = await ask(widget, "/")
    assert "<baton-chat" in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert (await ask(widget, "/widget/baton-chat.js")).text == "export {};"
    assert (await ask(widget, "/widget/none.js")).status_code == 404
