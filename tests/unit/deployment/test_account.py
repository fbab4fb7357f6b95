"""Errors of AWS become lines that an operator can act on."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from botocore.exceptions import ClientError

from baton_deployment.account import Account, explain, problems_explained
from baton_deployment.checks import Outcome, run_remote_check
from baton_deployment.errors import DeploymentError
from baton_deployment.preflight.stack import check_state


def test_a_profile_that_does_not_exist_is_named_with_the_way_to_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_PROFILE", "nope")
    with pytest.raises(DeploymentError, match=r"\(nope\) could not be found.*aws configure list-profiles"):
        Account.of_environment()


def test_a_page_in_place_of_an_answer_is_not_quoted() -> None:
    page = "<!doctype html>\n<html lang=en><title>404 Not Found</title>"
    problem = ClientError({"Error": {"Code": "404", "Message": page}}, "GetAccountSettings")
    assert explain(problem).startswith("404: the answer is a page, not AWS's")


class ProxysPage(BaseHTTPRequestHandler):
    """A proxy that answers every request with a page."""

    def do_POST(self) -> None:
        page = b"<!doctype html><html><body>Sign in to the company's network<br></body></html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        pass


def test_a_page_that_cannot_be_parsed_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    server = ThreadingHTTPServer(("127.0.0.1", 0), ProxysPage)
    thread = Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    account = Account("eu-central-1")
    with (
        pytest.raises(DeploymentError, match=r"^The account is unknown: the answer is a page"),
        problems_explained("The account is unknown"),
    ):
        account.client("sts").get_caller_identity()
    [row] = run_remote_check("stack state", lambda: check_state(account, "baton-dev"))
    assert (row.outcome, "the request to AWS failed: the answer is a page" in row.detail) == (Outcome.UNKNOWN, True)
    server.shutdown()
    thread.join()
    server.server_close()
