"""Publishing the widget to a bucket, as moto serves it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from mypy_boto3_s3 import S3Client

from baton_deployment.errors import DeploymentError
from baton_deployment.publishing import widget as publishing
from baton_deployment.publishing.console import ConsolePlace, find_console_place, publish_console, read_console
from baton_deployment.publishing.objects import FOR_EVER
from baton_deployment.publishing.widget import Release, find_widget_place, make_tag, publish, read_release
from baton_local.engines.clients import client

ENTRY = "export const chat = 1;"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """The files of a build."""
    return build(tmp_path, ENTRY)


@pytest.fixture
def s3(moto_server: str) -> Iterator[S3Client]:
    s3_client: S3Client = client("s3", moto_server)
    yield s3_client
    s3_client.close()


@pytest.fixture
def bucket(s3: S3Client) -> str:
    name = f"widget-{uuid.uuid4()}"
    s3.create_bucket(Bucket=name)
    return name


def build(folder: Path, entry: str) -> Path:
    scripts = {"baton-chat.js": entry, "baton-client.js": "export {};", "chunks/de-5YN3VXVH.js": "export const de = 1;"}
    for name, text in scripts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "baton-chat.js.map").write_text("{}")
    (folder / ".built-of").write_text("0")
    integrity = {name: publishing._compute_integrity(text.encode()) for name, text in scripts.items()}
    (folder / "integrity.json").write_text(json.dumps(integrity))
    return folder


def list_stored(s3: S3Client, bucket: str) -> dict[str, tuple[str, str]]:
    """Key -> type and caching."""
    results = {}
    for content in s3.list_objects_v2(Bucket=bucket)["Contents"]:
        head = s3.head_object(Bucket=bucket, Key=content["Key"])
        results[content["Key"]] = (head["ContentType"].partition(";")[0], head["CacheControl"])
    return results


def text_of(s3: S3Client, bucket: str, key: str) -> str:
    return s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode()


def test_a_release_is_kept_for_ever_and_the_alias_for_minutes(built: Path, s3: S3Client, bucket: str) -> None:
    release = read_release(built, "1.2.3")
    publish(release, s3, bucket)
    assert release.version.startswith("v1.2.3-")
    stored_value, alias = FOR_EVER, publishing.FIVE_MINUTES
    assert list_stored(s3, bucket) == {
        f"{release.version}/baton-chat.js": ("text/javascript", stored_value),
        f"{release.version}/baton-chat.js.map": ("application/json", stored_value),
        f"{release.version}/baton-client.js": ("text/javascript", stored_value),
        f"{release.version}/chunks/de-5YN3VXVH.js": ("text/javascript", stored_value),
        f"{release.version}/integrity.json": ("application/json", stored_value),
        "latest/baton-chat.js": ("text/javascript", alias),
        "latest/baton-client.js": ("text/javascript", alias),
    }
    assert text_of(s3, bucket, "latest/baton-chat.js") == f'export * from "../{release.version}/baton-chat.js";\n'


def test_publishing_again_uploads_what_is_missing(built: Path, s3: S3Client, bucket: str) -> None:
    release = read_release(built, "1.2.3")
    publish(release, s3, bucket)
    before = list_stored(s3, bucket)
    s3.delete_object(Bucket=bucket, Key=f"{release.version}/chunks/de-5YN3VXVH.js")
    publish(read_release(built, "1.2.3"), s3, bucket)
    assert list_stored(s3, bucket) == before


def test_another_build_of_the_same_version_has_a_folder_of_its_own(
    built: Path, tmp_path_factory: pytest.TempPathFactory, s3: S3Client, bucket: str
) -> None:
    older = read_release(built, "1.2.3")
    newer = read_release(build(tmp_path_factory.mktemp("newer"), "export const chat = 2;"), "1.2.3")
    publish(older, s3, bucket)
    publish(newer, s3, bucket)
    assert text_of(s3, bucket, f"{older.version}/baton-chat.js") == ENTRY
    assert newer.version in text_of(s3, bucket, "latest/baton-chat.js")
    publish(older, s3, bucket)
    assert older.version in text_of(s3, bucket, "latest/baton-chat.js")


def test_a_published_file_is_never_overwritten(built: Path, s3: S3Client, bucket: str) -> None:
    release = read_release(built, "1.2.3")
    publish(release, s3, bucket)
    alias = text_of(s3, bucket, "latest/baton-chat.js")
    other = Release(release.version, {**release.files, "baton-chat.js": b"other()"}, release.integrity)
    with pytest.raises(DeploymentError, match=f"{release.version}/baton-chat.js is published with other bytes"):
        publish(other, s3, bucket)
    assert text_of(s3, bucket, f"{release.version}/baton-chat.js") == ENTRY
    assert text_of(s3, bucket, "latest/baton-chat.js") == alias


@pytest.mark.parametrize("damage", ["baton-chat.js", "chunks/added.js", "-chunks/de-5YN3VXVH.js", "-integrity.json"])
def test_what_is_not_as_it_was_built_is_not_published(built: Path, damage: str) -> None:
    if damage.startswith("-"):
        (built / damage[1:]).unlink()
    else:
        (built / damage).write_text("stolen()")
    with pytest.raises(DeploymentError, match="is not as it was built"):
        read_release(built, "1.2.3")


def test_the_tag_pins_the_release_and_names_the_stacks_addresses(built: Path) -> None:
    release = read_release(built, "1.2.3")
    outputs = {
        "WidgetBucketName": "widget",
        "WidgetUrl": "https://d1.cloudfront.net",
        "RestUrl": "https://r1.execute-api.us-east-1.amazonaws.com/dev",
        "WebSocketUrl": "wss://w1.execute-api.us-east-1.amazonaws.com/dev",
    }
    location = find_widget_place(outputs)
    assert location is not None
    html = make_tag(release, location)
    assert f'src="https://d1.cloudfront.net/{release.version}/baton-chat.js"' in html
    assert f'integrity="{release.integrity["baton-chat.js"]}" crossorigin="anonymous"' in html
    assert f'endpoint="{outputs["RestUrl"]}"' in html
    assert f'socket="{outputs["WebSocketUrl"]}"' in html


def test_a_stack_without_the_widget_has_no_place_for_it() -> None:
    assert find_widget_place({"RestUrl": "https://r1.execute-api.us-east-1.amazonaws.com/dev"}) is None


CONSOLE = {
    "index.html": '<script type="module" src="console-AAAAAAAA.js"></script>',
    "page.css": "body {}",
    "console-AAAAAAAA.js": "import('./chunks/threads-BBBBBBBB.js');",
    "console-AAAAAAAA.js.map": "{}",
    "console-AAAAAAAA.js.LEGAL.txt": "MIT",
    "chunks/threads-BBBBBBBB.js": "export {};",
}
OUTPUTS = {
    "ConsoleUrl": "https://d1.cloudfront.net/monitor/",
    "ConsoleConfig": (
        '{"oidc":{"issuer":"https://idp.example","clientId":"c1","scope":"openid  offline_access","audience":""},'
        '"traceUrl":"https://traces.example/{traceId}"}'
    ),
}


def console(folder: Path, files: dict[str, str] = CONSOLE) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def console_place(bucket: str) -> ConsolePlace:
    location = find_console_place({**OUTPUTS, "ConsoleBucketName": bucket})
    assert location is not None
    return location


def test_the_console_is_a_page_asked_for_each_time_of_modules_kept_for_ever(
    tmp_path: Path, s3: S3Client, bucket: str
) -> None:
    publish_console(read_console(console(tmp_path)), s3, console_place(bucket))
    publish_console(read_console(tmp_path), s3, console_place(bucket))
    assert list_stored(s3, bucket) == {
        "monitor/index.html": ("text/html", "no-cache"),
        "monitor/page.css": ("text/css", "no-cache"),
        "monitor/config.json": ("application/json", "no-cache"),
        "monitor/console-AAAAAAAA.js": ("text/javascript", FOR_EVER),
        "monitor/console-AAAAAAAA.js.map": ("application/json", FOR_EVER),
        "monitor/console-AAAAAAAA.js.LEGAL.txt": ("text/plain", FOR_EVER),
        "monitor/chunks/threads-BBBBBBBB.js": ("text/javascript", FOR_EVER),
    }
    config = {
        "oidc": {"issuer": "https://idp.example", "clientId": "c1", "scope": "openid offline_access"},
        "traceUrl": "https://traces.example/{traceId}",
    }
    assert json.loads(text_of(s3, bucket, "monitor/config.json")) == config


def test_a_module_with_other_bytes_leaves_the_page_that_is_there(tmp_path: Path, s3: S3Client, bucket: str) -> None:
    location = console_place(bucket)
    publish_console(read_console(console(tmp_path)), s3, location)
    changed = {**CONSOLE, "index.html": f"{CONSOLE['index.html']}<!-- new -->", "chunks/threads-BBBBBBBB.js": "other"}
    with pytest.raises(DeploymentError, match="other bytes"):
        publish_console(read_console(console(tmp_path, changed)), s3, location)
    assert text_of(s3, bucket, "monitor/index.html") == CONSOLE["index.html"]


@pytest.mark.parametrize("missing", ["index.html", "console-AAAAAAAA.js"])
def test_half_a_console_is_not_published(tmp_path: Path, missing: str) -> None:
    (console(tmp_path) / missing).unlink()
    with pytest.raises(DeploymentError, match="make web"):
        read_console(tmp_path)


def test_a_stack_without_a_console_has_no_place_for_one() -> None:
    assert find_console_place({"RestUrl": "https://api.example"}) is None
