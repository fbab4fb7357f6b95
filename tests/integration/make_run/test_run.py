"""``python -m baton_local`` as a developer meets it."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from baton_local.root import ROOT
from baton_testing.fakes.threads.connections import events_in
from tests import fault_model as fault
from tests.fault_model import FaultModel
from tests.forked_program import ForkedProgram
from tests.integration.make_run.program import environment, running
from tests.signals import send_to_other_thread

STAND_INS = Path(__file__).parents[1] / "local" / "cloud" / "template.yaml"


def run_refused(template: Path, **settings: str) -> tuple[int | None, str]:
    """Start it with settings that it refuses; return exit code and what it says."""
    with ForkedProgram("baton_local", environment(template, **settings)) as program:
        _, err = program.communicate(timeout=120)
        return program.returncode, err


@pytest.mark.nightly
def test_whatever_it_starts_listens_on_the_loopback_interface_only() -> None:
    with running(ROOT / "template.yaml", BATON_LOCAL_WORKER_PROCESSES="1") as (process, url):
        tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        listening = {
            (program.name(), connection.laddr.ip, connection.laddr.port)
            for program in tree
            for connection in program.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN or connection.type == socket.SOCK_DGRAM
        }
    assert {port for _, _, port in listening} >= {httpx.URL(url).port}
    assert len(listening) >= 4  # the gateway, the table, the queue, moto
    assert [result for result in listening if result[1] not in {"127.0.0.1", "::1", "::ffff:127.0.0.1"}] == []


@pytest.fixture(scope="session")
def stand_in_template() -> Path:
    """The template of functions that need nothing."""
    return STAND_INS


@pytest.mark.nightly
def test_it_stops_cleanly_whichever_thread_is_signalled_and_its_data_stay(
    stand_in_template: Path, tmp_path: Path
) -> None:
    claims = {"tenant": "demo", "user": "mia"}
    keys = set()
    for number in (signal.SIGINT, signal.SIGTERM):
        with running(stand_in_template, BATON_DATA_DIR=str(tmp_path)) as (process, url):
            assert httpx.get(f"{url}/local/health").json() == {"status": "ok"}
            keys.add(httpx.post(f"{url}/local/token", json=claims).json()["token"].split(".")[0])
            keys.add((tmp_path / "embed-key").read_text())
            assert list((tmp_path / "table").glob("*.db"))
            send_to_other_thread(process.pid, number)
            out, err = process.communicate(timeout=60)
            assert (process.returncode, err) == (0, "")
            assert out.endswith("Stopping ...\nStopped.\n")
    assert len(keys) == 2


@pytest.mark.nightly
def test_an_own_model_is_tried_after_the_start_and_a_wrong_key_is_named() -> None:
    with FaultModel(otherwise=fault.unauthorized()) as model:
        own = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-own-key", "BATON_CHAT_MODEL": "own-model"}
        with running(ROOT / "template.yaml", BATON_LOCAL_DOCS="0", **own) as (process, _):
            lines = []
            for line in process.stdout:
                lines.append(line.rstrip())
                if "-> " in line:
                    break
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
    table = lines[lines.index(next(line for line in lines if line.startswith("own-model (default model"))) :]
    assert table[1].startswith("  text               no  model_misconfigured: provider says no to Bearer ***")
    assert "check the model's name" in table[-1].lower()
    assert "sk-own-key" not in "".join(lines)
    assert out.endswith("Stopping ...\nStopped.\n")


@pytest.mark.nightly
def test_ctrl_c_in_the_middle_of_answers_prints_nothing_and_a_refused_token_its_reason() -> None:
    # On a slow machine the first embedding takes longer than a turn waits, which is logged.
    with running(ROOT / "template.yaml", BATON_DEMO_DELAY_MS="100", BATON_RECALL_DEADLINE_MS="10000") as (process, url):
        socket_url = url.replace("http", "ws", 1) + "/ws"
        for subprotocols in (None, [Subprotocol("baton.v1"), Subprotocol("no-token")]):
            with pytest.raises(InvalidStatus, match="401"), connect(socket_url, subprotocols=subprotocols):
                pass
        refused = {"Authorization": "Bearer no-token"}
        assert httpx.get(f"{url}/v1/threads", headers=refused).status_code == 401
        assert httpx.post(f"{url}/v1/runs", headers=refused, json={}).status_code == 401
        token = httpx.post(f"{url}/local/token", json={"tenant": "demo", "user": "mia"}).json()["token"]
        with connect(socket_url, subprotocols=[Subprotocol("baton.v1"), Subprotocol(token)]) as answers:
            answers.send(json.dumps({"action": "message", "messageId": "m-1", "content": "Write 500 words about bees"}))
            while "TEXT_MESSAGE_CONTENT" not in {event["type"] for event in events_in(answers.recv())}:
                pass
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        lines = out.rpartition("keeps it")[2].split("\n")
        assert lines[-3:] == ["Stopping ...", "Stopped.", ""]
        logged = [line.partition(": ")[2] for line in lines if " WARNING " in line]
        assert logged == ["Token refused: it is not a signed JWT."] * 3  # of the socket, of an answer, of a stream


@pytest.mark.nightly
def test_ctrl_c_while_it_starts_is_no_trouble(stand_in_template: Path) -> None:
    with running(stand_in_template, until="Starting the engines") as (process, _):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        assert out.endswith("Stopped.\n")


@pytest.mark.nightly
def test_a_taken_port_is_said_before_anything_starts(stand_in_template: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = subprocess.run(  # a process that imports everything itself, as one of a developer's does
            [sys.executable, "-m", "baton_local"],
            env=environment(stand_in_template, PORT=str(port)),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert result.returncode == 1
    assert result.stderr == (
        f"Baton cannot start. Port {port} is taken by another program. "
        f"Stop it, or choose another: `baton dev --port {port + 1}`, or PORT={port + 1} for `make run`.\n"
    )


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("ENGINES", "imaginary")])
def test_a_wrong_setting_is_named(stand_in_template: Path, name: str, value: str) -> None:
    code, message = run_refused(stand_in_template, **{name: value})
    assert code == 1
    assert message.startswith(f"Baton cannot start. A setting is wrong. {name}: ")
    assert "Traceback" not in message


@pytest.mark.nightly
def test_a_wrong_setting_of_the_functions_is_named_with_what_is_allowed(stand_in_template: Path) -> None:
    code, message = run_refused(stand_in_template, PORT="0", BATON_EPISODE_FACTS="maybe")
    assert code == 1
    assert message.startswith("Baton cannot start. A setting is wrong. BATON_EPISODE_FACTS: ")
    assert message.endswith("true or false (it is 'maybe')\n")


@pytest.mark.nightly
def test_a_function_that_does_not_load_is_named(stand_in_template: Path, tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    machines = f"DefinitionUri: {ROOT}/"
    template.write_text(stand_in_template.read_text().replace("DefinitionUri: ../../../../", machines))
    code, message = run_refused(template, PORT="0")
    assert code == 1
    assert message.startswith("Baton cannot start. There is no function code at ")


CONCIERGE = """\
id: concierge
name: Concierge
description: Knows the stores.
system_prompt: Be brief.
main: true
tools:
  - type: python
    name: rooms
    description: Lists rooms.
    entry_point: hotel.rooms:all
  - type: openapi
    spec: hotel.json
    operation_id: bookRoom
  - type: openapi
    spec: absent.yaml
    operation_id: cancelRoom
  - type: mcp
    name: kitchen
    url: http://127.0.0.1:9/mcp
  - type: http
    name: taxi
    description: Calls a taxi.
    url: https://taxi.example.com/call
