"""The files of the widget, published to the bucket from which a stage serves them.

Each build of the widget has a separate folder, named after its version and content, whose files never change.
``latest/`` has one small module for each entry, which imports the entry of the newest folder. Writing these modules
switches to a release, and pages that have loaded an older one still find its parts.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from baton_deployment.errors import DeploymentError
from baton_deployment.publishing.objects import CONTENT_TYPES, put_once, read_files

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ENTRIES = ("baton-chat.js", "baton-client.js")
FIVE_MINUTES = "public, max-age=300"


@dataclass(frozen=True)
class Release:
    """A build of the widget."""

    version: str
    """The release's folder in the bucket, such as ``v0.1.0-5f0c2a91d3e4``."""
    files: Mapping[str, bytes]
    integrity: Mapping[str, str]
    """The values of a script tag's ``integrity``, by file."""


@dataclass(frozen=True)
class Place:
    """The bucket and address from which a stack serves the widget, and the addresses of its APIs."""

    bucket: str
    url: str
    rest_url: str
    socket_url: str


def read_release(built: Path, number: str) -> Release:
    """Return the release of a build with the version ``number``.

    Raises ``DeploymentError`` unless its scripts are exactly those in ``integrity.json``.
    """
    files = read_files(built)
    integrity: dict[str, str] = json.loads(files.get("integrity.json", b"{}"))
    hashes = {name: _compute_integrity(content) for name, content in files.items() if name.endswith(".js")}
    if not set(ENTRIES) <= set(hashes) or hashes != integrity:
        raise DeploymentError(f"{built} is not as it was built: remove it, then run `make web`.")
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\n{len(content)}\n".encode())
        digest.update(content)
    return Release(f"v{number}-{digest.hexdigest()[:12]}", files, integrity)


def publish(release: Release, s3: "S3Client", bucket: str) -> None:
    """Upload missing files, then switch ``latest/`` to the release. It may be repeated.

    Raises ``DeploymentError`` if a file exists with other bytes. ``latest/`` is not changed then.
    """
    for name, content in release.files.items():
        put_once(s3, bucket, f"{release.version}/{name}", content)
    for name in ENTRIES:
        alias = f'export * from "../{release.version}/{name}";\n'.encode()
        s3.put_object(
            Bucket=bucket, Key=f"latest/{name}", Body=alias, ContentType=CONTENT_TYPES[".js"], CacheControl=FIVE_MINUTES
        )


def make_tag(release: Release, widget_place: Place) -> str:
    """Return the HTML with which a page loads exactly this release."""
    script = f"{widget_place.url}/{release.version}/baton-chat.js"
    return (
        f'<script type="module" src="{escape(script)}"\n'
        f'  integrity="{release.integrity["baton-chat.js"]}" crossorigin="anonymous"></script>\n'
        f'<baton-chat endpoint="{escape(widget_place.rest_url)}"\n'
        f'  socket="{escape(widget_place.socket_url)}" token-url="/baton-token"></baton-chat>'
    )


def find_widget_place(outputs: Mapping[str, str]) -> Place | None:
    """Return the widget's place from a stack's outputs; None if the stack serves no widget."""
    if "WidgetBucketName" not in outputs:
        return None
    rest_url = outputs.get("RestDomainUrl", outputs["RestUrl"])
    socket_url = outputs.get("SocketDomainUrl", outputs["WebSocketUrl"])
    return Place(outputs["WidgetBucketName"], outputs["WidgetUrl"], rest_url, socket_url)


def _compute_integrity(content: bytes) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()
