"""Dead events of webhooks in the console: listed with their reason, and sent again."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.console import Console, say
from tests.e2e.a2a.receiver import Receiver
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


async def test_an_administrator_sends_events_again_that_their_receiver_refused(
    page: Page, fault_model_server: FaultModel, tmp_path: Path
) -> None:
    async with Receiver([410, 410, 410]) as receiver:
        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        webhook = {"id": "crm", "url": receiver.url, "events": ["message.created"], "secret": secret}
        file = tmp_path / "settings.local.yaml"
        file.write_text(json.dumps({"version": 1, "webhooks": [webhook]}))
        with RunningCloud(fault_model_server.base_url, {"BATON_LOCAL_SETTINGS": str(file)}) as cloud:
            tenant = f"t{uuid.uuid4().hex[:8]}"
            refused = []
            for text in ("Call me back", "And me"):
                await say(cloud, tenant, "ada@example.com", str(uuid.uuid4()), text)
                refused += [(await receiver.receive()).json, (await receiver.receive()).json]
            refused.pop()  # which it took
            console = Console(page, cloud.url)
            await console.open("/webhooks")
            await console.sign_in(tenant)
            rows = console.main.locator("tbody tr")
            await expect(rows).to_have_count(3)
            await expect(rows.first).to_contain_text("message.created")
            await expect(rows.first).to_contain_text("status 410")
            await rows.first.get_by_role("button", name="Send message.created again").click()
            await expect(rows).to_have_count(2)
            assert (await receiver.receive()).json == refused.pop()
            await console.main.get_by_role("button", name="Send all again").click()
            await expect(console.main.get_by_text("Nothing was found.")).to_be_visible()
            assert [(await receiver.receive()).json for _ in refused] == refused