sub_agents: [guide]
"""
GUIDE = """\
id: guide
name: Guide
description: Knows the town.
remote:
  card_url: http://127.0.0.1:9
"""
HOTEL = json.dumps({"openapi": "3.1.0", "paths": {"/rooms": {"get": {"operationId": "listRooms"}}}})
ISSUER = {"issuer": "http://127.0.0.1:9", "audience": "hotel"}


@pytest.mark.nightly
def test_what_is_broken_is_reported_at_the_start_and_to_the_user_and_nothing_waits_for_it(tmp_path: Path) -> None:
    for name, text in (("concierge.yaml", CONCIERGE), ("guide.yaml", GUIDE), ("hotel.json", HOTEL)):
        (tmp_path / name).write_text(text)
    concierge, guide = tmp_path / "concierge.yaml", tmp_path / "guide.yaml"
    settings = {"BATON_AGENTS_DIR": str(tmp_path), "BATON_TOKEN_ISSUERS": json.dumps([ISSUER])}
    with running(ROOT / "template.yaml", **settings) as (process, url):
        token = httpx.post(f"{url}/local/token", json={"tenant": "demo", "user": "mia"}).json()["token"]
        headers = {"Authorization": f"Bearer {token}"}
        messages = [
            httpx.post(f"{url}/v1/messages", json={"message": "Hi"}, headers=headers, timeout=60) for _ in range(2)
        ]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    reported = [
        line.removeprefix("WARNING baton_local: ")
        for line in err.splitlines()
        if line.startswith("WARNING baton_local: ")
    ]
    expected = [
        (f"{concierge}:7: tools.0: rooms cannot be used: ", "BATON_TOOL_PACKAGES"),
        (f"{concierge}:11: tools.1: bookRoom cannot be used: ", "It has: listRooms."),
        (f"{concierge}:14: tools.2: cancelRoom cannot be used: ", "absent.yaml cannot be read"),
        (f"{concierge}:17: tools.3: kitchen cannot be used: ", "tried again during later turns"),
        (f"{concierge}:20: tools.4: taxi cannot be used: ", "allowedHosts of the settings"),
        (f"{guide}:5: remote.card_url: guide cannot be asked: ", "tried again"),
        ("BATON_TOKEN_ISSUERS: the keys of http://127.0.0.1:9 cannot be read: ", "refused"),
    ]
    assert len(reported) == len(expected), err
    for line, (beginning, part) in zip(reported, expected, strict=True):
        assert line.startswith(beginning), line
        assert part in line
    for answer in messages:
        [_, message] = answer.raise_for_status().json()["messages"]
        assert message["name"] == "Concierge"
        assert message["content"].startswith("I'm working with limited resources right now")


@pytest.mark.nightly
def test_an_unknown_default_agent_is_asked_for_by_its_variable(tmp_path: Path) -> None:
    for name in ("concierge", "waiter"):
        text = CONCIERGE.partition("tools:")[0].replace("concierge", name)
        (tmp_path / f"{name}.yaml").write_text(text)
    code, reported = run_refused(ROOT / "template.yaml", PORT="0", BATON_AGENTS_DIR=str(tmp_path))
    assert code == 1
    assert reported.startswith("Baton cannot start. ")
    assert "concierge, waiter" in reported
    assert "BATON_DEFAULT_AGENT" in reported
