"""Access to the local cloud's own routes."""

import httpx
import pytest

from baton_local.cloud import LocalCloud
from baton_local.serving.hosts import LocalHosts

WANTED = {"tenant": "demo", "user": "mia"}


def ask(
    cloud: LocalCloud, host: str, method: str = "POST", path: str = "/local/token", **headers: str
) -> httpx.Response:
    return httpx.request(method, cloud.url + path, json=WANTED, headers={"Host": host, **headers}, trust_env=False)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9000", "127.0.0.1:8080", "[::1]:8080", "baton.localhost:8080", "LOCALHOST"]
)
def test_this_machine_gets_a_token_under_each_of_its_names(cloud: LocalCloud, host: str) -> None:
    assert ask(cloud, host).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "notlocalhost",
        "",
        "[bad",
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/local/token"),
        ("GET", "/local/about"),
        ("GET", "/local/health"),
        ("GET", "/local/openai/v1/models"),
        ("POST", "/local/openai/v1/chat/completions"),
        ("GET", "/local/page/index.html"),
        ("GET", "/"),
        ("POST", "/local/gateway/@connections/L0SM9cOFvHcCIhw="),
    ],
)
def test_other_names_get_nothing_that_is_the_local_clouds_own(
    cloud: LocalCloud, host: str, method: str, path: str
) -> None:
    answered = ask(cloud, host, method, path)
    assert answered.status_code == 403
    assert answered.json()["code"] == "host_refused"
    assert "BATON_LOCAL_HOSTS" in answered.json()["detail"]


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("http://app.localhost", 200),
        ("http://127.0.0.1:8080", 200),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
    ],
)
def test_only_pages_of_this_machine_may_post(cloud: LocalCloud, origin: str, status: int) -> None:
    assert ask(cloud, "localhost", Origin=origin).status_code == status


def test_the_products_own_routes_are_served_under_every_name(cloud: LocalCloud) -> None:
    assert ask(cloud, "api.example", "GET", "/v1/health").status_code == 200


def test_a_setting_names_more_hosts() -> None:
    hosts = LocalHosts(["proxy.example", "[fe80::1]"])
    for name in (b"proxy.example:443", b"[fe80::1]:8080", b"localhost"):
        assert hosts.find_refusal({"method": "POST", "headers": [(b"host", name)]}) is None
    assert hosts.find_refusal({"method": "POST", "headers": [(b"host", b"other.example")]})
    assert hosts.find_refusal({"method": "POST", "headers": [(b"host", b"localhost"), (b"host", b"localhost")]})
    assert hosts.find_refusal({"method": "POST", "headers": []})


@pytest.mark.parametrize("engine", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"])
def test_engines_are_not_reached_under_other_names_either(cloud: LocalCloud, engine: str) -> None:
    """The engines accept any credentials, so a web page that finds the port could read all data."""
    request = {"headers": {"Host": "evil.example:8080", "X-Amz-Target": "AmazonSQS.ListQueues"}, "content": "{}"}
    answered = httpx.post(cloud.environment[engine], trust_env=False, **request)
    assert answered.status_code in {403, 404}
    assert "QueueUrls" not in answered.text
