"""The widget as a stack serves it: on a foreign page with a strict policy, from a third origin, with its hash."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import pytest
from moto import mock_aws
from playwright.async_api import Page, Request, expect

from baton_deployment.publishing.widget import Place, Release, make_tag, publish, read_release
from baton_local import web
from baton_local.stack.intrinsics import Intrinsics
from tests.browser.screens import HostApplication, serving_guide
from tests.browser.widget import GUIDE, Widget
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import EMBED_GUIDE
from tests.fault_model import FaultModel, answers
from tests.infrastructure.stack import read_template
from tests.unit.docs.pages import block

expect.set_options(timeout=60_000)
BUCKET = "widget"


@dataclass(frozen=True)
class Published:
    """A distribution with a release, and the files that it serves, with the headers of each."""

    release: Release
    url: str
    files: dict[str, tuple[bytes, Mapping[str, str]]]


def headers_of_the_template() -> dict[str, str]:
    """Headers that CloudFront adds to each response, as far as a page of another origin depends on them."""
    config = read_template()["Resources"]["WidgetHeaders"]["Properties"]["ResponseHeadersPolicyConfig"]
    security = config["SecurityHeadersConfig"]
    assert security["ContentTypeOptions"]["Override"]
    return {
        "Access-Control-Allow-Origin": ", ".join(config["CorsConfig"]["AccessControlAllowOrigins"]["Items"]),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": security["ContentSecurityPolicy"]["ContentSecurityPolicy"],
        **{item["Header"]: item["Value"] for item in config["CustomHeadersConfig"]["Items"]},
    }


@pytest.fixture(scope="module")
def uploaded() -> tuple[Release, dict[str, tuple[bytes, Mapping[str, str]]]]:
    """The built widget, and what publishing it leaves in a bucket."""
    release = read_release(web.build(), "1.2.3")
    files: dict[str, tuple[bytes, Mapping[str, str]]] = {}
    with mock_aws():
        s3 = boto3.client("s3", "us-east-1", aws_access_key_id="local", aws_secret_access_key="local")
        s3.create_bucket(Bucket=BUCKET)
        publish(release, s3, BUCKET)
        for content in s3.list_objects_v2(Bucket=BUCKET)["Contents"]:
            file = s3.get_object(Bucket=BUCKET, Key=content["Key"])
            metadata = {"Content-Type": file["ContentType"], "Cache-Control": file["CacheControl"]}
            files[content["Key"]] = (file["Body"].read(), metadata)
        s3.close()
    return release, files


@pytest.fixture
def published(uploaded: tuple[Release, dict[str, tuple[bytes, Mapping[str, str]]]]) -> Iterator[Published]:
    """The distribution, on a separate address."""
    release, files = uploaded[0], dict(uploaded[1])
    everywhere = headers_of_the_template()

    class Distribution(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content, headers = files.get(self.path.removeprefix("/"), (b"", {}))
            self.send_response(200 if headers else 403)
            for name, value in {**everywhere, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Distribution) as server:
        threading.Thread(target=functools.partial(server.serve_forever, poll_interval=0.05), daemon=True).start()
        yield Published(release, f"http://127.0.0.1:{server.server_port}", files)
        server.shutdown()


def publish_pinned(published: Published, cloud: RunningCloud) -> str:
    """The output of publishing."""
    return make_tag(
        published.release, Place(BUCKET, published.url, cloud.url, f"{cloud.url.replace('http', 'ws', 1)}/ws")
    )


def newest(published: Published, cloud: RunningCloud) -> str:
    """The stack's output, with the addresses of here."""
    template = read_template()
    names = {
        "AWS::Region": "us-east-1",
        "AWS::URLSuffix": "amazonaws.com",
        "Stage": "dev",
        "FrontEndCertificateArn": "",
        "RestDomain": "",
        "SocketDomain": "",
    }
    resolver = Intrinsics(template, names, lambda logical_id, attribute: logical_id)
    html: str = resolver.resolve(template["Outputs"]["WidgetTag"]["Value"])
    gateway = "execute-api.us-east-1.amazonaws.com/dev"
    return (
        html.replace("https://WidgetDistribution", published.url)
        .replace(f"https://RestApi.{gateway}", cloud.url)
        .replace(f"wss://WebSocketApi.{gateway}", f"{cloud.url.replace('http', 'ws', 1)}/ws")
    )


@contextmanager
def host_page(folder: Path, html: str, published: Published, cloud: RunningCloud) -> Iterator[HostApplication]:
    """The guide's server with its policy, and a page with the tag, copied."""
    files = {
        "baton_token.py": block(EMBED_GUIDE, "embed_token"),
        "server.py": block(GUIDE, "widget_server").replace("'self' {BATON};", f"'self' {published.url};"),
        "public/index.html": f"<!doctype html><html lang=en><title>Order</title><body>{html}</body></html>",
    }
    with serving_guide(folder, cloud.url, files) as running:
        yield running


@pytest.mark.parametrize("make_tag", [publish_pinned, newest])
async def test_a_copied_tag_works_and_everything_comes_from_the_release(
    make_tag: object, page: Page, cloud: RunningCloud, model: FaultModel, published: Published, tmp_path: Path
) -> None:
    assert callable(make_tag)
    loaded: list[str] = []

    def note(request: Request) -> None:
        if request.resource_type == "script":
            loaded.append(request.url)

    page.on("request", note)
    with host_page(tmp_path, make_tag(published, cloud), published, cloud) as site:
        widget = Widget(page, site.url)
        await widget.open()
        model.script(answers("```python\ndef greet(): ...\n```"))
        await widget.say("How?")
        await expect(widget.locate_bodies("assistant").locator("pre .hljs-keyword")).to_have_text(["def"])
    release = f"{published.url}/{published.release.version}/"
    assert any(url.startswith(f"{release}chunks/highlight-") for url in loaded)
    alias = [f"{published.url}/latest/baton-chat.js"] if make_tag is newest else []
    assert [url for url in loaded if not url.startswith(release)] == alias


@pytest.mark.nightly
async def test_a_file_that_has_been_changed_does_not_run(
    page: Page, cloud: RunningCloud, published: Published, tmp_path: Path
) -> None:
    name = f"{published.release.version}/baton-chat.js"
    content, headers = published.files[name]
    published.files[name] = (content + b"\ndocument.title = 'stolen';", headers)
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    with host_page(tmp_path, publish_pinned(published, cloud), published, cloud) as site:
        await page.goto(site.url, wait_until="load")
    assert await page.title() == "Order"
    assert await page.evaluate("customElements.get('baton-chat') === undefined")
    assert any("integrity" in text for text in refused)
