"""The files of the console, published to the bucket from which a stage serves them.

Modules are named after their content and never change. The page names the newest modules and is written last, so that
a browser always gets all parts of one build.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from baton_deployment.errors import DeploymentError
from baton_deployment.publishing.objects import CONTENT_TYPES, put_once, read_files
from baton_local.web import CONSOLE_PAGE

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

FOLDER = "monitor"
CONFIG = "config.json"
ASKED_EACH_TIME = "no-cache"
HASHED = re.compile(r"-[A-Z0-9]{8}\.[a-z]+(\.map|\.LEGAL\.txt)?$")
"""The names of files that the build names after their content, so that they never change."""


@dataclass(frozen=True)
class ConsolePlace:
    """The bucket and address from which a stack serves the console, and its configuration."""

    bucket: str
    url: str
    config: Mapping[str, Any]
    """The contents of the page's ``config.json``."""


def find_console_place(outputs: Mapping[str, str]) -> ConsolePlace | None:
    """Return the console's place from a stack's outputs; None if the stack serves no console."""
    if "ConsoleBucketName" not in outputs:
        return None
    settings = json.loads(outputs["ConsoleConfig"])
    config: dict[str, Any] = {
        "oidc": {name: " ".join(value.split()) for name, value in settings["oidc"].items() if value.strip()}
    }
    if settings.get("traceUrl"):
        config["traceUrl"] = settings["traceUrl"]
    return ConsolePlace(outputs["ConsoleBucketName"], outputs["ConsoleUrl"], config)


def read_console(built: Path) -> dict[str, bytes]:
    """Return the files of a build. Raises ``DeploymentError`` if the page, or a module that it names, is missing."""
    files = read_files(built)
    page = files.get(CONSOLE_PAGE, b"").decode()
    named = re.findall(r'<script[^>]* src="([^"]+)"', page)
    if not named or not set(named) <= set(files):
        raise DeploymentError(f"{built} is not as it was built: remove it, then run `make web`.")
    return files


def publish_console(files: Mapping[str, bytes], s3: "S3Client", console_place: ConsolePlace) -> None:
    """Upload missing modules, then the changing files, and the page last. It may be repeated.

    Raises ``DeploymentError`` if a module exists with other bytes. The page is not changed then.
    """
    for name, content in files.items():
        if HASHED.search(name):
            put_once(s3, console_place.bucket, f"{FOLDER}/{name}", content)
    changing = {name: content for name, content in files.items() if not HASHED.search(name) and name != CONSOLE_PAGE}
    changing |= {CONFIG: json.dumps(console_place.config).encode(), CONSOLE_PAGE: files[CONSOLE_PAGE]}
    for name, content in changing.items():
        s3.put_object(
            Bucket=console_place.bucket,
            Key=f"{FOLDER}/{name}",
            Body=content,
            ContentType=CONTENT_TYPES[Path(name).suffix],
            CacheControl=ASKED_EACH_TIME,
        )
