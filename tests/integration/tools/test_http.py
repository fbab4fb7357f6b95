"""HTTP operations as tools, of a service that is well or unwell."""

from __future__ import annotations

import asyncio
import datetime
import json
import re
import ssl
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from baton.adapters.egress import EgressPolicy
from baton.ports.agents.tools import ToolFailed
from tests.integration.tools.harness import ADA, Harness, agent_with, http
from tests.integration.tools.http_server import http_server
from tests.unit.adapters.egress.serving import serving


def arguments(*required: str, **others: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in required} | others,
        "required": list(required),
    }


async def test_an_operation_is_offered_as_declared(harness: Harness) -> None:
    agent = agent_with(http(1, "/{id}", parameters=arguments("id"), requires_approval=True, timeout_seconds=9))
    [tool] = (await harness.toolbox.offered(agent, ADA)).tools
    assert (tool.spec.name, tool.spec.description, tool.origin) == ("fetch", "Fetches.", "http")
    assert (tool.requires_approval, tool.timeout_seconds) == (True, 9)
    assert tool.spec.parameters == arguments("id")


async def test_placeholders_take_arguments_and_the_rest_goes_to_the_query(harness: Harness, service: int) -> None:
    agent = agent_with(http(service, "/crm/{id}/notes?v={v}", parameters=arguments("id", "v")))

    reported = json.loads(
        (await harness.call(agent, "fetch", id="a/b c?#&%", v="1&admin=1", tag=["x", "y"], on=True)).text
    )

    assert (reported["method"], reported["path"]) == ("GET", "/crm/a%2Fb%20c%3F%23%26%25/notes")
    assert reported["query"] == [["v", "1&admin=1"], ["tag", "x"], ["tag", "y"], ["on", "true"]]
    assert reported["headers"]["idempotency-key"] == "key-1"


@pytest.mark.parametrize(
    "value",
    [
        *["", ".", "..", None, {"a": 1}, ["x"], "\ud800"],
        *["../users", "a/../../users", "a/..", "/etc", "a//b", "./a", "..\\users", "a\\..\\b"],
        *["..;/users", "a/..;v=1/b", ".. /users", "%2e%2e", "..%2Fusers", "%252e%252e%252fusers", "%2525252525252e"],
    ],
)
async def test_a_value_that_would_lead_elsewhere_is_refused(harness: Harness, service: int, value: Any) -> None:
    agent = agent_with(http(service, "/crm/{id}/notes", parameters=arguments("id")))
    with pytest.raises(ToolFailed):
        await harness.call(agent, "fetch", id=value)


async def test_other_methods_send_json(harness: Harness, service: int) -> None:
    agent = agent_with(http(service, "/crm/{id}", method="PATCH", parameters=arguments("id", "name")))
    reported = json.loads((await harness.call(agent, "fetch", id="7", name="Grüße")).text)
    assert (reported["method"], reported["path"], json.loads(reported["body"])) == (
        "PATCH",
        "/crm/7",
        {"name": "Grüße"},
    )
    assert reported["headers"]["content-type"] == "application/json"


async def test_secrets_go_into_headers_and_come_back_hidden(
    harness: Harness, service: int, caplog: pytest.LogCaptureFixture
) -> None:
    harness.secrets.values["baton/dev/tools/crm"] = "s3cr3t+key/1\n"
    harness.parameters.values["/baton/dev/tools/org"] = "org-4711"
    headers = {
        "Authorization": {"secret": "baton/{stage}/tools/crm", "format": "Bearer {}"},
        "X-Org": {"parameter": "/baton/{stage}/tools/org"},
        "X-Plain": "shown",
    }
    with caplog.at_level("DEBUG"):
        answer = await harness.call(agent_with(http(service, "/x", headers=headers)), "fetch")
        with pytest.raises(ToolFailed) as failure:
            await harness.call(agent_with(http(service, "/status/500", headers=headers)), "fetch")

    reported = json.loads(answer.text)["headers"]
    assert (reported["authorization"], reported["x-org"], reported["x-plain"]) == (
        "Bearer [secret]",
        "[secret]",
        "shown",
    )
    assert "s3cr3t" not in caplog.text + failure.value.message
    assert "org-4711" not in caplog.text


async def test_a_reference_that_leads_nowhere_is_reported_without_names(
    harness: Harness, service: int, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_with(http(service, headers={"Authorization": {"secret": "baton/dev/tools/none"}}))
    with pytest.raises(ToolFailed, match="credentials cannot be read") as failure:
        await harness.call(agent, "fetch")
    assert "none" not in failure.value.message
    assert "baton/dev/tools/none has no value" in caplog.text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/status/404", r"HTTP 404 Not Found.*details of it"),
        ("/status/401", "HTTP 401"),
        ("/status/429", "try again later"),
        ("/status/500", "HTTP 500"),
        ("/large", r"longer than 10485760 bytes.*less at a time"),
        ("/endless", r"longer than 10485760 bytes"),
        ("/redirect?to=http%3A%2F%2F169.254.169.254%2Flatest", "another place"),
        ("/redirect?to=http%3A%2F%2Flocalhost%3A1%2F", "another place"),
        ("/redirect?to=%2Fredirect%3Fto%3D%252F", ""),
        ("/redirect?to=%2Fredirect%3Fto%3D%252Fredirect%253Fto%253D%252Fx&code=303", ""),
    ],
)
async def test_the_answer_of_another_service_is_reported(harness: Harness, service: int, path: str, words: str) -> None:
    agent = agent_with(http(service, path))
    if words:
        with pytest.raises(ToolFailed, match=f"(?s){words}"):
            await harness.call(agent, "fetch")
    else:
        assert (await harness.call(agent, "fetch")).text


