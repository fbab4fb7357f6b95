"""``python -m local`` as a developer meets it."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from local.settings import ROOT, default_cache_dir


def environment(template: Path, **settings: str) -> dict[str, str]:
    """Return a developer's environment: without what a local cloud in this process has set."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "BATON_", "OPENAI_"))}
    return {**ours, "BATON_CACHE_DIR": str(default_cache_dir()), "BATON_LOCAL_TEMPLATE": str(template), **settings}


@contextmanager
def running(
    template: Path, until: str = "Baton is running at ", **settings: str
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start it; yield the process and the URL that it prints, once it has printed a line that begins with ``until``."""
    with subprocess.Popen(
        [sys.executable, "-m", "local"],
        env=environment(template, PORT="0", **settings),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            line = next(line for line in process.stdout if line.startswith(until))
            yield process, line.removeprefix(until).split(" ")[0].strip()
        finally:
            process.kill()


def refused(template: Path, **settings: str) -> tuple[int, str]:
    """Start it with settings that it refuses; return exit code and what it says."""
    result = subprocess.run(
        [sys.executable, "-m", "local"],
        env=environment(template, **settings),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return result.returncode, result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_stops_cleanly(stand_in_template: Path, number: signal.Signals) -> None:
    with running(stand_in_template) as (process, url):
        assert httpx.get(f"{url}/local/health").json() == {"status": "ok"}
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        assert out.endswith("Stopping ...\nStopped.\n")


def test_ctrl_c_in_the_middle_of_answers_prints_nothing_and_a_refused_token_its_reason() -> None:
    with running(ROOT / "template.yaml", BATON_DEMO_DELAY_MS="100") as (process, url):
        socket_url = url.replace("http", "ws", 1) + "/ws"
        for subprotocols in (None, [Subprotocol("baton.v1"), Subprotocol("no-token")]):
            with pytest.raises(InvalidStatus, match="401"), connect(socket_url, subprotocols=subprotocols):
                pass
        refused = {"Authorization": "Bearer no-token"}
        assert httpx.get(f"{url}/v1/threads", headers=refused).status_code == 401
        assert httpx.post(f"{url}/v1/runs", headers=refused, json={}).status_code == 401
        token = httpx.post(f"{url}/local/token", json={"tenant": "demo", "user": "me"}).json()["token"]
        with connect(socket_url, subprotocols=[Subprotocol("baton.v1"), Subprotocol(token)]) as answers:
            answers.send(json.dumps({"action": "message", "messageId": "m-1", "content": "Write 500 words about bees"}))
            while json.loads(answers.recv())["type"] != "TEXT_MESSAGE_CONTENT":
                pass
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        lines = out.rpartition("keeps it")[2].split("\n")
        assert lines[-3:] == ["Stopping ...", "Stopped.", ""]
        logged = [json.loads(line)["message"] for line in lines if "{" in line]
        assert logged == ["Token refused: it is not a signed JWT."] * 3  # of the socket, of an answer, of a stream


def test_ctrl_c_while_it_starts_is_no_trouble(stand_in_template: Path) -> None:
    with running(stand_in_template, until="Starting the engines") as (process, _):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        assert out.endswith("Stopped.\n")


def test_a_taken_port_is_said_before_anything_starts(stand_in_template: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, said = refused(stand_in_template, PORT=str(port))
    assert code == 1
    assert said == (
        f"Baton cannot start. Port {port} is taken by another program. "
        f"Stop it, or choose another: PORT={port + 1} make run\n"
    )


@pytest.mark.parametrize(("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("ENGINES", "imaginary")])
def test_a_wrong_setting_is_named(stand_in_template: Path, name: str, value: str) -> None:
    code, said = refused(stand_in_template, **{name: value})
    assert code == 1
    assert said.startswith(f"Baton cannot start. A setting is wrong. {name}: ")
    assert "Traceback" not in said


def test_a_function_that_does_not_load_is_named(stand_in_template: Path, tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    machines = f"DefinitionUri: {ROOT}/"
    template.write_text(stand_in_template.read_text().replace("DefinitionUri: ../../../../", machines))
    code, said = refused(template, PORT="0")
    assert code == 1
    assert said.startswith("Baton cannot start. There is no function code at ")


def test_data_outlives_the_process(stand_in_template: Path, tmp_path: Path) -> None:
    wanted = {"tenant": "demo", "user": "me"}
    keys = set()
    for _ in range(2):
        with running(stand_in_template, BATON_DATA_DIR=str(tmp_path)) as (process, url):
            keys.add(httpx.post(f"{url}/local/token", json=wanted).json()["token"].split(".")[0])
            keys.add((tmp_path / "embed-key").read_text())
            assert list((tmp_path / "table").glob("*.db"))
            process.send_signal(signal.SIGINT)
            process.wait(60)
    assert len(keys) == 2
