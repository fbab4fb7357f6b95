"""A parent of a process that answers turns: ``python -P supervisor.py COMMAND...``. It carries out the last wills.

If the process dies (``kill -9``, out of memory, a crash in native code), AWS notifies nobody before the visibility
timeout of its queue record and its leases are over. A parent learns of the death at once, and never takes a living
process for dead. If the whole execution environment ends, the supervisor ends too, and those times apply.

Until the process dies, the supervisor loads only the standard library, and only forwards signals.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from types import FrameType
from typing import Any

FILE_VARIABLE = "LAST_WILLS_FILE"
"""See ``last_wills.py``, which also describes the format."""
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
REQUEST_SECONDS = 2.0
TRIES = 3
"""The maximum number of attempts at one request."""


def main(command: list[str]) -> int:
    """Run the command until it ends, and carry out its last wills.

    Return its exit code. If a signal ended the command, this process ends by the same signal.
    """
    file = os.memfd_create("last-wills")
    os.set_inheritable(file, True)  # noqa: FBT003 - it takes no keywords
    child = os.posix_spawnp(command[0], command, {**os.environ, FILE_VARIABLE: str(file)})
    _leave_streams()

    def forward(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    _, status = os.waitpid(child, 0)
    for number in FORWARDED:
        signal.signal(number, signal.SIG_IGN)
    code = os.waitstatus_to_exitcode(status)
    wills = read_wills(file)
    if wills:
        sent = carry_out(wills)
        line = {"level": "ERROR", "message": "process ended in a turn", "status": code, "sent": sent, "of": len(wills)}
        sys.stderr.write(f"{json.dumps(line)}\n")
    if code < 0:  # end by the same signal, so that Lambda reports it
        if -code in FORWARDED:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _leave_streams() -> None:
    """Close standard input and output, so that their other ends wait only for the end of the command."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


def read_wills(file: int) -> list[dict[str, Any]]:
    """Return the requests in the memory of last wills. A request that was only partly written is left out."""
    wills = []
    for line in os.pread(file, os.fstat(file).st_size, 0).split(b"\n"):
        try:
            wills.append(json.loads(line))
        except ValueError:  # an empty slot
            continue
    return wills


def carry_out(wills: list[dict[str, Any]]) -> int:
    """Send the requests, and return how many were answered. Refusals count: another process has taken over the work."""
    # Only the supervisor of a dead process needs these modules. Loading them here keeps every cold start short.
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from pathlib import Path
    from types import SimpleNamespace
    from urllib.parse import urlsplit

    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    from baton.adapters.aws.signature import AwsSignature

    credentials: Any = SimpleNamespace(
        access_key=os.environ.get("AWS_ACCESS_KEY_ID", ""),
        secret_key=os.environ.get("AWS_SECRET_ACCESS_KEY", ""),
        token=os.environ.get("AWS_SESSION_TOKEN"),
    )
    connections: dict[str, HTTPConnection] = {}
    answered = 0
    for will in wills:
        url, body = urlsplit(will["url"]), will["body"].encode()
        origin = f"{url.scheme}://{url.netloc}"
        signature = AwsSignature(will["region"], will["service"], origin)
        for attempt in range(TRIES):
            if origin not in connections:
                make = HTTPSConnection if url.scheme == "https" else HTTPConnection
                connections[origin] = make(url.netloc, timeout=REQUEST_SECONDS)
            headers = signature.sign("POST", url.path or "/", will["headers"], body, credentials)
            try:
                connections[origin].request("POST", url.path or "/", body, headers)
                response = connections[origin].getresponse()
                response.read()
            except (HTTPException, OSError):
                connections.pop(origin).close()
                status = 599  # a failure, like an error of the server
            else:
                status = response.status
            if status < 500:
                answered += 1
                break
            time.sleep(0.1 * (attempt + 1))
    return answered


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