async def test_redirects_at_the_same_place_are_followed_if_they_keep_the_method(harness: Harness, service: int) -> None:
    agent = agent_with(http(service, "/redirect?to=%2Fmoved&code=307", method="PUT", parameters=arguments("a")))
    reported = json.loads((await harness.call(agent, "fetch", a="1")).text)
    assert (reported["method"], reported["path"], reported["body"]) == ("PUT", "/moved", '{"a":"1"}')

    agent = agent_with(http(service, "/redirect?to=%2Fmoved&code=302", method="PUT"))
    with pytest.raises(ToolFailed, match="another place"):
        await harness.call(agent, "fetch")


async def test_redirects_in_a_circle_end(harness: Harness) -> None:
    async def circle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    async with serving(circle) as port:
        with pytest.raises(ToolFailed, match="again and again"):
            await harness.call(agent_with(http(port)), "fetch")


async def test_pages_are_text_pictures_are_named_and_nothing_is_done(harness: Harness, service: int) -> None:
    async def call(path: str, **more: Any) -> str:
        return (await harness.call(agent_with(http(service, path, **more)), "fetch")).text

    assert await call("/page") == "<html>Welcome</html>"
    assert await call("/picture") == "[image/png, 4 bytes, not shown]"
    assert await call("/nothing", method="DELETE") == "Done (HTTP 204 No Content)."
    assert json.loads(await call("/page", method="HEAD"))["status"] == 200


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    ],
)
async def test_a_service_that_dies_or_babbles_in_a_call_is_reported(harness: Harness, answer: bytes) -> None:
    async with serving(answer) as port:
        with pytest.raises(ToolFailed, match="cannot be reached, or broke off"):
            await harness.call(agent_with(http(port)), "fetch")


async def test_a_service_that_trickles_ends_at_the_time_limit(harness: Harness) -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with serving(trickle) as port:
        with pytest.raises(ToolFailed, match=r"within 0\.5 seconds"):
            await harness.call(agent_with(http(port, timeout_seconds=0.5)), "fetch")


async def test_private_addresses_are_not_called(harness: Harness) -> None:
    for url in (
        "https://169.254.169.254/latest",
        "https://10.0.0.1/",
        "https://[fd00:ec2::254]/",
        "https://[::ffff:10.0.0.1]/",
    ):
        agent = agent_with({"type": "http", "name": "fetch", "description": "x", "url": url})
        with pytest.raises(ToolFailed, match="not allowed"):
            await harness.call(agent, "fetch")


async def test_a_deployment_calls_only_listed_hosts_and_only_over_https(harness: Harness, service: int) -> None:
    agent = agent_with(http(service))
    assert (await harness.toolbox.offered(agent, ADA)).missing == ()
    harness.policy = EgressPolicy(("api.example.com",))
    with pytest.raises(ToolFailed, match="not allowed"):
        await harness.call(agent, "fetch")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (
            "https://elsewhere.example.com/x",
            "elsewhere.example.com is not among the hosts .*allowedHosts of the settings",
        ),
        ("http://api.example.com/x", "api.example.com must be called over https"),
    ],
)
async def test_an_operation_of_a_host_that_may_not_be_called_is_missing(harness: Harness, url: str, why: str) -> None:
    harness.policy = EgressPolicy(("api.example.com",))
    tool = {"type": "http", "name": "fetch", "description": "Fetches.", "url": url}
    [missing] = (await harness.toolbox.offered(agent_with(tool), ADA)).missing
    assert re.match(why, missing.reason)


async def test_certificates_are_checked_for_the_hosts_name(harness: Harness, tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.pem", tmp_path / "wrong.pem"
    certificate(right, x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1")))
    certificate(wrong, x509.DNSName("other.example.com"))
    harness.tls = ssl.create_default_context(cafile=str(right))
    harness.tls.load_verify_locations(cafile=str(wrong))

    async def fetch_result(pem: Path, host: str) -> str:
        with http_server(ssl_certfile=str(pem), ssl_keyfile=str(pem)) as port:
            url = f"https://{host}:{port}/nothing"
            agent = agent_with({"type": "http", "name": "fetch", "description": "x", "url": url})
            return (await harness.call(agent, "fetch")).text

    assert await fetch_result(right, "localhost") == "Done (HTTP 204 No Content)."
    assert await fetch_result(right, "127.0.0.1") == "Done (HTTP 204 No Content)."
    with pytest.raises(ToolFailed, match="cannot be reached"):
        await fetch_result(wrong, "localhost")
    harness.tls = ssl.create_default_context()
    with pytest.raises(ToolFailed, match="cannot be reached"):
        await fetch_result(right, "localhost")


def certificate(path: Path, *names: x509.GeneralName) -> None:
    """Write a key and a certificate for ``names``, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, path.stem)])
    now = datetime.datetime.now(datetime.UTC)
    instance = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + instance.public_bytes(serialization.Encoding.PEM)
    )
