"""Stored objects invoke the functions of the rules that match them."""

import queue
from collections.abc import Iterator
from typing import Any

import pytest

from baton_local.engines.clients import client
from baton_local.engines.moto import MotoServer
from baton_local.stack.declarations import ObjectRule
from baton_local.workers.object_events import ObjectEvents

RULE = ObjectRule("Ingest", ("files",), ("*/~documents/*/original", "exactly"))
SECONDS = 10


@pytest.mark.parametrize(
    ("bucket", "key", "matches"),
    [
        ("files", "acme/~documents/a/b/1/original", True),
        ("files", "exactly", True),
        ("files", "not exactly", False),
        ("files", "acme/~documents/a/b/1/original/more", False),
        ("files", "acme/xdocuments/a/original", False),
        ("others", "exactly", False),
    ],
)
def test_a_rule_matches_buckets_and_wildcards_of_keys(bucket: str, key: str, matches: bool) -> None:
    assert RULE.matches(bucket, key) is matches


@pytest.fixture
def moto() -> Iterator[tuple[MotoServer, Any]]:
    server = MotoServer()
    s3 = client("s3", server.start())
    s3.create_bucket(Bucket="files")
    yield server, s3
    s3.close()
    server.stop()


def test_an_object_that_was_stored_is_reported_with_its_own_key(moto: tuple[MotoServer, Any]) -> None:
    server, s3 = moto
    reported: queue.SimpleQueue[tuple[str, str, int]] = queue.SimpleQueue()
    server.created = lambda *created: reported.put(created)
    s3.put_object(Bucket="files", Key="a b/\u00fc+%41", Body=b"12345")
    assert reported.get(timeout=SECONDS)[:2] == ("files", "a b/\u00fc+%41")
    s3.put_object_tagging(Bucket="files", Key="a b/\u00fc+%41", Tagging={"TagSet": [{"Key": "a", "Value": "b"}]})
    with pytest.raises(s3.exceptions.ClientError):
        s3.put_object(Bucket="files", Key="a b/\u00fc+%41", Body=b"again", IfNoneMatch="*")
    assert reported.empty()


def test_a_function_that_fails_is_invoked_again_with_one_line_about_the_cause(caplog: pytest.LogCaptureFixture) -> None:
    invoked: queue.SimpleQueue[Any] = queue.SimpleQueue()
    failure = RuntimeError("not yet")
    failure.__cause__ = TimeoutError("read timeout=5")
    failures = iter([failure])

    def invoke(name: str, event: Any) -> None:
        invoked.put((name, event))
        for failure in failures:
            raise failure

    events = ObjectEvents([RULE], invoke)
    events.report_created("files", "nobody's", 1)
    events.report_created("files", "exactly", 7)
    (name, event), again = invoked.get(timeout=SECONDS), invoked.get(timeout=SECONDS)
    events.stop()
    assert again == (name, event)
    assert name == "Ingest"
    assert (event["source"], event["detail-type"]) == ("aws.s3", "Object Created")
    assert event["detail"]["object"] == {"key": "exactly", "size": 7}
    assert invoked.empty()
    [record] = [record for record in caplog.records if record.name == "baton_local.workers.object_events"]
    assert record.getMessage() == "Ingest failed for a stored object, trying again: TimeoutError('read timeout=5')"
    assert record.exc_info is None
