"""A supervisor sends what a process has left when it dies, and ends as it did."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from baton_local.root import ROOT

WORK = """
import os, signal, sys, time
from baton.adapters.aws.last_wills import get_own_last_wills

class Queue:
    def prepare(self, operation, request):
        headers = {"X-Amz-Target": operation}
        service = {"service": "sqs", "region": "eu-west-1", "url": sys.argv[1]}
        return {**service, "headers": headers, "body": request["body"]}

wills = get_own_last_wills()
with wills.hold("first", Queue(), "Change", {"body": "of the first"}):
    pass
wills.write("second", Queue(), "Change", {"body": "of the second"})
"""
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"}


@dataclass
class Service:
    """A service over HTTP, which notes the bodies of signed requests."""

    url: str = ""
    failures: int = 0
    """The number of requests that still get the status 500."""
    bodies: list[str] = field(default_factory=list)

    def run(self, work: str) -> subprocess.CompletedProcess[str]:
        """Run a program under a supervisor."""
        environment = {**KEYS, "PYTHONPATH": str(ROOT / "shared")}
        supervisor = Path(ROOT / "shared/baton/adapters/aws/supervisor.py")
        command = [sys.executable, "-P", supervisor, sys.executable, "-c", WORK + work, self.url]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def service() -> Iterator[Service]:
    state = Service()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            signed = "SignedHeaders=host;x-amz-date;x-amz-security-token;x-amz-target" in self.headers["Authorization"]
            state.failures -= 1
            if signed and state.failures < 0:
                state.bodies.append(body)
            self.send_response(200 if state.failures < 0 else 500)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()


def test_what_a_killed_process_has_left_is_sent_with_its_credentials(service: Service) -> None:
    service.failures = 1
    process = service.run("os.kill(os.getpid(), signal.SIGKILL)")
    assert service.bodies == ["of the second"]
    assert process.returncode == -signal.SIGKILL
    assert '"sent": 1' in process.stderr


def test_a_process_that_revokes_its_wills_leaves_nothing(service: Service) -> None:
    process = service.run("wills.revoke('second'); sys.exit(3)")
    assert (service.bodies, process.returncode, process.stderr) == ([], 3, "")


def test_a_request_to_end_reaches_the_process(service: Service) -> None:
    work = """
signal.signal(signal.SIGTERM, lambda *_: (wills.revoke("second"), sys.exit(5)))
os.kill(os.getppid(), signal.SIGTERM)
time.sleep(60)
"""
    assert service.run(work).returncode == 5
    assert service.bodies == []


def test_programs_that_the_process_starts_can_write_no_wills(service: Service) -> None:
    work = """
import subprocess
wills.revoke("second")
number = os.environ["LAST_WILLS_FILE"]
sys.exit(subprocess.call([sys.executable, "-c", f"import os; os.fstat({number})"], close_fds=False, stderr=-3))
"""
    assert service.run(work).returncode == 1
